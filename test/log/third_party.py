"""Checks a log with aics-tlog, and has aics-witness cosign it: two tools that share no code with the gate. Prints what they say as JSON."""

import json
import random
import sys
import tempfile
import threading
from pathlib import Path

from aics_tlog import MemoryTileReader, TileMissingError, TileVerificationError, consistency_proof_from_tiles, inclusion_proof_from_tiles
from aics_tlog import parse_note, parse_vkey, read_entry, verify_checkpoint, verify_consistency, verify_leaf_inclusion
from aics_tlog.remote import HttpTileReader
from aics_tlog.tiles import entry_bundle_path, tile_path
from aics_tlog.verified import VerifiedTileReader, audit_tiles
from aics_witness import LogConfig, Witness, WitnessClient, WitnessRejected, WitnessStore, load_or_create_key, make_server, merge_cosignatures

given = json.load(sys.stdin)
url, vkey = given["url"], parse_vkey(given["key"].strip())
chance = random.Random(1)
reader = HttpTileReader(url, timeout=60)


class Keeping:
    """Keeps what is read."""

    def __init__(self):
        self.objects = {}

    def read_tile(self, level, index, width):
        return self._keep(tile_path(level, index, width), reader.read_tile(level, index, width))

    def read_entry_bundle(self, index, width):
        return self._keep(entry_bundle_path(index, width), reader.read_entry_bundle(index, width))

    def _keep(self, path, data):
        self.objects[path] = data
        return data


def check(note):
    result = verify_checkpoint(parse_note(note), vkey, expected_origin=vkey.name)
    if not result.ok:
        raise TileVerificationError(result.error)
    return result


keeping = Keeping()
note = reader.read_checkpoint()
head = check(note)
size, root = head.size, head.root
audited = audit_tiles(keeping, size, root)
verified = VerifiedTileReader(MemoryTileReader(keeping.objects), size, root)
inclusions = [
    verify_leaf_inclusion(read_entry(verified, at, size), at, size, inclusion_proof_from_tiles(verified, at, size), root)
    for at in {0, size - 1, *(chance.randrange(size) for _ in range(100))}
]
kept = [check(older) for older in given["kept"]]
consistencies = [
    verify_consistency(old.size, size, old.root, root, consistency_proof_from_tiles(verified, old.size, size)) for old in kept
]


def is_noticed():
    objects = {"checkpoint": note, **keeping.objects}
    path = chance.choice(sorted(objects))
    data, at = objects[path], chance.randrange(len(objects[path]))
    change = chance.choice(["flip", "truncate", "delete", "remove"])
    if change == "flip":
        objects[path] = data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]
    elif change == "truncate":
        objects[path] = data[:at]
    elif change == "delete":
        del objects[path]
    else:
        objects[path] = data[:at] + data[at + 1 :]
    try:
        changed = check(objects["checkpoint"])
        audit_tiles(MemoryTileReader(objects), changed.size, changed.root)
        return False
    except (KeyError, TileMissingError, TileVerificationError, UnicodeDecodeError, ValueError):
        return True


def cosign():
    folder = Path(tempfile.mkdtemp())
    key = load_or_create_key(folder / "key", create=True)[0]
    store = WitnessStore(folder / "db", create=True)
    witness = Witness("witness.example/w1", key, store, (LogConfig.from_strings(vkey.name, [given["key"].strip()]),))
    server = make_server(witness)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client = WitnessClient(server.url, witness.vkey_text, max_attempts=1)
    proof = lambda old, new: consistency_proof_from_tiles(verified, old, new)
    for older in [*given["kept"], note.decode()]:
        line = client.submit(older, proof)
    cosigned = merge_cosignatures(note, line)
    result = verify_checkpoint(parse_note(cosigned), vkey, [parse_vkey(witness.vkey_text)], 1)
    try:
        client.submit(given["fork"], proof)
        refuses = False
    except WitnessRejected:
        refuses = True
    server.shutdown()
    return {"cosigned": cosigned.decode(), "witnesses": result.witnesses, "refuses_fork": refuses}


print(
    json.dumps(
        {
            "size": size,
            "bundles": audited.bundles,
            "inclusions": all(inclusions),
            "consistencies": consistencies,
            "changes": given["changes"],
            "noticed": sum(is_noticed() for _ in range(given["changes"])),
            **(cosign() if "fork" in given else {}),
        }
    )
)

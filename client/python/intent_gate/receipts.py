"""Verifies receipts of executions, and their log, offline."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from datetime import datetime
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, NoReturn, Optional, Sequence, Tuple, cast

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from .answers import Answer, ReceiptCheck, ReceiptFile, ReceiptReport
from .canonical import AsWritten, base64url, canonical_json

_CLAIMS = (
    *("iss", "execution_id", "time", "agent_thumbprint", "policy_digest", "intent_digest"),
    *("parameters_digest", "answer_digest", "outcome"),
)

_UNKNOWN_FILE = 'The file is not a receipt as "intent-gate receipt save" writes it.'


class _FailedCheck(Exception):
    """A failed check."""


def _fail(problem: str) -> NoReturn:
    raise _FailedCheck(problem)


class Checkpoint(NamedTuple):
    """A log's signed statement of its size and root, which is in base64."""

    origin: str
    size: int
    root: str


def receipt_of(answer: Mapping[str, Any]) -> Optional[ReceiptFile]:
    """The receipt of an answer of execute; None if the gate issues none. "intent-gate receipt save" adds the parts needed to verify it.

    Takes the dictionary returned by execute, not a copy.
    """
    return answer.receipt if isinstance(answer, Answer) else None


def _from_base64(text: str, problem: str) -> bytes:
    """Decodes base64. Accepts only the canonical encoding, so that no character can be changed unnoticed."""
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except ValueError:
        _fail(problem)
    return data if base64.b64encode(data).decode("ascii") == text else _fail(problem)


def _from_base64url(text: str, problem: str) -> bytes:
    if not re.fullmatch(r"[A-Za-z0-9_-]*", text):
        _fail(problem)
    plain = text.replace("-", "+").replace("_", "/")
    return _from_base64(plain + "=" * (-len(plain) % 4), problem)


def _sha256(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


def _is_signed(public_key: bytes, signature: bytes, text: str) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, text.encode("utf-8"))
        return True
    except (InvalidSignature, ValueError):
        return False


class _Jws:
    """A compact JWS of a type, signed with Ed25519 (RFC 8037)."""

    def __init__(self, jws: object, typ: str, name: str) -> None:
        parts = str(jws).split(".")
        head, body, self._signature = (parts + ["", "", ""])[:3]
        self._signed, self._name = f"{head}.{body}", name
        self.header, self.payload = self._read(head), self._read(body)
        if len(parts) > 3 or self.header.get("typ") != typ or self.header.get("alg") != "EdDSA":
            _fail(f"The {name} is not of type {typ}, signed with EdDSA.")

    def _read(self, part: str) -> Dict[str, Any]:
        problem = f"The {self._name} is not a compact JWS: it was changed or truncated."
        try:
            value = json.loads(_from_base64url(part, problem).decode("utf-8"))
        except ValueError:
            _fail(problem)
        return value if isinstance(value, dict) else _fail(problem)

    def verify(self, x: object) -> None:
        problem = f"The signature of the {self._name} is invalid: it was changed, or signed with another key."
        key, signature = _from_base64url(str(x), problem), _from_base64url(self._signature, problem)
        if not _is_signed(key, signature, self._signed):
            _fail(problem)


def _verify_signature(receipt: str, keys: List[Dict[str, str]]) -> Dict[str, Any]:
    """Verifies the signature of a receipt, and that the gate certified the signing key."""
    opened = _Jws(receipt, "execution-receipt+jwt", "receipt")
    certificate = _Jws(opened.header.get("certificate"), "receipt-key+jwt", "certificate in the receipt")
    certifying = next((key for key in keys if key.get("kid") == certificate.header.get("kid")), None)
    if certifying is None:
        _fail("The certificate in the receipt names a key that is not in jwks: it is from another gate, or was changed.")
    certificate.verify(certifying.get("x"))
    opened.verify(certificate.payload["cnf"]["jwk"]["x"])
    lacking = next((name for name in _CLAIMS if not isinstance(opened.payload.get(name), str)), None)
    if lacking:
        _fail(f"The receipt lacks {lacking}.")
    seconds = datetime.fromisoformat(opened.payload["time"].replace("Z", "+00:00")).timestamp()
    if not certificate.payload["iat"] - 60 <= seconds <= certificate.payload["exp"] + 60:
        _fail("The receipt was signed outside the validity period of its certificate.")
    return opened.payload


def _read_verifier_key(text: str) -> Tuple[str, str, bytes]:
    """Parses a verifier key in signed-note format: name, key id and public key."""
    problem = "log_key is not an Ed25519 verifier key in signed-note format."
    match = re.fullmatch(r"([^+\s]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)\n?", text) or _fail(problem)
    origin, key_id = match[1], match[2]
    key = _from_base64(match[3], problem)
    if len(key) != 33 or key[0] != 1 or _sha256(f"{origin}\n".encode("utf-8"), key)[:4].hex() != key_id:
        _fail(problem)
    return origin, key_id, key[1:]


def _verify_checkpoint(note: str, log_key: str) -> Checkpoint:
    """Verifies a checkpoint (C2SP tlog-checkpoint). Ignores third-party signatures, such as those of witnesses."""
    origin, key_id, public_key = _read_verifier_key(log_key)
    text, found, signatures = note.rpartition("\n\n")
    text += "\n"
    name, size, root = [*text.split("\n"), "", ""][:3]
    if not found or not re.fullmatch(r"0|[1-9]\d{0,15}", size):
        _fail("The checkpoint is not a signed note of a log.")
    if name != origin:
        _fail(f"The checkpoint is of another log: {json.dumps(name)}, and the key is of {json.dumps(origin)}.")
    if len(_from_base64(root, "The root hash in the checkpoint is not base64.")) != 32:
        _fail("The root hash is not a SHA-256 hash.")
    for line in signatures.split("\n")[:-1]:
        match = re.fullmatch(r"— (\S+) (\S+)", line)
        if not match or match[1] != origin:
            continue
        data = _from_base64(match[2], "The signature of the checkpoint is not base64.")
        if data[:4].hex() == key_id and _is_signed(public_key, data[4:], text):
            return Checkpoint(origin, int(size), root)
    _fail("The checkpoint is not signed with the key of the log: it was changed, or is from another gate.")


def _compare(one: Checkpoint, other: Checkpoint) -> None:
    """Checks that two verified checkpoints are of one log, and do not prove a fork: the same size with different roots."""
    if one.origin != other.origin:
        _fail("The checkpoints are from different logs.")
    if one.size == other.size and one.root != other.root:
        _fail(f"Fork: the log has signed two checkpoints of size {one.size} with different roots. Keep both: together they prove it.")


def _verify_inclusion(proof: str, entry: str, log_key: str) -> Checkpoint:
    """Verifies that an entry is in a log (C2SP tlog-proof; RFC 9162 section 2.1.3.2)."""
    head, found, note = proof.partition("\n\n")
    lines = head.split("\n")
    hashes = lines[2:] if len(lines) > 1 and lines[1].startswith("extra ") else lines[1:]
    given = re.fullmatch(r"index (0|[1-9]\d{0,15})", hashes[0] if hashes else "")
    if not found or lines[0] != "c2sp.org/tlog-proof@v1" or not given:
        _fail("The proof is not a C2SP tlog-proof.")
    path = [_from_base64(line, "A hash in the proof is not base64.") for line in hashes[1:]]
    checkpoint = _verify_checkpoint(note, log_key)
    index, last = int(given[1]), checkpoint.size - 1
    if index > last:
        _fail("The proof is for an entry beyond the end of the log.")
    node = _sha256(b"\0", entry.encode("utf-8"))
    for other in path:
        if last == 0:
            _fail("The proof has more hashes than the log has levels.")
        if index % 2 == 1 or index == last:
            node = _sha256(b"\1", other, node)
            while index % 2 == 0 and index != 0:
                index, last = index // 2, last // 2
        else:
            node = _sha256(b"\1", node, other)
        index, last = index // 2, last // 2
    if last != 0 or base64.b64encode(node).decode("ascii") != checkpoint.root:
        _fail(
            "The proof does not lead to the root of the log: the receipt is not at this position in the log, or the receipt or the proof was changed."
        )
    return checkpoint


def _verify_salted(salt: str, text: str, digest: str, name: str) -> None:
    data = _from_base64url(salt, "salts are not two base64url strings separated by a dot.")
    if base64url(_sha256(data, text.encode("utf-8"))) != digest:
        _fail(f"The {name} do not match the receipt, or the salts were changed.")


def verify_receipt(file: ReceiptFile, log_key: Optional[str] = None, checkpoints: Sequence[str] = ()) -> ReceiptReport:
    """Verifies a receipt offline, without contacting the gate.

    log_key is a verifier key from an independent source; checkpoints are some kept from earlier.
    """
    checks: List[ReceiptCheck] = []

    def check(what: str, given: bool, run: Callable[[], Any]) -> Any:
        entry: ReceiptCheck = {"what": what}
        checks.append(entry)
        if not given:
            entry["is_skipped"] = True
            return None
        try:
            return run()
        except _FailedCheck as failure:
            entry["problem"] = str(failure)
        except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError, RecursionError):
            entry["problem"] = _UNKNOWN_FILE
        return None

    receipt, jwks, proof = file.get("receipt"), file.get("jwks"), file.get("proof")
    parameters, answer, own_key = file.get("parameters"), file.get("answer"), file.get("log_key")
    key = own_key if log_key is None else log_key
    salts = (file.get("salts") or "").split(".")

    def verify_signature() -> Dict[str, Any]:
        if not (receipt and jwks):
            _fail('The file lacks receipt or jwks: complete it with "intent-gate receipt save".')
        return _verify_signature(receipt, jwks["keys"])

    claims: Optional[Dict[str, Any]] = check("signature of the receipt", True, verify_signature)
    said: Dict[str, Any] = claims or {}

    def verify_parameters() -> None:
        if len(salts) > 2:
            _fail("salts are not two base64url strings separated by a dot.")
        text = canonical_json(json.loads(parameters or "", parse_int=AsWritten, parse_float=AsWritten))
        _verify_salted(salts[0], text, said["parameters_digest"], "parameters")

    def verify_key() -> None:
        if (own_key or "").strip() != (log_key or "").strip():
            _fail("log_key in the file differs from the key that you trust.")

    def verify_place() -> Checkpoint:
        if proof is None or key is None:
            _fail("The file lacks proof or log_key.")
        return _verify_inclusion(proof, f"{said['execution_id']} {base64url(_sha256((receipt or '').encode('utf-8')))}", key)

    check("parameters", parameters is not None and claims is not None, verify_parameters)
    salt = salts[1] if len(salts) > 1 else ""
    answered = answer is not None and claims is not None
    check("answer", answered, lambda: _verify_salted(salt, answer or "", said["answer_digest"], "bytes of the answer"))
    check("key of the log", log_key is not None and own_key is not None, verify_key)
    checkpoint: Optional[Checkpoint] = check("place in the log", claims is not None, verify_place)
    for kept in checkpoints:
        check("checkpoint that was kept", checkpoint is not None, lambda: _compare(cast(Checkpoint, checkpoint), _verify_checkpoint(kept, key or "")))
    is_valid = claims is not None and checkpoint is not None and not any("problem" in one for one in checks)
    return {"checks": checks, "is_valid": is_valid, "claims": claims}

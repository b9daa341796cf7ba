"""Makes functions/core/search/word-vectors.bin. README.md describes its sources and usage."""

import argparse
import hashlib
import json
import os
import pathlib
import re
import struct
import sys
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # makes sums reproducible

import numpy as np

from student import rarity, reduce, train
from teacher import SHA256, Teacher
from texts import read_texts

MAX_TEACHER_PIECES = 80
ROOT = pathlib.Path(__file__).parents[2]
SEARCH = ROOT / "functions" / "core" / "search"
CHECK = ROOT / "test" / "functions" / "core" / "search" / "word-vectors.json"
CHECKED = [
    "What's the weather like in Zürich tomorrow?",
    "Book a table for two at an Italian restaurant",
    "defenestrations",
]


def ask_teacher(teacher, texts, folder):
    """The teacher's vectors of every piece and text. Takes half an hour, so the result is cached."""
    kept = [folder / "pieces.npy", folder / "texts.npy"]
    if all(path.exists() for path in kept):
        return [np.load(path) for path in kept]
    start = time.time()
    np.save(kept[0], teacher.embed_pieces())
    parts = []
    for at in range(0, len(texts), 2_000):
        parts.append(teacher.embed(texts[at : at + 2_000], MAX_TEACHER_PIECES))
        print(f"teacher: {at + len(parts[-1])} of {len(texts)} texts in {time.time() - start:.0f} s", flush=True)
    np.save(kept[1], np.concatenate(parts))
    return [np.load(path) for path in kept]


def read_stop_words():
    return frozenset(re.search("`([^`]*)`", (SEARCH / "query.ts").read_text())[1].split())


def pack(table, vocabulary):
    """Packs the table in the format of functions/core/search/word-vectors.ts."""
    scales = (np.abs(table).max(1) / 127 + 1e-12).astype("<f4")
    rows = np.round(table / scales[:, None]).astype(np.int8)
    words = "\n".join(vocabulary).encode()
    return struct.pack("<III", *rows.shape, len(words)) + words + scales.tobytes() + rows.tobytes()


def describe(content, teacher, ignored):
    """The digest of the file, and some texts with their expected vectors."""
    rows, columns, size = struct.unpack("<III", content[:12])
    scales = np.frombuffer(content, "<f4", rows, 12 + size)
    table = np.frombuffer(content, np.int8, rows * columns, 12 + size + rows * 4).reshape(rows, columns) * scales[:, None]
    sums = [table[teacher.pieces.of_words(text, ignored)].sum(0) for text in CHECKED]
    vectors = [{"text": text, "vector": (sum / np.linalg.norm(sum)).round(5).tolist()} for text, sum in zip(CHECKED, sums)]
    return json.dumps({"sha256": hashlib.sha256(content).hexdigest(), "texts": vectors}) + "\n"


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    for name in ("model", "wordnet", "botocore"):
        arguments.add_argument(f"--{name}", type=pathlib.Path, required=True)
    arguments.add_argument("--folder", type=pathlib.Path, required=True, help="caches the vectors of the teacher")
    arguments.add_argument("--out", type=pathlib.Path, default=SEARCH / "word-vectors.bin")
    arguments.add_argument("--check", type=pathlib.Path, default=CHECK, help="expected vectors for the test of the reader")
    given = arguments.parse_args()

    teacher = Teacher(given.model)
    if hashlib.sha256(teacher.content).hexdigest() != SHA256:
        sys.exit("This is not the model from which the vectors are made: see README.md.")
    texts = read_texts(given.wordnet, given.botocore)
    teacher_pieces, teacher_texts = ask_teacher(teacher, texts, given.folder)
    ignored = read_stop_words()
    content_pieces = [teacher.pieces.of_words(text, ignored) for text in texts]
    weights = rarity([teacher.pieces.of_words(text) for text in texts], len(teacher.vocabulary))
    table = train(teacher_pieces, teacher_texts, content_pieces, weights) * weights[:, None]
    content = pack(reduce(table, content_pieces), teacher.vocabulary)
    given.out.write_bytes(content)
    given.check.write_text(describe(content, teacher, ignored))
    print(f"{given.out}: {len(content)} bytes, SHA-256 {hashlib.sha256(content).hexdigest()}")


if __name__ == "__main__":
    main()

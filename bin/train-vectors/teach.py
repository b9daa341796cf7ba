"""Asks the teacher about every text and every word piece, and keeps what it answers: the longer of the two steps (half an hour)."""

import hashlib
import os
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from teacher import SHA256, Teacher
from texts import read_texts

MAX_PIECES = 80


def teach(model, wordnet, botocore, folder):
    teacher = Teacher(model)
    if hashlib.sha256(teacher.content).hexdigest() != SHA256:
        sys.exit("model.safetensors is not the one that the vectors were made with")
    texts = read_texts(wordnet, botocore)
    start = time.time()
    np.save(os.path.join(folder, "pieces.npy"), teacher.embed_pieces())
    print(f"{len(teacher.vocabulary)} pieces in {time.time() - start:.0f} s", flush=True)
    parts = []
    for at in range(0, len(texts), 2_000):
        parts.append(teacher.embed(texts[at : at + 2_000], MAX_PIECES))
        print(f"{at + len(parts[-1])} of {len(texts)} texts in {time.time() - start:.0f} s", flush=True)
    np.save(os.path.join(folder, "texts.npy"), np.concatenate(parts))

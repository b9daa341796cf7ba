"""The teacher: a forward pass of all-MiniLM-L6-v2 (a BERT of six layers), with only numpy."""

import json
import struct
import zipfile

import numpy as np

from pieces import Pieces

SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
HEADS = 12
LAYERS = 6
EPSILON = 1e-12
FIRST, LAST = 101, 102


def read_tensors(content):
    """Reads the tensors of a safetensors file: the length of the JSON header, the header, the data."""
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    return {
        name: np.frombuffer(content[8 + length :], dtype=np.float32, count=int(np.prod(about["shape"])), offset=about["data_offsets"][0])
        .reshape(about["shape"])
        for name, about in header.items()
        if about.get("dtype") == "F32"
    }


def erf(x):
    """Abramowitz and Stegun 7.1.26, accurate to 1.5e-7."""
    t = 1 / (1 + 0.3275911 * np.abs(x))
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return np.sign(x) * (1 - series * np.exp(-x * x))


def normalize(x, gain, bias):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + EPSILON) * gain + bias


class Teacher:
    def __init__(self, path):
        with zipfile.ZipFile(path) as wheel, wheel.open("all_minilm_l6_v2/model.zip") as model, zipfile.ZipFile(model) as archive:
            content = archive.read("model.safetensors")
            vocabulary = json.loads(archive.read("tokenizer.json"))["model"]["vocab"]
        self.content = content
        self.tensors = read_tensors(content)
        self.vocabulary = sorted(vocabulary, key=vocabulary.get)
        self.pieces = Pieces(self.vocabulary)

    def forward(self, ids, is_given):
        """The last layer's vectors. `ids` and `is_given` have a row per text."""
        rows, length = ids.shape
        w = self.tensors
        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:length]
        x = x + w["embeddings.token_type_embeddings.weight"][0]
        x = normalize(x, w["embeddings.LayerNorm.weight"], w["embeddings.LayerNorm.bias"])
        blocked = ((1 - is_given) * -1e9)[:, None, None, :].astype(np.float32)
        width = x.shape[-1] // HEADS
        for layer in range(LAYERS):

            def linear(name, value):
                prefix = f"encoder.layer.{layer}.{name}"
                return value @ w[f"{prefix}.weight"].T + w[f"{prefix}.bias"]

            def norm(name, value):
                prefix = f"encoder.layer.{layer}.{name}.LayerNorm"
                return normalize(value, w[f"{prefix}.weight"], w[f"{prefix}.bias"])

            def split(value):
                return value.reshape(rows, length, HEADS, width).transpose(0, 2, 1, 3)

            query, key, value = (split(linear(f"attention.self.{name}", x)) for name in ("query", "key", "value"))
            attention = query @ key.transpose(0, 1, 3, 2) / np.float32(np.sqrt(width)) + blocked
            attention = np.exp(attention - attention.max(-1, keepdims=True))
            attention /= attention.sum(-1, keepdims=True)
            context = (attention @ value).transpose(0, 2, 1, 3).reshape(rows, length, -1)
            x = norm("attention.output", x + linear("attention.output.dense", context))
            inner = linear("intermediate.dense", x)
            inner = inner * np.float32(0.5) * (1 + erf(inner * np.float32(np.sqrt(0.5))))
            x = norm("output", x + linear("output.dense", inner.astype(np.float32))).astype(np.float32)
        return x

    def embed(self, texts, max_pieces, batch=32):
        """A unit vector for each text: the mean over its pieces."""
        rows = [[FIRST, *self.pieces.of_text(text)[: max_pieces - 2], LAST] for text in texts]
        result = np.zeros((len(rows), self.tensors["embeddings.word_embeddings.weight"].shape[1]), np.float32)
        order = sorted(range(len(rows)), key=lambda at: len(rows[at]))
        for start in range(0, len(order), batch):
            some = order[start : start + batch]
            length = max(len(rows[at]) for at in some)
            ids = np.zeros((len(some), length), int)
            is_given = np.zeros((len(some), length), np.float32)
            for row, at in enumerate(some):
                ids[row, : len(rows[at])] = rows[at]
                is_given[row, : len(rows[at])] = 1
            sums = (self.forward(ids, is_given) * is_given[:, :, None]).sum(1)
            result[some] = sums / np.linalg.norm(sums, axis=1, keepdims=True)
        return result

    def embed_pieces(self, batch=1024):
        """A vector for each piece of the vocabulary on its own."""
        count = len(self.vocabulary)
        parts = []
        for start in range(0, count, batch):
            ids = np.array([[FIRST, at, LAST] for at in range(start, min(count, start + batch))])
            parts.append(self.forward(ids, np.ones(ids.shape, np.float32)).mean(1))
        return np.concatenate(parts)

"""The student: a table of vectors, trained so that their sum over a text has the direction of the teacher's vector of the text."""

import numpy as np

TRAINED_COLUMNS = 256
COLUMNS = 128
EPOCHS = 12
BATCH = 64
RATE = 0.003
RATE_DECAY = 0.85
MAX_PIECES = 96


def unit(rows):
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def rarity(pieces_of_texts, size):
    """The inverse document frequency of each piece in the training texts. The table includes it as weights of questions and intents."""
    count = np.zeros(size, np.float32)
    for pieces in pieces_of_texts:
        count[list(set(pieces))] += 1
    return np.log(1 + (len(pieces_of_texts) - count + 0.5) / (count + 0.5)).astype(np.float32)


def sums_of(table, pieces_of_texts):
    lengths = [len(pieces) for pieces in pieces_of_texts]
    sums = np.zeros((len(lengths), table.shape[1]), np.float32)
    np.add.at(sums, np.repeat(np.arange(len(lengths)), lengths), table[np.concatenate(pieces_of_texts)])
    return sums


def train(teacher_pieces, teacher_texts, pieces_of_texts, weights, report=print):
    """Trains a table of TRAINED_COLUMNS columns for weighted sums: multiply its rows by the weights before summing."""
    centre = teacher_texts.mean(0)
    directions = np.linalg.svd((teacher_texts - centre)[::2], full_matrices=False)[2][:TRAINED_COLUMNS].T
    targets = unit((teacher_texts - centre) @ directions)
    table = ((teacher_pieces - teacher_pieces.mean(0)) @ directions).astype(np.float32)
    table /= np.linalg.norm(table, axis=1).mean()

    pieces_of_texts = [np.array(pieces[:MAX_PIECES], int) for pieces in pieces_of_texts]
    usable = np.array([at for at, pieces in enumerate(pieces_of_texts) if len(pieces) > 0])
    random = np.random.default_rng(1)
    mean, variance = np.zeros_like(table), np.zeros_like(table)
    rate = RATE
    for epoch in range(EPOCHS):
        loss = 0.0
        order = random.permutation(usable)
        for start in range(0, len(order), BATCH):
            some = order[start : start + BATCH]
            lengths = [len(pieces_of_texts[at]) for at in some]
            flat = np.concatenate([pieces_of_texts[at] for at in some])
            owner = np.repeat(np.arange(len(some)), lengths)
            weight = weights[flat][:, None]
            sums = np.zeros((len(some), table.shape[1]), np.float32)
            np.add.at(sums, owner, table[flat] * weight)
            lengths_of_sums = np.linalg.norm(sums, axis=1, keepdims=True) + 1e-6
            ours, wanted = sums / lengths_of_sums, targets[some]
            cosine = (ours * wanted).sum(1, keepdims=True)
            loss += float((1 - cosine).sum())
            gradient_of_sums = -(wanted - cosine * ours) / lengths_of_sums / len(some)
            rows, place = np.unique(flat, return_inverse=True)
            gradient = np.zeros((len(rows), table.shape[1]), np.float32)
            np.add.at(gradient, place, gradient_of_sums[owner] * weight)
            mean[rows] = 0.9 * mean[rows] + 0.1 * gradient
            variance[rows] = 0.98 * variance[rows] + 0.02 * gradient * gradient
            table[rows] -= rate * mean[rows] / (np.sqrt(variance[rows]) + 1e-7)
        rate *= RATE_DECAY
        report(f"epoch {epoch + 1} of {EPOCHS}: {loss / len(usable):.4f}", flush=True)
    return table


def reduce(table, pieces_of_texts, columns=COLUMNS):
    """Rotates the table so that the columns that matter most for texts come first, and keeps the first ones."""
    texts = unit(sums_of(table, [np.array(pieces, int) for pieces in pieces_of_texts if len(pieces) > 0]))
    directions = np.linalg.svd(texts.T @ texts)[0]
    return table @ directions[:, :columns].astype(np.float32)

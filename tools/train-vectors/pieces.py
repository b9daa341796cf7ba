"""Splits texts into the word pieces of BERT's vocabulary, as functions/core/search/word-vectors.ts does."""

import re
import unicodedata

UNKNOWN = "[UNK]"
MAX_WORD_LENGTH = 100


def fold(text):
    """Folds to lower case without accents."""
    decomposed = unicodedata.normalize("NFD", text.lower())
    return "".join(character for character in decomposed if unicodedata.category(character) != "Mn")


class Pieces:
    """A vocabulary. A piece's id is its index. Pieces that continue a word begin with ##."""

    def __init__(self, vocabulary):
        self.ids = {piece: at for at, piece in enumerate(vocabulary)}

    def of_word(self, word):
        """The ids of the longest matching pieces, from left to right; the unknown piece if a part matches none."""
        ids, start = [], 0
        while start < len(word) <= MAX_WORD_LENGTH:
            for end in range(len(word), start, -1):
                found = self.ids.get(("##" if start else "") + word[start:end])
                if found is not None:
                    break
            else:
                return [self.ids[UNKNOWN]]
            ids.append(found)
            start = end
        return ids if start == len(word) else [self.ids[UNKNOWN]]

    def of_text(self, text):
        """The ids of a text's pieces with punctuation, as the teacher reads it."""
        return [found for word in re.findall(r"[^\W_]+|[^\w\s]|_", fold(text)) for found in self.of_word(word)]

    def of_words(self, text, ignored=frozenset()):
        """The ids of a text's pieces without punctuation and ignored words, as the search function reads it."""
        words = [word for word in re.findall(r"[^\W_]+", fold(text)) if word not in ignored]
        return [found for word in words for found in self.of_word(word)]

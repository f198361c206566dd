"""Text as numbers, as src/recall/encoder/tokens.c makes them.

Letters are cut into words where their case changes and made small, digits are words of their own, punctuation is left out.
A word that the vocabulary does not have is cut greedily into its longest beginning and continuations, which are written with a #.
A character outside ASCII is one of 256 numbers by a hash of its bytes.
"""
import re

PADDING, MASK, QUERY, DOCUMENT, HASHED, WORDS = 0, 1, 2, 3, 4, 260
QUERY_MAX, DOCUMENT_MAX = 40, 160
LONGEST = 40
UNIT = re.compile(r"[A-Z]+(?=[A-Z][a-z])(?:'[sS])?|[A-Z]?[a-z]+(?:'[sS])?|[A-Z]+(?:'[sS])?|[0-9]+|[^\x00-\x7f]")


class Tokenizer:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.words = file.read().split("\n")
        if not self.words[-1]:
            self.words.pop()
        self.number = {word: at for at, word in enumerate(self.words) if word}
        self.known = {}

    def __len__(self):
        return len(self.words)

    def split(self, word):
        """Numbers of the parts of a word of small letters."""
        if word in self.number:
            return [self.number[word]]
        found, at = [], 0
        while at < len(word):
            for end in range(len(word), at, -1):
                number = self.number.get(word[at:end] if at == 0 else "#" + word[at:end])
                if number is not None:
                    found.append(number)
                    at = end
                    break
            else:
                at += 1
        return found

    def unit(self, text):
        if text[0] > "\x7f":
            raw = text.encode("utf-8", "replace")
            if len(raw) == 1 or (len(raw) == 3 and raw[0] == 0xE2):  # quotes, dashes, arrows
                return []
            return [HASHED + ((int.from_bytes(raw, "big") * 2654435761 & 0xFFFFFFFF) >> 24)]
        word = text.lower().removesuffix("'s")
        return [number for at in range(0, len(word), LONGEST) for number in self.split(word[at:at + LONGEST])]

    def __call__(self, text, most, mark):
        found = [mark]
        for unit in UNIT.finditer(text):
            unit = unit[0]
            if unit not in self.known:
                self.known[unit] = self.unit(unit)
            found += self.known[unit]
            if len(found) >= most:
                break
        return found[:most]

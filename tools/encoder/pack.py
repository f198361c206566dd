#!/usr/bin/env python3
"""Makes the file that hookd maps from what training leaves: pack.py MODEL VOCABULARY VERSION OUT

MODEL is a file of export.py (its head, then matrices of bytes with a scale for each row), VOCABULARY has a word a line.
What the program needs is laid out for it: sections at multiples of 64 bytes, words in a hash table, checksums. The
vectors for single tokens are left out, nothing uses them. src/recall/encoder/weights.c reads the result."""

import struct
import sys

ALIGNMENT = 64
SLOTS = 1 << 16


def crc32c(data):
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        table.append(i)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def fnv(word):
    h = 2166136261
    for byte in word:
        h = (h ^ byte) * 16777619 & 0xFFFFFFFF
    return h


class Model:
    """The sections of export.py's file, one after the other."""

    def __init__(self, data):
        assert data[:4] == b"ENC1", "this is no file of export.py"
        (self.words, self.width, self.layers, self.heads, self.inner, self.out, self.token,
         self.context) = struct.unpack_from("<8i", data, 4)
        self.data, self.at = data, 36

    def take(self, n):
        piece = self.data[self.at:self.at + n]
        assert len(piece) == n, "the file is too short"
        self.at += n
        return piece

    def numbers(self, n):
        return [self.take(4 * n)]

    def table(self, rows, columns):
        """A scale for each row, then the rows."""
        return [self.take(4 * rows), self.take(rows * columns)]

    def matrix(self, rows, columns):
        """The same for products: four numbers each of eight rows lie together, so that one step of the processor has
        eight results. Some multiply bytes from 0 to 255, that is 128 too much: what that adds up to is there too."""
        scales, data = self.table(rows, columns)
        of = [data[r * columns:(r + 1) * columns] for r in range(rows)]
        excess = struct.pack(f"<{rows}i", *(-128 * sum(struct.unpack(f"{columns}b", row)) for row in of))
        steps = [of[r][k:k + 4] for group in range(0, rows, 8) for k in range(0, columns, 4)
                 for r in range(group, group + 8)]
        return [scales, excess, b"".join(steps)]

    def sections(self):
        d, f = self.width, self.inner
        found = self.table(self.words, d)
        for _ in range(self.layers):
            found += self.numbers(d) + self.matrix(3 * d, d) + self.matrix(d, d)
            found += self.numbers(d) + self.matrix(f, d) + self.matrix(d, f)
        found += self.numbers(d) + self.numbers(d) + self.table(self.out, d)
        self.table(self.token, d)
        assert self.at == len(self.data), "the file is too long"
        return found


def vocabulary(words):
    slots = [0] * SLOTS
    offsets, letters = [0], b""
    for number, word in enumerate(words):
        letters += word
        offsets.append(len(letters))
        if not word:
            continue
        at = fnv(word) % SLOTS
        while slots[at]:
            at = (at + 1) % SLOTS
        slots[at] = number + 1
    return [struct.pack(f"<{SLOTS}H", *slots), struct.pack(f"<{len(offsets)}I", *offsets), letters]


def main():
    model_path, words_path, version, out = sys.argv[1:]
    model = Model(open(model_path, "rb").read())
    words = open(words_path, "rb").read().split(b"\n")[:model.words]
    assert len(words) == model.words
    sections = vocabulary(words) + model.sections()
    body = b"".join(s + bytes(-len(s) % ALIGNMENT) for s in sections)
    head = b"hookdenc" + struct.pack("<13I", 1, int(version), model.words, SLOTS, len(sections[2]), model.width,
                                     model.layers, model.heads, model.inner, model.context,
                                     ALIGNMENT + len(body), crc32c(body), 0)
    head += struct.pack("<I", crc32c(head))
    assert len(head) == ALIGNMENT
    with open(out, "wb") as file:
        file.write(head + body)


main()

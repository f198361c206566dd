#!/usr/bin/env python3
"""The network in floating point, with the weights as they are stored: reference.py MODEL.bin VOCABULARY q|d < lines

Prints the first sixteen numbers of the vector of each line. tests/unit/test_encoder.c compares hookd with such numbers."""
import sys

import numpy as np

from tokens import DOCUMENT, DOCUMENT_MAX, QUERY, QUERY_MAX, Tokenizer


class Reference:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        assert self.data[:4] == b"ENC1", "this is no file of export.py"
        words, width, layers, self.heads, inner, out, token, _ = (int(n) for n in np.frombuffer(self.data, "<i4", 8, 4))
        self.at, self.width = 36, width
        self.emb = self.matrix(words, width)
        self.layers = [{"n1": self.vector(width), "qkv": self.matrix(3 * width, width), "wo": self.matrix(width, width),
                        "n2": self.vector(width), "w1": self.matrix(inner, width), "w2": self.matrix(width, inner)}
                       for _ in range(layers)]
        self.nf, self.pool, self.out = self.vector(width), self.vector(width), self.matrix(out, width)
        self.matrix(token, width)
        assert self.at == len(self.data), "the file is too long"

    def vector(self, n):
        self.at += 4 * n
        return np.frombuffer(self.data, "<f4", n, self.at - 4 * n)

    def matrix(self, rows, columns):
        scales = self.vector(rows)
        self.at += rows * columns
        return np.frombuffer(self.data, np.int8, rows * columns, self.at - rows * columns).reshape(rows, columns) * scales[:, None]

    def __call__(self, ids):
        x, length, size = self.emb[ids], len(ids), self.width // self.heads
        angles = np.arange(length)[:, None] * 10000.0 ** (-np.arange(0, size, 2) / size)
        cos, sin, half = np.cos(angles), np.sin(angles), size // 2

        def rotate(z):
            return np.concatenate([z[..., :half] * cos - z[..., half:] * sin, z[..., :half] * sin + z[..., half:] * cos], -1)

        for layer in self.layers:
            h = norm(x, layer["n1"]) @ layer["qkv"].T
            q, k, v = h.reshape(length, 3, self.heads, size).transpose(1, 2, 0, 3)
            h = softmax(rotate(q) @ rotate(k).transpose(0, 2, 1) / np.sqrt(size)) @ v
            x = x + h.transpose(1, 0, 2).reshape(length, self.width) @ layer["wo"].T
            x = x + np.maximum(norm(x, layer["n2"]) @ layer["w1"].T, 0) @ layer["w2"].T
        h = norm(x, self.nf)
        vector = self.out @ (softmax(h @ self.pool) @ h)
        return vector / np.linalg.norm(vector)


def norm(x, weight):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * weight


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def main():
    encode, tokens, is_query = Reference(sys.argv[1]), Tokenizer(sys.argv[2]), sys.argv[3] == "q"
    for line in sys.stdin:
        ids = tokens(line, QUERY_MAX if is_query else DOCUMENT_MAX, QUERY if is_query else DOCUMENT)
        print(" ".join(f"{x:.5f}" for x in encode(ids)[:16]))


if __name__ == "__main__":
    main()

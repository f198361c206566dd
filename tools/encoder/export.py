#!/usr/bin/env python3
"""Weights of training as bytes with a scale for each row: export.py WEIGHTS.pt MODEL.bin

The file is for pack.py, which lays it out for hookd, and for reference.py: "ENC1", eight numbers (words, width, layers, heads, inner, out,
token, context), then in the order below matrices (scales, then bytes) and vectors (floats), little endian."""
import sys

import numpy as np
import torch


def main():
    saved = torch.load(sys.argv[1], map_location="cpu")
    shape, weights = saved["shape"], {name: value.float().numpy() for name, value in saved["weights"].items()}
    order = ["emb"]
    for layer in range(shape["layers"]):
        order += [f"layers.{layer}.{name}" for name in ("n1", "qkv", "wo", "n2", "w1", "w2")]
    order += ["nf", "pool", "out", "tok"]
    head = [shape[name] for name in ("words", "width", "layers", "heads", "inner", "out", "token", "context")]
    with open(sys.argv[2], "wb") as file:
        file.write(b"ENC1" + np.array(head, "<i4").tobytes())
        for name in order:
            value = weights[name]
            if value.ndim == 1:
                file.write(value.astype("<f4").tobytes())
                continue
            scale = np.abs(value).max(1) / 127 + 1e-12
            file.write(scale.astype("<f4").tobytes())
            file.write(np.round(value / scale[:, None]).astype(np.int8).tobytes())


main()

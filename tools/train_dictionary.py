#!/usr/bin/env python3
"""Trains a dictionary for stored payloads: train_dictionary.py OUT [FOLDER...]

Every *.json below the folders (default: tests/golden) is taken for a recorded payload, alone or in arrays and lines. What
differs between installations (ids, paths, times) is replaced by made-up values, many times over, so that the dictionary
learns the shapes and no machine's names. A dictionary that was ever used to write a store must stay in the program for
ever: a new one gets the next number (src/storage/store/payload.c)."""
import ctypes
import json
import pathlib
import random
import re
import sys

# A dictionary beyond 32 KB makes the tables of the packer twice as large.
SIZE, ROUNDS, CUT = 32000, 6, 2600
ROOT = pathlib.Path(__file__).resolve().parent.parent
NAMES = "api app auth build cache client config core data db index main model parser queue report route server store task test util".split()
VERBS = "add check clean fix list load make print read remove run save show sort start stop test update".split()


class Maker:
    """Made-up values in the place of what is particular to one machine."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.home = f"/home/{self.rng.choice(['ada', 'user', 'dev', 'me'])}"
        self.project = f"{self.home}/{self.rng.choice(['src', 'code', 'projects'])}/{self.rng.choice(NAMES)}"

    def hex(self, n):
        return "".join(self.rng.choice("0123456789abcdef") for _ in range(n))

    def path(self):
        return f"{self.project}/src/{self.rng.choice(NAMES)}/{self.rng.choice(NAMES)}.{self.rng.choice(['py', 'ts', 'c', 'go', 'md'])}"

    def text(self, s):
        s = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
                   lambda _: f"{self.hex(8)}-{self.hex(4)}-4{self.hex(3)}-8{self.hex(3)}-{self.hex(12)}", s)
        s = re.sub(r"(toolu_|call_|msg_|req_)[0-9A-Za-z_]+", lambda m: m[1] + self.hex(22), s)
        s = re.sub(r"/(?:tmp|root|home|work|var|Users|mnt|opt|srv)/[\w./@+-]*", lambda m: self.like(m[0]), s)
        return re.sub(r"20\d\d-\d\d-\d\d", f"2026-0{self.rng.randrange(1, 10)}-1{self.rng.randrange(10)}", s)

    def like(self, path):
        if path.endswith(".jsonl"):
            return f"{self.home}/.claude/projects/{self.project.replace('/', '-')}/{self.hex(8)}-{self.hex(4)}-4{self.hex(3)}-8{self.hex(3)}-{self.hex(12)}.jsonl"
        return self.path() if "." in path.rsplit("/", 1)[-1] else self.project

    def value(self, v):
        if isinstance(v, dict):
            return {k: self.value(x) for k, x in v.items()}
        if isinstance(v, list):
            return [self.value(x) for x in v]
        if isinstance(v, str):
            return self.text(v)
        if isinstance(v, int) and not isinstance(v, bool) and v > 9:
            return self.rng.randrange(10 ** len(str(v)))
        return v


def payloads(folders):
    for folder in folders:
        for path in sorted(pathlib.Path(folder).rglob("*.json")):
            if path.name.endswith(".event.json"):
                continue
            try:
                value = json.loads(path.read_text())
            except (ValueError, UnicodeDecodeError):
                continue
            for v in value if isinstance(value, list) else [value]:
                if isinstance(v, dict) and ("hook_event_name" in v or "session_id" in v):
                    yield v


def train(samples):
    zstd = ctypes.CDLL("libzstd.so.1")
    zstd.ZDICT_trainFromBuffer.restype = ctypes.c_size_t
    zstd.ZDICT_isError.argtypes = [ctypes.c_size_t]
    out, sizes = ctypes.create_string_buffer(SIZE), (ctypes.c_size_t * len(samples))(*map(len, samples))
    n = zstd.ZDICT_trainFromBuffer(out, ctypes.c_size_t(SIZE), b"".join(samples), sizes, ctypes.c_uint(len(samples)))
    if zstd.ZDICT_isError(n):
        sys.exit("train_dictionary: the samples are too few or too alike")
    return out.raw[:n]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    found = list(payloads(sys.argv[2:] or [ROOT / "tests/golden"]))
    samples = []
    for round in range(ROUNDS):
        for n, v in enumerate(found):
            made = Maker(round * 10007 + n).value(v)
            samples.append(json.dumps(made, ensure_ascii=False, separators=(",", ":")).encode()[:CUT])
    random.Random(1).shuffle(samples)
    dictionary = train(samples)
    pathlib.Path(sys.argv[1]).write_bytes(dictionary)
    print(f"{len(dictionary)} bytes from {len(samples)} samples of {sum(map(len, samples))} bytes")


if __name__ == "__main__":
    main()

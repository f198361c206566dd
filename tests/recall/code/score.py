#!/usr/bin/python3
"""How well a hookd finds code: tests/recall/code/score.py HOOKD [--index] [--sets DIRECTORY] [SET.HALF…]

Each set that build.py has made is asked twice, with words alone and with vectors, and the figures are printed for all of it, by language and by
repository: recall among the first five and ten, mean reciprocal rank, and in which interval the recall and the gain over
words lie (bootstrap over queries, 95 of 100). Two ways:

  (default)   documents become memories, in pieces of about 900 bytes; the best piece of a document counts
  --index     the trees are indexed with `hookd index` and asked with `hookd recall --batch --in code`; a hit counts when it
              lies on the lines of the function, or in the file

Exit 1 when a set is found worse with vectors than without.
"""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "tools"))
import packages  # noqa: E402

PIECE, MOST_PIECES = 900, 60


class Hookd:
    """A private daemon in a directory of its own."""

    def __init__(self, program, words):
        self.program, self.dir = os.path.abspath(program), tempfile.mkdtemp(prefix="cs.")
        self.env = {**os.environ, "HOOKD_DIR": self.dir}
        # Pieces of code are often alike; none of them is a newer version of another.
        Path(self.dir, "config.json").write_text(json.dumps({"context": {"encoder": not words}, "memory": {"similar": 100}}))

    def run(self, *args, text=None):
        return subprocess.run([self.program, *args], input=text, env=self.env, check=True, text=True, stdout=subprocess.PIPE).stdout

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run([self.program, "stop"], env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        shutil.rmtree(self.dir, ignore_errors=True)


def pieces(text):
    if len(text) <= PIECE * 1.3:
        return [text]
    found, lines, size = [], [], 0
    for line in text.split("\n"):
        lines.append(line)
        size += len(line) + 1
        if size >= PIECE:
            found.append("\n".join(lines))
            lines, size = [], 0
    return (found + ["\n".join(lines)] if lines else found)[:MOST_PIECES]


def rows(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def ask_memories(hookd, queries):
    """Ten documents may need more than ten pieces."""
    got = {}
    for at in range(0, len(queries), 50):
        rows_of = [{"id": q["id"], "query": q["query"], "project": q["group"]} for q in queries[at:at + 50]]
        answer = json.loads(hookd.run("rpc", "recall", json.dumps({"queries": rows_of, "limit": 50})))
        got.update((row["id"], row.get("hits", [])) for row in answer["answers"])
    return got


def ask_code(hookd, queries, tree):
    lines = "".join(json.dumps({"id": q["id"], "query": q["query"], "project": tree[q["group"]]}) + "\n" for q in queries)
    answers = map(json.loads, hookd.run("recall", "--batch", "--in", "code", text=lines).splitlines())
    return {answer["id"]: answer.get("hits", []) for answer in answers}


def through_memories(program, words, sets, name, queries):
    """{query: [document …]}, best first."""
    with Hookd(program, words) as hookd, open(Path(hookd.dir, "import.jsonl"), "w", encoding="utf-8") as file:
        for doc in rows(sets / f"{name}.docs.jsonl"):
            for number, text in enumerate(pieces(doc["text"])):
                if text.strip():
                    file.write(json.dumps({"ref": f"{doc['id']}#{number}", "project": doc["group"], "file": doc["title"],
                                           "text": text, "type": "discovery"}) + "\n")
        file.close()
        began = time.time()
        hookd.run("memory", "import", file.name)
        spent, began = time.time() - began, time.time()
        got = ask_memories(hookd, queries)
        per_query = 1000 * (time.time() - began) / len(queries)
    print(f"  {name}, {'words' if words else 'vectors'}: imported in {spent:.0f} s, {per_query:.1f} ms a query", flush=True)
    return {key: list(dict.fromkeys(hit["ref"].rpartition("#")[0] for hit in hits)) for key, hits in got.items()}


def through_index(program, words, sets, name, queries):
    kind = name.partition(".")[0]
    with Hookd(program, words) as hookd:
        tree = {q["group"]: str(sets / "trees" / kind / q["group"]) for q in queries}
        began = time.time()
        for root in tree.values():
            hookd.run("index", root)
        spent, began = time.time() - began, time.time()
        got = ask_code(hookd, queries, tree)
        per_query = 1000 * (time.time() - began) / len(queries)
    print(f"  {name}, {'words' if words else 'vectors'}: indexed in {spent:.0f} s, {per_query:.1f} ms a query", flush=True)
    found = {}
    for q in queries:
        answer = []
        for hit in got.get(q["id"], []):
            first = hit["line"]
            last = first + hit["lines"] - 1
            fits = [doc for doc, place in zip(q["relevant"], q["places"]) if fits_place(kind, hit["path"], first, last, place)]
            answer.append(fits[0] if fits else (hit["path"] if kind == "changes" else hit["ref"]))
        found[q["id"]] = list(dict.fromkeys(answer))
    return found


def fits_place(kind, path, first, last, place):
    """A piece is the function when half of either lies in the other."""
    if path != place[0] or kind == "changes":
        return path == place[0]
    common = min(last, place[2]) - max(first, place[1]) + 1
    return 2 * common >= min(last - first, place[2] - place[1]) + 1


def figures(queries, got):
    """(recall at 5, at 10, reciprocal rank) of each query."""
    result = {}
    for q in queries:
        wanted, hits = set(q["relevant"]), got.get(q["id"], [])[:10]
        # Copies of one function are one answer; files that were changed together are several.
        several = 1 if q["language"] not in ("log", "patch") else len(wanted)
        result[q["id"]] = (min(1, len(wanted & set(hits[:5])) / several), min(1, len(wanted & set(hits)) / several),
                           next((1 / (at + 1) for at, hit in enumerate(hits) if hit in wanted), 0))
    return result


def interval(values, rounds=1000):
    chance, n = random.Random(1), len(values)
    means = sorted(sum(chance.choices(values, k=n)) / n for _ in range(rounds))
    return f"[{means[rounds // 40]:.3f}, {means[-rounds // 40]:.3f}]"


def mean(values, at):
    return sum(value[at] for value in values) / len(values)


def show(label, queries, words, vectors):
    a, b = ([side[q["id"]] for q in queries] for side in (words, vectors))
    gain = [y[1] - x[1] for x, y in zip(a, b)]
    print(f"{label:34} {len(queries):5}  {mean(a, 0):.3f} {mean(a, 1):.3f} {mean(a, 2):.3f}   {mean(b, 0):.3f} {mean(b, 1):.3f} {mean(b, 2):.3f}"
          f" {interval([value[1] for value in b])}   {sum(gain) / len(gain):+.3f} {interval(gain)}", flush=True)
    return mean(b, 1) >= mean(a, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hookd")
    parser.add_argument("--index", action="store_true", help="through the index of code, not through memories")
    parser.add_argument("--sets", type=Path, default=packages.CACHE / "sets")
    parser.add_argument("names", nargs="*")
    args = parser.parse_intermixed_args()
    names = args.names or sorted(path.name.removesuffix(".queries.jsonl") for path in args.sets.glob("*.queries.jsonl"))
    route, good = through_index if args.index else through_memories, True
    for name in names:
        queries = rows(args.sets / f"{name}.queries.jsonl")
        words, vectors = (figures(queries, route(args.hookd, alone, args.sets, name, queries)) for alone in (True, False))
        print(f"{'':34} {'n':>5}  words: R@5 R@10 MRR   vectors: R@5 R@10 MRR, R@10 in   gain in R@10, in")
        good &= show(name, queries, words, vectors)
        for by in ("language", "group"):
            for value in sorted({q[by] for q in queries}):
                show(f"  {value}", [q for q in queries if q[by] == value], words, vectors)
    sys.exit(not good)


if __name__ == "__main__":
    main()

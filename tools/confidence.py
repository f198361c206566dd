#!/usr/bin/python3
"""Fits what makes a confidence out of a match: tools/confidence.py HOOKD [--check] [FILE…]

A file (tests/recall/*.jsonl) is a project: lines {"memory": id, "type", "text", "file"} and lines {"prompt": text,
"helps": [ids]}. Every prompt is asked among the memories of its project, and each hit is a row: what the index says of
it, and whether it helps. A logistic function is fitted to the rows of all files but one and judged on that one, in turn.
The ridge makes it timid, so two more numbers are fitted to those judgements, where they are not hopeless anyway. The
coefficients printed at the end are those of all files, for src/recall/retrieve/confidence.c. There are two sets: with
vectors, and (--words) without. With --check nothing is fitted: it prints how often the confidences that hookd gives are
right.
"""
import argparse
import json
import math
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RIDGE = 2.0
FEATURES = 10  # of memories; the last one is for code
HOPELESS = -1.0  # below this logit nothing is ever given
BANDS = [(.75, 1.01, "high"), (.60, .75, "medium"), (.45, .60, "low"), (0, .45, "none")]


def read(path):
    rows = [json.loads(line) for line in open(path, encoding="utf-8") if line.strip()]
    return [r for r in rows if "memory" in r], [r for r in rows if "prompt" in r]


class Hookd:
    """A private daemon in a directory of its own."""

    def __init__(self, program, words=False):
        self.program, self.dir = os.path.abspath(program), tempfile.mkdtemp(prefix="cf.")
        self.env = {**os.environ, "HOOKD_DIR": self.dir}
        Path(self.dir, "config.json").write_text(json.dumps({"context": {"encoder": not words}}))

    def run(self, *args, text=None):
        done = subprocess.run([self.program, *args], input=text, env=self.env, check=True, text=True, stdout=subprocess.PIPE)
        return done.stdout

    def close(self):
        subprocess.run([self.program, "stop"], env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        shutil.rmtree(self.dir, ignore_errors=True)


def ask(hookd, path):
    """(features, confidence, helps) of each hit; and how many memories would have helped, per prompt."""
    memories, prompts = read(path)
    lines = [json.dumps({"ref": m["memory"], "project": path.stem, "type": m.get("type", "discovery"), "text": m["text"],
                         "file": m.get("file")}) for m in memories]
    hookd.run("memory", "import", "-", text="\n".join(lines))
    rows = []
    for number, prompt in enumerate(prompts):
        params = {"queries": [{"id": number, "query": prompt["prompt"], "project": path.stem}], "features": True}
        answer = json.loads(hookd.run("rpc", "recall", json.dumps(params)))
        for hit in answer["answers"][0]["hits"]:
            rows.append((hit["features"][:FEATURES], hit["confidence"], hit["ref"] in prompt["helps"], (path.stem, number)))
    return rows, sum(len(p["helps"]) for p in prompts), len(prompts)


def solve(matrix, vector):
    n = len(vector)
    a = [row[:] + [v] for row, v in zip(matrix, vector)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(a[r][i]))
        a[i], a[pivot] = a[pivot], a[i]
        for r in range(i + 1, n):
            factor = a[r][i] / a[i][i]
            for c in range(i, n + 1):
                a[r][c] -= factor * a[i][c]
    x = [0.0] * n
    for i in reversed(range(n)):
        x[i] = (a[i][n] - sum(a[i][c] * x[c] for c in range(i + 1, n))) / a[i][i]
    return x


def probability(coefficients, features):
    z = sum(c * f for c, f in zip(coefficients, features))
    return 1 / (1 + math.exp(-max(-30, min(30, z))))


def fit(rows, ridge=RIDGE):
    """Newton's method, with a ridge on everything but the constant."""
    n = len(rows[0][0])
    w = [0.0] * n
    for _ in range(30):
        gradient = [-ridge * w[i] * (i > 0) for i in range(n)]
        hessian = [[ridge * (i == j and i > 0) + 1e-9 * (i == j) for j in range(n)] for i in range(n)]
        for features, _, helps, _ in rows:
            p = probability(w, features)
            for i in range(n):
                gradient[i] += features[i] * (helps - p)
                for j in range(i + 1):
                    hessian[i][j] += features[i] * features[j] * p * (1 - p)
        for i in range(n):
            for j in range(i):
                hessian[j][i] = hessian[i][j]
        step = solve(hessian, gradient)
        w = [a + b for a, b in zip(w, step)]
        if max(map(abs, step)) < 1e-6:
            break
    return w


def logit(coefficients, features):
    return sum(c * f for c, f in zip(coefficients, features))


def held_out(asked):
    """(logit, helps) of each hit, by what was fitted to the other projects."""
    for name, (rows, _, _) in asked.items():
        w = fit([row for other, (others, _, _) in asked.items() for row in others if other != name])
        yield from ((logit(w, row[0]), row[2]) for row in rows)


def calibrate(judged):
    return fit([((1, z), None, helps, None) for z, helps in judged if z > HOPELESS], ridge=0.01)


def report(title, judged, wanted):
    """judged: (confidence, helps) of all hits."""
    print(title)
    for low, high, name in BANDS:
        band = [helps for confidence, helps in judged if low <= confidence < high]
        right = f"{sum(band) / len(band):.2f}" if band else "  - "
        print(f"  {name:7} {len(band):5} hits, right in {right}")
    given = [helps for confidence, helps in judged if confidence >= .75]
    print(f"  of what would have helped, {sum(given) / wanted:.2f} comes with 'high'")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hookd")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--words", action="store_true", help="without vectors, as where the encoder is not installed")
    parser.add_argument("files", nargs="*", type=Path)
    args = parser.parse_intermixed_args()
    files = args.files or sorted((ROOT / "tests" / "recall").glob("*.jsonl"))
    hookd = Hookd(args.hookd, args.words)
    try:
        asked = {path.stem: ask(hookd, path) for path in files}
    finally:
        hookd.close()
    everything = [row for rows, _, _ in asked.values() for row in rows]
    wanted = sum(wanted for _, wanted, _ in asked.values())
    print(f"{len(files)} projects, {sum(n for _, _, n in asked.values())} prompts, {wanted} memories that help, {len(everything)} hits")
    if args.check:
        report("as hookd rates them", [(row[1], row[2]) for row in everything], wanted)
        return
    judged = list(held_out(asked))
    calibration = calibrate(judged)
    report("each project judged by what was fitted to the others",
           [(probability(calibration, (1, z)), helps) for z, helps in judged], wanted)
    w = [calibration[1] * c for c in fit(everything)]
    w[0] += calibration[0]
    print("static const double coefficients[FEATURES] = {", ", ".join(f"{c:.3f}" for c in w), "};")


if __name__ == "__main__":
    main()

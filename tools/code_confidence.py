#!/usr/bin/python3
"""Fits how sure a piece of code is: tools/code_confidence.py HOOKD [--check] [--show] [--sets DIRECTORY]

tests/recall/code/prompts has what developers may ask an agent in eight real repositories (those of the dev half that
tests/recall/code/build.py makes), each with the files whose code a colleague would have pasted, written by somebody who
did not know the matching; two in five are chores and talk that no code helps with. Each repository is indexed and asked.
The first three pieces are looked at, because no more are ever given, and one is right when it lies in one of those files.
Each repository is judged by what was fitted to the others; the coefficients at the end are for
src/recall/retrieve/confidence.c. With --check nothing is fitted: it prints how often the confidences that hookd gives
are right; with --show, what is given, too.
"""
import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "recall" / "code"))
import packages  # noqa: E402
from confidence import fit, probability, report  # noqa: E402
from score import Hookd, rows  # noqa: E402

GIVEN, RIDGE = 3, 0.5
USED = [0, 9, 10]  # a constant, closeness, the score: more features fit better and judge worse
HIGH = .75


def ask(hookd, root, prompts, show):
    """(features, confidence, whether it is right, which prompt) of each hit."""
    found = []
    for number, p in enumerate(prompts):
        params = {"queries": [{"id": number, "query": p["prompt"], "project": root}], "in": "code", "features": True}
        answer = json.loads(hookd.run("rpc", "recall", json.dumps(params)))["answers"][0]
        for hit in answer.get("hits", [])[:GIVEN]:
            right = hit["path"] in p["files"]
            found.append(([hit["features"][i] for i in USED], hit["confidence"], right, (root, number)))
            if show and hit["confidence"] >= HIGH:
                print(f"{'good' if right else 'bad '} {p['prompt'][:100]!r} -> {hit['ref']} {hit.get('symbol', '')}")
    return found


def share_helped(judged, wanted):
    """Of the prompts that code helps with, how many get a right piece."""
    return len({row[3] for confidence, row in judged if confidence >= HIGH and row[2]}) / wanted


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hookd")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--sets", type=Path, default=packages.CACHE / "sets")
    args = parser.parse_args()
    asked, wanted = {}, 0
    with Hookd(args.hookd, False) as hookd:
        for path in sorted((ROOT / "tests" / "recall" / "code" / "prompts").glob("*.jsonl")):
            root = str(args.sets / "trees" / "functions" / path.stem)
            hookd.run("index", root)
            prompts = rows(path)
            asked[path.stem] = ask(hookd, root, prompts, args.show)
            wanted += sum(bool(p["files"]) for p in prompts)
    everything = [row for found in asked.values() for row in found]
    print(f"{len(asked)} repositories, {wanted} prompts that code helps with")
    if args.check:
        judged = [(row[1], row) for row in everything]
    else:
        judged = []
        for name, found in asked.items():
            w = fit([row for other, theirs in asked.items() for row in theirs if other != name], RIDGE)
            judged += [(probability(w, row[0]), row) for row in found]
    report("as hookd rates them" if args.check else "each repository judged by what was fitted to the others",
           [(confidence, row[2]) for confidence, row in judged], wanted)
    print(f"  {share_helped(judged, wanted):.2f} of the prompts that code helps with get a right piece")
    if not args.check:
        print("features", USED, "{", ", ".join(f"{c:.3f}" for c in fit(everything, RIDGE)), "}")


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Fits how sure a piece of code is: tools/code_confidence.py HOOKD [--words] [--check] [--sets DIRECTORY] [HALF]

Every repository of a half of the sets that tests/recall/code/build.py makes (dev, unless another is named) is indexed
and asked three kinds of questions: its own, for which a piece is right that lies on the lines or in the file that were
asked for; as many of other repositories; and prompts of projects that have nothing to do with it (tests/recall). A
confidence has to be low for the last two, however well the best of their pieces fits. Each repository is judged by what
was fitted to the others; the coefficients at the end are for src/recall/retrieve/confidence.c. With --check nothing is
fitted: it prints how often the confidences that hookd gives are right.
"""
import argparse
import json
import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "recall" / "code"))
import packages  # noqa: E402
from confidence import calibrate, fit, held_out, probability, read, report  # noqa: E402
from score import Hookd, fits_place, rows  # noqa: E402


def prompts():
    for path in sorted((ROOT / "tests" / "recall").glob("*.jsonl")):
        yield from ({"query": p["prompt"], "relevant": [], "places": []} for p in read(path)[1])


def questions(queries, group, chance):
    own = [q for q in queries if q["group"] == group]
    others = [{**q, "relevant": [], "places": []} for q in queries if q["group"] != group]
    return own + chance.sample(others, min(len(others), len(own) // 2)) + chance.sample(list(prompts()), len(own) // 2)


def ask(hookd, kind, root, asked, group):
    """(features, confidence, whether it is right, which question) of each hit."""
    found = []
    for number, q in enumerate(asked):
        params = {"queries": [{"id": number, "query": q["query"], "project": root}], "in": "code", "features": True}
        answer = json.loads(hookd.run("rpc", "recall", json.dumps(params)))["answers"][0]
        for hit in answer.get("hits", []):
            last = hit["line"] + hit["lines"] - 1
            right = any(fits_place(kind, hit["path"], hit["line"], last, place) for place in q["places"])
            found.append((hit["features"], hit["confidence"], right, (group, number)))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hookd")
    parser.add_argument("--words", action="store_true", help="without vectors")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--sets", type=Path, default=packages.CACHE / "sets")
    parser.add_argument("half", nargs="?", default="dev")
    args = parser.parse_args()
    chance, asked, wanted = random.Random(1), {}, 0
    with Hookd(args.hookd, args.words) as hookd:
        for kind in ("functions", "changes"):
            queries = rows(args.sets / f"{kind}.{args.half}.queries.jsonl")
            for group in sorted({q["group"] for q in queries}):
                root = str(args.sets / "trees" / kind / group)
                hookd.run("index", root)
                some = questions(queries, group, chance)
                asked[kind, group] = (ask(hookd, kind, root, some, group), len(some), len(some))
                wanted += sum(bool(q["relevant"]) for q in some)
                print(f"  {kind} {group}: {len(some)} questions", file=sys.stderr, flush=True)
    everything = [row for found, _, _ in asked.values() for row in found]
    print(f"{len(asked)} repositories, {wanted} questions that have an answer, {len(everything)} hits")
    if args.check:
        report("as hookd rates them", [(row[1], row[2]) for row in everything], wanted)
        return
    judged = list(held_out(asked))
    calibration = calibrate(judged)
    report("each repository judged by what was fitted to the others",
           [(probability(calibration, (1, z)), right) for z, right in judged], wanted)
    w = [calibration[1] * c for c in fit(everything)]
    w[0] += calibration[0]
    print("{", ", ".join(f"{c:.3f}" for c in w), "}")


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Fits how sure a piece of code is: tools/code_confidence.py HOOKD [--words] [--check] [--sets DIRECTORY] [HALF]

Every repository of a half of the sets that tests/recall/code/build.py makes (dev, unless another is named) is indexed
and asked three kinds of questions: its own; as many of other repositories; and prompts of projects that have nothing to do
with it (tests/recall). A confidence has to be low for the last two, however well the best of their pieces fits. The first
three pieces are looked at, because no more are ever given, and one is right when it lies in the file that holds the
answer: the functions of a file explain each other, and whoever reads one finds the other. Each repository is judged by
what was fitted to the others; the coefficients at the end are for src/recall/retrieve/confidence.c. With --check nothing
is fitted: it prints how often the confidences that hookd gives are right, and how often the piece is the very function.
"""
import argparse
import json
import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "recall" / "code"))
import packages  # noqa: E402
from confidence import fit, probability, read, report  # noqa: E402
from score import Hookd, fits_place, rows  # noqa: E402

GIVEN, RIDGE = 3, 0.1


def prompts():
    for path in sorted((ROOT / "tests" / "recall").glob("*.jsonl")):
        yield from ({"query": p["prompt"], "relevant": [], "places": []} for p in read(path)[1])


def questions(queries, group, chance):
    own = [q for q in queries if q["group"] == group]
    others = [{**q, "relevant": [], "places": []} for q in queries if q["group"] != group]
    return own + chance.sample(others, min(len(others), len(own) // 2)) + chance.sample(list(prompts()), len(own) // 2)


def ask(hookd, kind, root, asked):
    """(features, confidence, whether the file is right, whether the very lines are) of each hit."""
    found = []
    for number, q in enumerate(asked):
        params = {"queries": [{"id": number, "query": q["query"], "project": root}], "in": "code", "features": True}
        answer = json.loads(hookd.run("rpc", "recall", json.dumps(params)))["answers"][0]
        for hit in answer.get("hits", [])[:GIVEN]:
            last = hit["line"] + hit["lines"] - 1
            exact = any(fits_place(kind, hit["path"], hit["line"], last, place) for place in q["places"])
            found.append((hit["features"], hit["confidence"], hit["path"] in {place[0] for place in q["places"]}, exact))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hookd")
    parser.add_argument("--words", action="store_true", help="without vectors")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--sets", type=Path, default=packages.CACHE / "sets")
    parser.add_argument("half", nargs="?", default="dev")
    args = parser.parse_intermixed_args()
    chance, asked, wanted = random.Random(1), {}, 0
    with Hookd(args.hookd, args.words) as hookd:
        for kind in ("functions", "changes"):
            queries = rows(args.sets / f"{kind}.{args.half}.queries.jsonl")
            for group in sorted({q["group"] for q in queries}):
                root = str(args.sets / "trees" / kind / group)
                hookd.run("index", root)
                some = questions(queries, group, chance)
                asked[kind, group] = ask(hookd, kind, root, some)
                wanted += sum(bool(q["relevant"]) for q in some)
                print(f"  {kind} {group}: {len(some)} questions", file=sys.stderr, flush=True)
    everything = [row for found in asked.values() for row in found]
    print(f"{len(asked)} repositories, {wanted} questions that have an answer, {len(everything)} hits")
    if args.check:
        report("as hookd rates them: in the right file", [(row[1], row[2]) for row in everything], wanted)
        report("the same: the very function", [(row[1], row[3]) for (kind, _), found in asked.items() for row in found
                                               if kind == "functions"], wanted)
        return
    judged = []
    for name, found in asked.items():
        w = fit([row for other, rows_of in asked.items() for row in rows_of if other != name], RIDGE)
        judged += [(probability(w, row[0]), row[2]) for row in found]
    report("each repository judged by what was fitted to the others", judged, wanted)
    print("{", ", ".join(f"{c:.3f}" for c in fit(everything, RIDGE)), "}")


if __name__ == "__main__":
    main()

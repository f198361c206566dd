#!/usr/bin/python3
"""What age and disuse do to recall: tools/aging.py HOOKD [SET.docs.jsonl SET.queries.jsonl]…

Two things are measured. First, whether a stale memory is passed by a fresh rival that fits as well: pairs of texts that
differ in one word nobody asks for, one of them old or often given in vain. Second, for each set, what recall loses when
its documents get ages drawn at random from two years: age knows nothing of what fits, so anything it changes there is
harm. Documents are {"id", "group", "title", "text"}, queries {"id", "group", "query", "relevant"}. Exit 1 when a rival that is
four months older is not passed, or a set loses more than a hundredth of its MRR.
"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

HARM, STALE = .01, 120
RIVALS = [("The nightly export writes to the bucket of the {} region", "where does the nightly export write to?"),
          ("Run the seed script of {} before the integration tests", "what has to run before the integration tests?"),
          ("The search endpoint is limited to ten requests a second by {}", "how many requests may the search endpoint get?"),
          ("Invoices are rounded by the {} module after tax", "which module rounds the invoices?")]


class Hookd:
    """A private daemon in a directory of its own."""

    def __init__(self, program):
        self.program, self.dir = os.path.abspath(program), tempfile.mkdtemp(prefix="ag.")
        self.env = {**os.environ, "HOOKD_DIR": self.dir}

    def run(self, *args, text=None):
        return subprocess.run([self.program, *args], input=text, env=self.env, check=True, text=True,
                              stdout=subprocess.PIPE).stdout

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run([self.program, "stop"], env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        shutil.rmtree(self.dir, ignore_errors=True)


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def passes(program, days):
    """How many of the rivals are passed by one that is this much younger, among memories about other things."""
    now, passed = int(time.time()), 0
    rows = [{"ref": f"other:{n}", "project": "p", "created_at": now,
             "text": f"{subject} {n} is kept by the {keeper} team"}
            for n in range(20) for subject in ("The wiki page", "Dashboard", "The alarm", "Report", "The mailing list")
            for keeper in ("billing", "platform")]
    for n, (text, _) in enumerate(RIVALS):
        rows += [{"ref": f"{n}:old", "project": "p", "text": text.format("a41"), "created_at": now - days * 86400},
                 {"ref": f"{n}:new", "project": "p", "text": text.format("a42"), "created_at": now}]
    with Hookd(program) as hookd:
        hookd.run("memory", "import", "-", text=lines(rows))
        out = hookd.run("recall", "--batch", text=lines(
            {"id": n, "query": query, "project": "p"} for n, (_, query) in enumerate(RIVALS)))
    for got in map(json.loads, out.splitlines()):
        refs = [h["ref"] for h in got["hits"]]
        passed += refs.index(f"{got['id']}:new") < refs.index(f"{got['id']}:old")
    return passed


def recall(program, docs, queries, age_of):
    """(recall at ten, mean reciprocal rank)"""
    with Hookd(program) as hookd:
        hookd.run("memory", "import", "-", text=lines(
            {"ref": d["id"], "project": d["group"], "file": d["title"], "text": d["text"], "created_at": age_of()} for d in docs))
        out = hookd.run("recall", "--batch", text=lines(
            {"id": q["id"], "query": q["query"], "project": q["group"]} for q in queries))
    got = {row["id"]: [h["ref"] for h in row["hits"]] for row in map(json.loads, out.splitlines())}
    r10 = mrr = 0.0
    for q in queries:
        hits = [ref in q["relevant"] for ref in got.get(q["id"], [])[:10]]
        r10 += sum(hits) / len(q["relevant"])
        mrr += next((1 / (i + 1) for i, hit in enumerate(hits) if hit), 0)
    return r10 / len(queries), mrr / len(queries)


def main():
    if len(sys.argv) < 2 or len(sys.argv) % 2:
        sys.exit(__doc__.splitlines()[0])
    program, now, bad = sys.argv[1], int(time.time()), False
    for days in (30, 120, 365):
        passed = passes(program, days)
        bad |= days >= STALE and passed < len(RIVALS)
        print(f"{passed} of {len(RIVALS)} rivals that are {days} days older are passed")
    for docs_file, queries_file in zip(sys.argv[2::2], sys.argv[3::2]):
        docs, queries = ([json.loads(line) for line in open(path, encoding="utf-8")] for path in (docs_file, queries_file))
        chance = random.Random(1)
        fresh = recall(program, docs, queries, lambda: now)
        aged = recall(program, docs, queries, lambda: now - chance.randrange(730 * 86400))
        bad |= fresh[1] - aged[1] > HARM
        print(f"{os.path.basename(docs_file)}: R@10 {fresh[0]:.3f}, aged {aged[0]:.3f}; MRR@10 {fresh[1]:.3f}, aged {aged[1]:.3f}")
    sys.exit(bad)


main()

#!/usr/bin/python3
"""Runs the end-to-end tests, a file at a time on each core: tests/e2e/run.py [file...]

hookc keeps deadlines of 150 ms, and a test cannot tell a daemon that is late from a machine that was. So
up to three tests that failed beside others are run again, alone, and have to pass three times in a row;
they are named in a line that begins with "note:". More failures than that, or one in three, count.
"""
import argparse
import os
import queue
import subprocess
import sys
import tempfile
import threading
import xml.etree.ElementTree as xml
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
REPEATED, TIMES = 3, 3


class Run:
    """One pytest over `names`; `failed` holds the names of its tests that failed."""

    def __init__(self, names):
        with tempfile.NamedTemporaryFile(suffix=".xml") as report:
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report.name}"]
            done = subprocess.run([*command, *names], cwd=ROOT, text=True, errors="replace",
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.output, self.ok = done.stdout, done.returncode in (0, 5)  # 5: no tests in it
            self.tests, self.failed = self.read(report.name)

    @staticmethod
    def read(report):
        try:
            cases = list(xml.parse(report).iter("testcase"))
        except xml.ParseError:
            return 0, []
        failed = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
        return len(cases), [f"{case.get('classname').replace('.', '/')}.py::{case.get('name')}" for case in failed]


def work(files, runs):
    while True:
        try:
            name = files.get_nowait()
        except queue.Empty:
            return
        runs.append(Run([name]))


def run_all(names, nworkers):
    """Long files first: the cores end at about the same time."""
    files, runs = queue.Queue(), []
    for path in sorted(names, key=lambda path: -path.stat().st_size):
        files.put(str(path))
    workers = [threading.Thread(target=work, args=(files, runs)) for _ in range(nworkers)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return runs


def passes_alone(test):
    return all(Run([test]).ok for _ in range(TIMES))


def run_once(names, nworkers):
    runs = run_all(names, nworkers)
    broken = [run for run in runs if not run.ok]
    failed = [test for run in broken for test in run.failed]
    for run in broken:
        print(run.output)
    for test in failed:  # last, where whoever reads the end of a long output finds them
        print(f"failed: {test}")
    print(f"{sum(run.tests for run in runs)} tests in {len(runs)} files, {len(failed)} failed")
    # A run that ended without naming a test (a crash, a file that cannot be read) is no test that was late.
    if len(failed) > REPEATED or any(not run.failed for run in broken):
        return 1
    lasting = [test for test in failed if not passes_alone(test)]
    for test in failed:
        print(f"note: {test} failed beside others and {'fails' if test in lasting else f'passed {TIMES} times'} alone")
    return 1 if lasting else 0


def main():
    options = argparse.ArgumentParser(description="Runs the end-to-end tests.")
    options.add_argument("--workers", type=int, default=min(4, os.cpu_count() or 1))
    options.add_argument("--times", type=int, default=1)
    options.add_argument("files", nargs="*")
    given = options.parse_args()
    names = [Path(name).resolve() for name in given.files] or list(HERE.glob("test_*.py"))
    return next((1 for _ in range(given.times) if run_once(names, given.workers)), 0)


if __name__ == "__main__":
    sys.exit(main())

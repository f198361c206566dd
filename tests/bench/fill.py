#!/usr/bin/python3
"""Fills the store of a stopped daemon with made-up work: tests/bench/fill.py STORE --activities N.

Writes rows directly, because a million events through hooks would take an hour. The shape is that of real stores:
prompts with about ten calls, sessions with about ten prompts, a tenth of the calls in subagents, one call in twenty
failed, a compaction in every fifth session, a plan in every tenth, and one session with a thousand calls. Times go
back half a year. The same arguments give the same rows."""

import argparse
import hashlib
import json
import pathlib
import random
import re
import sqlite3
import time

DAY = 86400 * 1000000
TOOLS = [("Read", "read", 30), ("Bash", "shell", 30), ("Edit", "write", 18), ("Grep", "search", 10), ("Write", "write", 5),
         ("Glob", "search", 4), ("WebFetch", "web", 1), ("TodoWrite", "other", 2)]
NAMES = [(n, c) for n, c, weight in TOOLS for _ in range(weight)]
WORDS = "the parser reads a token and tests fail when header is missing so add check before loop then run bench again".split()
PROJECTS, AGENTS = 40, ["claude"] * 7 + ["codex", "gemini", "cursor"]
BIG = 1000  # calls of the one large session


def capture_version():
    header = (pathlib.Path(__file__).resolve().parents[2] / "src/storage/capture/capture.h").read_text()
    return re.search(r"CAPTURE_VERSION = (\d+)", header)[1]


class Store:
    """Rows in pieces; indexes are dropped meanwhile and made again at the end."""

    def __init__(self, path):
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; PRAGMA foreign_keys = OFF")
        self.indexes = self.db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL").fetchall()
        for name, _ in self.indexes:
            self.db.execute(f"DROP INDEX {name}")
        self.db.execute("BEGIN")
        self.rows = {}

    def add(self, table, **row):
        columns = tuple(row)
        waiting = self.rows.setdefault((table, columns), [])
        waiting.append(tuple(row.values()))
        if len(waiting) == 5000:
            self.flush(table, columns)

    def flush(self, table, columns):
        self.db.executemany(f"INSERT INTO {table}({','.join(columns)}) VALUES ({','.join('?' * len(columns))})",
                            self.rows.pop((table, columns)))

    def close(self):
        for table, columns in list(self.rows):
            self.flush(table, columns)
        for _, sql in self.indexes:
            self.db.execute(sql)
        self.db.execute("COMMIT")
        self.db.executescript("PRAGMA wal_checkpoint(TRUNCATE)")
        self.db.close()


def text(rng, n):
    return " ".join(rng.choice(WORDS) for _ in range(n))


KINDS = {"SessionStart": 1, "SessionEnd": 2, "UserPromptSubmit": 5, "PreToolUse": 7, "PostToolUse": 10, "Stop": 17}
NUMBERS = {name: n for n, name in enumerate(("Bash", "Read", "Edit", "Write", "Grep", "Glob"), 1)}  # as in store/tools.c
NUMBERS["TodoWrite"] = 13
CLASSES = ("other", "shell", "read", "write", "search", "web", "mcp", "agent")


class Filler:
    def __init__(self, path, activities, now_us):
        self.store, self.rng, self.left, self.now = Store(path), random.Random(7), activities, now_us
        self.sessions = self.windows = self.batches = self.activities = self.plans = self.seq = 0
        self.total = activities

    def event(self, at, kind, payload, tool=None, use=None, agent_id=None):
        self.seq += 1
        self.events += 1
        self.last_id = self.seq.to_bytes(16, "big")
        self.store.add("events", seq=self.seq, id=self.last_id, ord=at, lag=0, what=KINDS[kind], session=self.sessions, native="",
                       tool_n=NUMBERS.get(tool, tool), tool_use_id=use, agent_id=agent_id,
                       payload=json.dumps({"session_id": self.native, "cwd": self.cwd, "hook_event_name": kind, **payload}))

    def window(self, at, source, **more):
        self.windows += 1
        self.store.add("windows", key=self.windows, session=self.sessions, ord=at, source=source, model="opus", lag=0, **more)
        return self.windows

    def call(self, at, window, batch, agent_id):
        tool, group = self.rng.choice(NAMES)
        use, failed = f"toolu_{self.seq:024x}", self.rng.random() < 0.05
        file = f"src/m{self.rng.randrange(30)}/f{self.rng.randrange(40)}.c" if group in ("read", "write") else None
        given = {"file_path": f"{self.cwd}/{file}"} if file else {"command": text(self.rng, 8)}
        took = self.rng.randrange(5, 4000)
        self.event(at, "PreToolUse", {"tool_name": tool, "tool_use_id": use, "tool_input": given}, tool, use, agent_id)
        self.event(at + took * 1000, "PostToolUse", {"tool_name": tool, "tool_use_id": use, "tool_input": given,
                                                     "tool_response": {"stdout": text(self.rng, 40)}}, tool, use, agent_id)
        self.activities += 1
        self.left -= 1
        self.store.add("activities", key=self.activities, session=self.sessions, same=use, window=window, batch=batch, ord=at, what=0,
                       tool_n=NUMBERS.get(tool, tool), class_n=CLASSES.index(group), agent_id=agent_id,
                       input=json.dumps(given), output=text(self.rng, 40), file=file,
                       change={"read": "read", "write": "modified"}.get(group), state_n=2 if failed else 1,
                       error="Exit code 1" if failed else None, lag=0, took=took * 1000, duration_ms=took)
        return at + took * 1000 + 1000000

    def prompt(self, at, window, number, calls):
        self.batches += 1
        batch, prompt, began = self.batches, text(self.rng, 30), at
        self.event(at, "UserPromptSubmit", {"prompt": prompt})
        agent_id = f"a{self.seq:016x}" if self.rng.random() < 0.1 else None
        inner = self.window(at, "subagent", agent_id=agent_id, agent_type="general-purpose", parent=window) if agent_id else window
        for _ in range(calls):
            at = self.call(at + 1000, inner, batch, agent_id)
        answer = text(self.rng, 60)
        self.event(at, "Stop", {"last_assistant_message": answer})
        self.store.add("batches", key=batch, session=self.sessions, window=window, ord=began, number=number, source="user", prompt=prompt,
                       prompt_id=f"p{batch}", prompt_hash=hashlib.sha256(prompt.encode()).digest(), length=len(prompt), status="completed",
                       closed_by="stop", started_at=began, last_at=at, ended_at=at, response=answer, activities=calls)
        return at, prompt, answer

    def session(self, calls):
        self.sessions += 1
        self.events = 0
        key, project = self.sessions, self.rng.randrange(PROJECTS) + 1
        self.native = str(random.Random(key).getrandbits(128).to_bytes(16, "big").hex())
        self.native = f"{self.native[:8]}-{self.native[8:12]}-{self.native[12:16]}-{self.native[16:20]}-{self.native[20:]}"
        self.cwd = f"/home/dev/project{project}"
        # Evenly over half a year, the last one an hour ago.
        at = began = self.now - 3600 * 1000000 - 180 * DAY * max(0, self.left) // self.total
        self.event(at, "SessionStart", {"source": "startup"})
        window, number, tools, title = self.window(at, "startup"), 0, calls, None
        while calls > 0:
            n = min(calls, self.rng.randrange(1, 20))
            number, calls = number + 1, calls - n
            at, prompt, answer = self.prompt(at + 5000000, window, number, n)
            title = title or prompt[:80]
            if number == 5 and key % 5 == 0:
                window = self.window(at, "compact", previous=window)
        self.event(at, "SessionEnd", {"reason": "other"})
        if key % 10 == 0:
            self.plan(key, began)
        self.store.add("sessions", key=key, agent=self.rng.choice(AGENTS), native_id=self.native, cwd=self.cwd, status="completed",
                       started_at=began, last_at=at, ended_at=at, events=self.events, prompts=number, tools=tools, project=project,
                       last_ord=at, last_id=self.last_id, window=window, last_batch=self.batches, model="opus", title=title,
                       end_reason="other", closed_by="end", last_user=prompt, last_assistant=answer)

    def plan(self, session, at):
        self.plans += 1
        self.store.add("plans", key=self.plans, session=session, path=f"/home/dev/.claude/plans/plan-{self.plans}.md", title="A plan", ord=at,
                       created_at=at, updated_at=at)
        for version in (1, 2):
            self.store.add("plan_versions", plan=self.plans, version=version, ord=at, at=at, source="write", content=text(self.rng, 300))

    def fill(self):
        for n in range(1, PROJECTS + 1):
            path = f"/home/dev/project{n}"
            self.store.add("projects", key=n, path=path, name=f"project{n}", created_at=self.now)
            self.store.add("directories", path=path, project=n)
        big = None
        while self.left > 0:
            calls = BIG if big is None and self.left <= self.total // 2 + BIG else min(self.left, self.rng.randrange(20, 200))
            self.session(calls)
            big = self.native if calls == BIG else big
        # As this release would have folded them; else the daemon would fold everything again meanwhile.
        self.store.db.execute("INSERT OR REPLACE INTO facts(name, value) VALUES ('capture', ?)", (capture_version(),))
        self.store.close()
        return {"sessions": self.sessions, "batches": self.batches, "activities": self.activities, "events": self.seq, "big": big}


def fill(path, activities, now_us=None):
    """Counts, and the id of the large session."""
    return Filler(path, activities, now_us or time.time_ns() // 1000).fill()


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("store")
    p.add_argument("--activities", type=int, default=1000000)
    args = p.parse_args()
    print(json.dumps(fill(args.store, args.activities)))

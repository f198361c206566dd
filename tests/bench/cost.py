#!/usr/bin/python3
"""What an event costs on disk and in memory: parts of make bench, or alone: tests/bench/cost.py --build DIR.

    trickle    bytes the daemon writes per event at one event a second, events of about 0.6 KB
    burst      bytes written for each byte of payload when thousands come at once
    store      size of the store for each byte of payload, on recorded payloads (tests/golden, or --captures DIR)
    memory     of an idle daemon, and after 10,000 events

Bytes written are the kernel's own count (/proc/PID/io, write_bytes): pages that reached the block layer, or will. Nothing is
asserted; figures are printed."""

import argparse
import json
import os
import pathlib
import re
import socket
import sqlite3
import sys
import time
import uuid

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
import world as w  # noqa: E402

GOLDEN = HERE.parent / "golden"
KINDS = ("PreToolUse", "PostToolUse")
COPIES = 120  # of each recorded session: what an empty store weighs (a quarter of a megabyte) shall hardly count


def written(pid):
    """Bytes the process sent to its disks so far."""
    return int(re.search(r"^write_bytes: (\d+)", pathlib.Path(f"/proc/{pid}/io").read_text(), re.M)[1])


def memory(pid):
    """(all that is resident, the part that is the process's own) in bytes."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return tuple(int(re.search(rf"{name}:\s+(\d+) kB", text)[1]) * 1024 for name in ("VmRSS", "RssAnon"))


class Line:
    """One connection that is answered event by event."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect(str(path))

    def send(self, payload, agent=b"claude", event=b"PostToolUse"):
        self.socket.sendall(w.hook(payload, agent=agent, event=event))
        kind, stored, *_ = w.read_frame(self.socket)
        while kind == w.WAIT:
            kind, stored, *_ = w.read_frame(self.socket)
        if not stored:
            raise OSError("an event was not stored")


def small_event(n):
    """About 0.6 KB, as a shell call of Claude Code is told before and after it ran."""
    event = {"session_id": "5b7ab1b2-0000-4000-8000-000000000001", "hook_event_name": KINDS[n % 2], "cwd": "/home/bench/shop",
             "transcript_path": "/home/bench/.claude/projects/-home-bench-shop/5b7ab1b2.jsonl", "permission_mode": "default",
             "prompt_id": "7d0c2f5e-0000-4000-8000-000000000001", "tool_name": "Bash", "tool_use_id": f"toolu_{n // 2:024}",
             "tool_input": {"command": f"make -C services/orders test FILTER=case_{n // 2}", "description": "Run the order tests"}}
    if n % 2:
        event["tool_response"] = {"stdout": f"case_{n // 2}: 28 passed, {n * 7 % 1000} ms", "stderr": "", "interrupted": False}
    else:
        event["tool_input"]["description"] += " of one case, with everything it says " * 2
    return KINDS[n % 2].encode(), json.dumps(event).encode()


def trickle(path, pid, events=60):
    """Bytes written per event at one a second, and how large the events were."""
    line, size, before = Line(path), 0, written(pid)
    begin = time.monotonic()
    for n in range(events):
        event, payload = small_event(n)
        line.send(payload, event=event)
        size += len(payload)
        time.sleep(max(0, begin + n + 1 - time.monotonic()))
    return {"per_event": (written(pid) - before) / events, "payload": size / events, "events": events}


def recorded(folders):
    """[(agent, [(event, payload)…])…], a session of recorded payloads for each agent."""
    found = []
    for folder in folders:
        name = folder.parent.name if folder.name == "captures" else folder.name
        agent = {"claude-code": "claude"}.get(name, name)
        calls = []
        for path in sorted(folder.glob("*.json")):
            if path.name.endswith(".event.json") or path.name.startswith("_"):
                continue
            try:
                value = json.loads(path.read_text())
            except ValueError:
                continue
            if isinstance(value, dict) and isinstance(value.get("hook_event_name"), str):
                calls.append((value["hook_event_name"], value))
        if calls:
            found.append((agent, calls))
    return found


def folders_of(captures):
    if captures:
        return [p for p in sorted(pathlib.Path(captures).glob("*/captures")) if p.is_dir()]
    return [GOLDEN / name for name in ("claude", "codex", "gemini")]


def under_new_ids(value, ids):
    """A recorded payload as part of another session: its ids are replaced wherever they occur, as in the path of its
    transcript. One id is always replaced by the same one; all payloads are of one session."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for member in ("session_id", "prompt_id", "tool_use_id"):
        old = value.get(member)
        if isinstance(old, str) and len(old) > 7:
            key = member if member == "session_id" else old
            new = old[:6] + os.urandom(9).hex() if member == "tool_use_id" else str(uuid.uuid4())
            text = text.replace(old, ids.setdefault(key, new))
    return text.encode()


def replay(path, captures=None):
    """Sends recorded sessions, each copy under ids of its own; the bytes of their payloads."""
    line, total, count = Line(path), 0, 0
    for _ in range(COPIES):
        for agent, calls in recorded(folders_of(captures)):
            ids = {}
            for event, value in calls:
                payload = under_new_ids(value, ids)
                line.send(payload, agent=agent.encode(), event=event.encode())
                total += len(payload)
                count += 1
    return total, count


def store_bytes(path):
    """Bytes in use of a stopped daemon's store."""
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    size, pages, free = (db.execute(f"PRAGMA {p}").fetchone()[0] for p in ("page_size", "page_count", "freelist_count"))
    db.close()
    return size * (pages - free)


def main():
    import bench

    a = argparse.ArgumentParser()
    a.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    a.add_argument("--captures", help="folder with AGENT/captures/*.json instead of tests/golden")
    a.add_argument("--only", action="append", choices=("trickle", "burst", "store", "memory"))
    a.add_argument("--events", type=int, default=60, help="of the trickle")
    a = a.parse_args()
    b = bench.Bench(a.build.resolve(), quick=False, captures=a.captures, trickle_events=a.events)
    for name in a.only or ("trickle", "burst", "store", "memory"):
        b.part({"trickle": b.trickle, "burst": b.written_in_bursts, "store": b.store_size, "memory": b.memory}[name], name)
    print(json.dumps({**{k: round(v, 3) for k, v in b.values.items()}, "detail": b.detail, "missing": b.missing}, indent=1))


if __name__ == "__main__":
    main()

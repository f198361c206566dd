"""Stores of earlier releases: brought to this one's shape, whole or not at all."""
import json
import os
import sqlite3
import subprocess

from world import BUILD, ROOT, tool, wait_for

EVENTS = 40


def old_store(path):
    """A store of schema 4: pages of 16 KiB, payloads as text, keys by counting."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA page_size = 16384")
    db.execute("PRAGMA auto_vacuum = INCREMENTAL")
    for sql in sorted((ROOT / "schema").glob("000[1-4]_*.sql")):
        db.executescript(sql.read_text())
    db.execute("PRAGMA user_version = 4")
    db.execute("BEGIN")
    db.execute("INSERT INTO facts VALUES ('capture', '4')")
    for s in range(3):
        db.execute("INSERT INTO sessions(key, agent, native_id, started_at, last_at, events, window, batch, last_batch) "
                   "VALUES (?, 'claude', ?, 1, 1, 0, ?, NULL, NULL)", (s + 1, f"s{s}", s + 1))
        db.execute("INSERT INTO windows(key, session, ord, started_at) VALUES (?, ?, 0, 1)", (s + 1, s + 1))
    for n in range(EVENTS):
        payload = tool(n, session=f"s{n % 3}", tool_response={"text": f"line {n} of a result that is told at some length " * 20})
        db.execute("INSERT INTO events(id, ord, at, session, kind, native, tool, tool_use_id, payload) "
                   "VALUES (?, ?, ?, ?, 'PostToolUse', 'PostToolUse', 'Read', ?, ?)",
                   (n.to_bytes(16, "big"), n, n, n % 3 + 1, f"t{n}", json.dumps(payload)))
        db.execute("INSERT INTO activities(key, session, same, window, ord, kind, state) VALUES (?, ?, ?, ?, ?, 'tool', 'done')",
                   (n + 1, n % 3 + 1, f"t{n}", n % 3 + 1, n))
    db.execute("COMMIT")
    db.close()
    os.chmod(path, 0o600)


def page_size(path):
    with open(path, "rb") as f:
        return int.from_bytes(f.read(18)[16:], "big")


def check_new(world):
    wait_for(lambda: not world.json("db", "rebuild", "--dry-run", "--json")["left"], what="everything to be folded again")
    told = world.rpc("events", limit=1000)["events"]
    assert [e["tool_use_id"] for e in told] == [f"t{n}" for n in range(EVENTS)]
    assert all(f"line {n} of a result" in json.dumps(e["payload"]) for n, e in enumerate(told))
    assert len(world.rpc("activities", limit=1000)["activities"]) == EVENTS
    assert world.rpc("check")["ok"]
    world.stop()
    assert page_size(world.dir / "hookd.db") == 4096
    db = sqlite3.connect(f"file:{world.dir}/hookd.db?mode=ro", uri=True)
    assert db.execute("SELECT count(*) FROM events WHERE typeof(payload) = 'blob'").fetchone()[0] == EVENTS
    assert db.execute("SELECT min(key) > 0 FROM activities").fetchone()[0] == 1
    assert db.execute("SELECT count(*) FROM activities a JOIN events e ON a.key / 4 = e.seq AND a.same = e.tool_use_id").fetchone()[0] == EVENTS
    db.close()
    assert not list(world.dir.glob("*.renewing")) and not list(world.dir.glob("hookd.db.damaged*"))


def test_a_store_of_the_release_before_is_brought_here(world):
    world.dir.mkdir(mode=0o700, exist_ok=True)
    old_store(world.dir / "hookd.db")
    world.start()
    world.stop()
    world.start()
    check_new(world)
    assert list((world.dir / "backups").glob("before-migration-from-4-*.db"))


def test_killed_at_every_statement_it_is_whole(world):
    world.dir.mkdir(mode=0o700, exist_ok=True)
    store = world.dir / "hookd.db"
    for n in range(1, 120):
        for name in ("hookd.db", "hookd.db-wal", "hookd.db-shm"):
            (world.dir / name).unlink(missing_ok=True)
        old_store(store)
        p = subprocess.Popen([str(BUILD / "hookd"), "run", "--dir", str(world.dir), "--test-fail", f"migrate:{n}"], env=world.env,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        world.started.append(p)
        wait_for(lambda: p.poll() is not None or (world.dir / "run/hookd.sock").is_socket() and opened(world), what="the daemon")
        if p.poll() is None:  # it lived: all statements have had their turn
            check_new(world)
            assert n > 15
            return
        world.start()
        check_new(world)
    raise AssertionError("there is no end to the statements")


def opened(world):
    done = world.hookd("status", "--json", ok=False)
    return done.returncode == 0 and json.loads(done.stdout).get("store", {}).get("open")

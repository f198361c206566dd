"""Stores of earlier releases: brought to this one's shape, whole or not at all."""
import json
import os
import sqlite3
import shutil
import subprocess

import pytest

from test_keep import leaves_of
from world import BUILD, DONE, ROOT, World, hook, read_frame, tool, wait_for

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
    for n in range(1, 200):
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


# -- schema 11: names of tools and whole times in each row ------------------------------------------------------

AGENTS = ("claude", "codex", "gemini", "qwen")
FIRST = ("SessionStart", "UserPromptSubmit", "BeforeAgent", "PreToolUse", "BeforeTool")

# What the daemon itself changes when it starts.
CHANGING = {"facts", "journal", "jobs", "summaries"}


def recorded(agent):
    """What was recorded of it, as one session. Calls begin before they end, but for one agent's: those come late."""
    paths = [p for p in sorted((ROOT / "tests/golden" / agent).glob("*.json")) if not p.name.endswith(".event.json")]
    found = [v for v in (json.loads(p.read_text()) for p in paths) if isinstance(v, dict) and "hook_event_name" in v]
    if agent != AGENTS[-1]:
        found.sort(key=lambda v: FIRST.index(v["hook_event_name"]) if v["hook_event_name"] in FIRST else len(FIRST))
    return [{**v, "session_id": f"{agent}-1"} for v in found]


def replay(world):
    with world.connect() as s:
        for agent in AGENTS:
            for told in recorded(agent):
                s.sendall(hook(json.dumps(told).encode(), agent=agent.encode(), event=told["hook_event_name"].encode()))
                while (got := read_frame(s))[0] != DONE:
                    pass
                assert got[1] == 1


def tables_of(db):
    return [name for name, in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' "
                                         "AND sql NOT LIKE 'CREATE VIRTUAL%'")]


def columns_of(db, table):
    return ", ".join(row[1] for row in db.execute(f"PRAGMA table_xinfo({table})") if not row[6])


def store_of_schema_11(now, path):
    """The same rows as in a store of today, in the tables of that time. What is computed now was stored then."""
    db = sqlite3.connect(path, isolation_level=None)
    for name in ("payload_pack", "ulid_text"):
        db.create_function(name, 1, lambda x: x)  # hookd's own; there are no rows yet
    db.execute("PRAGMA page_size = 4096")
    db.execute("PRAGMA auto_vacuum = INCREMENTAL")
    for sql in sorted((ROOT / "schema").glob("00*.sql"))[:11]:
        db.executescript(sql.read_text())
    db.execute("ATTACH ? AS now", (f"file:{now}?mode=ro",))
    db.execute("BEGIN")
    tables = tables_of(db)
    # Triggers have added words by the time their tables' turn comes.
    for table in sorted(tables, key=lambda name: name.startswith(("texts", "words"))):
        columns = columns_of(db, table)
        db.execute(f"DELETE FROM {table}")
        db.execute(f"INSERT INTO {table}({columns}) SELECT {columns} FROM now.{table}")
    db.execute("COMMIT")
    db.execute("PRAGMA user_version = 11")
    db.close()
    os.chmod(path, 0o600)


def rows_of(path, columns=None):
    """({table: its rows}, {table: columns}), of columns that are given, or of those that are stored."""
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    columns = columns or {table: columns_of(db, table) for table in tables_of(db)}
    rows = {table: sorted(db.execute(f"SELECT {names} FROM {table}").fetchall(), key=repr)
            for table, names in columns.items() if table not in CHANGING}
    db.close()
    return rows, columns


@pytest.fixture(scope="module")
def store_11(tmp_path_factory):
    """A store of schema 11 with recorded sessions, what its rows are, and what their columns."""
    path = tmp_path_factory.mktemp("stores") / "hookd.db"
    world = World()
    try:
        world.start()
        replay(world)
        wait_for(lambda: not world.json("jobs", "--kind", "extract", "--json")["jobs"], what="the turns to be looked at")
        world.stop()
        store_of_schema_11(world.dir / "hookd.db", path)
    finally:
        world.close()
    rows, columns = rows_of(path)
    assert min(len(rows[t]) for t in ("events", "activities", "windows", "batches", "turns", "blocks", "texts")) > 2
    return path, rows, columns


def put(world, store):
    world.dir.mkdir(mode=0o700, exist_ok=True)
    for old in world.dir.glob("hookd.db*"):
        old.unlink()
    shutil.copy(store, world.dir / "hookd.db")
    os.chmod(world.dir / "hookd.db", 0o600)


def ask_of(path, sql):
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    rows = db.execute(sql).fetchall()
    db.close()
    return rows


def ask(world, sql):
    return ask_of(world.dir / "hookd.db", sql)


def check_same(world, store, but=("sqlite_",)):
    _, rows, columns = store
    assert world.rpc("check")["ok"]
    world.stop()
    now, _ = rows_of(world.dir / "hookd.db", columns)
    for table in (name for name in rows if not name.startswith(but)):
        assert now[table] == rows[table], table


def test_a_store_of_schema_11_keeps_every_row(world, store_11):
    put(world, store_11[0])
    world.start()
    check_same(world, store_11)
    kinds = dict(ask(world, "SELECT tool, typeof(tool_n) FROM events WHERE tool IS NOT NULL"))
    assert kinds["Bash"] == kinds["run_shell_command"] == "integer" and kinds["mcp__probe__ask"] == "text"
    assert ask(world, "SELECT count(*) FROM activities WHERE lag > 1000000000000 OR took > 1000000000000") == [(0,)]
    assert ask(world, "SELECT count(*) FROM sqlite_schema WHERE name = 'numbers'") == [(0,)]
    assert list((world.dir / "backups").glob("before-migration-from-11-*.db"))
    # And folding everything again gives them once more.
    world.start()
    world.hookd("db", "rebuild")
    wait_for(lambda: not world.json("db", "rebuild", "--dry-run", "--json")["left"], what="everything to be folded again")
    check_same(world, store_11, but=("texts", "words"))  # which are numbered in the order they come
    words = "SELECT kind, row FROM texts ORDER BY kind, row"
    assert ask(world, words) == ask_of(store_11[0], words)


def test_a_store_of_schema_11_is_whole_wherever_its_migration_is_killed(world, store_11):
    for n in range(1, 100):
        put(world, store_11[0])
        p = subprocess.Popen([str(BUILD / "hookd"), "run", "--dir", str(world.dir), "--test-fail", f"migrate:{n}"], env=world.env,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        world.started.append(p)
        wait_for(lambda: p.poll() is not None or (world.dir / "run/hookd.sock").is_socket() and opened(world), what="the daemon")
        if p.poll() is None:  # it lived: all statements have had their turn
            check_same(world, store_11)
            assert n > 20
            return
        world.start()
        check_same(world, store_11)
    raise AssertionError("there is no end to the statements")


@pytest.mark.parametrize("brought_here", [False, True])
def test_what_is_left_of_a_damaged_store_is_found_in_rows_of_either_shape(world, store_11, brought_here):
    """All rows of events are gone: calls and prompts come back from what was made of them."""
    put(world, store_11[0])
    if brought_here:
        world.start()
        world.stop()
    data = (world.dir / "hookd.db").read_bytes()
    for at in leaves_of("events", data):
        data = data[:at] + bytes(4096) + data[at + 4096:]
    (world.dir / "hookd.db").write_bytes(data)
    calls = {(row[0], row[1]) for row in ask_of(store_11[0], "SELECT same, tool FROM activities WHERE started_at IS NOT NULL "
                                                "AND ended_at >= started_at AND kind = 'tool' AND same NOT LIKE '~%'")}
    assert len(calls) > 10
    world.start()
    wait_for(lambda: opened(world), what="the store")
    assert list(world.dir.glob("hookd.db.damaged-*Z"))
    told = [e for e in world.events() if "tool_use_id" in e]
    for kind in ("PreToolUse", "PostToolUse", "PostToolUseFailure"):
        assert {e["tool_use_id"] for e in told if e["event"] == kind}, kind
    assert {(e["tool_use_id"], e["tool"]) for e in told if e["event"] == "PreToolUse"} >= calls
    times = "SELECT same, started_at, ended_at FROM activities WHERE kind = 'tool' AND same NOT LIKE '~%' ORDER BY same"
    world.stop()
    before, after = (dict((r[0], r[1:]) for r in rows) for rows in (ask_of(store_11[0], times), ask(world, times)))
    assert all(after[same] == before[same] for same, _ in calls)

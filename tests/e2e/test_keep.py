"""Keeping what was captured: backup and restore, recovery of damaged stores, purge, retention, migration.

HOOKD_CORRUPTIONS sets how many random corruptions are tried (default 100), HOOKD_SEED another seed."""
import itertools
import json
import os
import pathlib
import random
import secrets
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time

import pytest

from world import BUILD, DONE, ROOT, World, alive, hook, payload, read_done, read_frame, tool, wait_for

CORRUPTIONS = int(os.environ.get("HOOKD_CORRUPTIONS", "100"))
SEED = int(os.environ.get("HOOKD_SEED", "7"))
MIGRATIONS = sorted((ROOT / "schema").glob("*.sql"))


KEYS = itertools.count()


PAGE = 4096  # of the store's file


def send(world, payloads):
    """Sends events over one connection, in order even within a millisecond; how many were acknowledged."""
    stored = 0
    with world.connect() as s:
        for p in payloads:
            key = int(time.time() * 1000).to_bytes(6, "big") + next(KEYS).to_bytes(6, "big") + os.urandom(4)
            s.sendall(hook(json.dumps(p).encode(), event=p["hook_event_name"].encode(), key=key))
            while (got := read_frame(s))[0] != DONE:
                pass
            stored += got[1] > 0
    return stored


def some_work(session="s1", n=20, prompt="make it work", cwd="/tmp"):
    yield payload("SessionStart", session, source="startup", cwd=cwd)
    yield payload("UserPromptSubmit", session, prompt=prompt, cwd=cwd)
    for i in range(n):
        yield tool(f"{session}-{i}", session=session, tool_response={"text": "x" * 300}, cwd=cwd)
    yield payload("Stop", session, last_assistant_message="done", cwd=cwd)
    yield payload("SessionEnd", session, reason="other", cwd=cwd)


def ids(world):
    """Damage that nothing has touched yet is found by whoever reads: that one is told to try again."""
    for _ in range(50):
        done = world.hookd("tail", "--json", "-n", "100000", ok=False)
        if done.returncode == 0:
            return {e["tool_use_id"] for e in map(json.loads, done.stdout.splitlines()) if "tool_use_id" in e}
        assert b"is being repaired; try again" in done.stderr, done
        time.sleep(0.2)
    raise AssertionError(done)


def ask(world, sql, name="hookd.db"):
    """Reads the store of a daemon that is not running."""
    path = world.dir / name
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return db.execute(sql).fetchall()
    finally:
        db.close()


TABLES = {
    "events": "id, ord, at, kind, native, tool, tool_use_id, agent_id, marks, host, payload",
    "sessions": "agent, native_id, cwd, status, started_at, last_at, ended_at, events, prompts, tools, title",
    "activities": "same, ord, kind, tool, class, input, output, state, started_at, ended_at",
    "batches": "ord, number, source, prompt, status, response, activities",
    "windows": "ord, source, started_at, ended_at, end_reason",
}


def contents(path):
    db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    try:
        return {t: sorted(db.execute(f"SELECT {columns} FROM {t}").fetchall(), key=repr) for t, columns in TABLES.items()}
    finally:
        db.close()


# -- backup and restore ------------------------------------------------------------------------------------


def test_backup_while_a_thousand_events_a_second_are_written(world):
    world.start()
    stop = threading.Event()
    sent = []

    def write():
        n = 0
        begin = time.monotonic()
        with world.connect() as s:
            while not stop.is_set():
                s.sendall(hook(json.dumps(tool(n)).encode()))
                assert read_done(s)[:2] == (DONE, 1)
                sent.append(f"t{n}")
                n += 1
                ahead = n / 1000 - (time.monotonic() - begin)
                if ahead > 0:
                    time.sleep(ahead)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        time.sleep(1)
        copies = []
        for _ in range(3):
            before = len(sent)
            made = world.json("backup", "--json")
            copies.append((made, before))
            assert made["events"] >= before
    finally:
        stop.set()
        writer.join()
    for made, before in copies:
        path = pathlib.Path(made["path"])
        assert path.parent == world.dir / "backups" and path.name.startswith("hookd-")
        assert path.stat().st_mode & 0o777 == 0o600
        db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        stored = {r[0] for r in db.execute("SELECT tool_use_id FROM events")}
        db.close()
        assert set(sent[:before]) <= stored
    assert not list((world.dir / "backups").glob("*.part*"))
    assert ids(world) == set(sent)


def test_restore_brings_back_what_was_backed_up(world):
    world.start()
    send(world, some_work("s1"))
    send(world, some_work("s2", prompt="another thing"))
    file = world.top / "copy.db"
    assert world.json("backup", file, "--json")["events"] == 48
    before = contents(file)
    send(world, some_work("s3"))
    assert world.rpc("events", limit=1000)["last"] >= 72
    assert b"would stop" in world.hookd("restore", file, "--dry-run").stdout
    done = world.hookd("restore", file, ok=False)  # no terminal, no --yes
    assert done.returncode == 1 and b"--yes" in done.stderr
    world.stop()
    journal = {p.name for p in (world.dir / "journal").glob("*.j")}
    world.hookd("restore", file, "--yes")
    assert world.pid() and alive(world.pid())
    # What came after the backup is in the journal's open segment and comes back from there; what is in the
    # backup is not doubled by it.
    assert journal
    assert {e["session"] for e in world.events()} == {"s1", "s2", "s3"}
    assert len(world.events()) == 72
    aside = [p for p in world.dir.glob("hookd.db.before-restore-*Z")]
    assert len(aside) == 1
    # Without the journal it is the backup, row by row.
    world.stop()
    for p in (world.dir / "journal").glob("*.j"):
        p.unlink()
    world.hookd("restore", file, "--yes")
    wait_for(lambda: world.status()["store"]["open"], what="the store")
    world.stop()
    assert contents(world.dir / "hookd.db") == before


def test_events_of_the_meantime_are_folded_into_a_restored_store(world):
    world.start()
    send(world, some_work("s1"))
    file = world.top / "copy.db"
    world.hookd("backup", file)
    os.kill(world.pid(), signal.SIGSTOP)
    world.hookc("PostToolUse", tool("later"))
    world.kill()
    assert list((world.dir / "spool").glob("*.j"))
    world.hookd("restore", file, "--yes")
    wait_for(lambda: "tlater" in ids(world), what="the event from the spool")


@pytest.mark.parametrize("kind", ["text", "empty", "foreign", "newer", "damaged", "directory", "missing"])
def test_restore_refuses_and_leaves_everything_as_it_was(world, kind):
    pid = world.start()
    send(world, some_work())
    file = world.top / "x.db"
    if kind == "text":
        file.write_text("Dear diary\n" * 100)
    elif kind == "empty":
        file.write_bytes(b"")
    elif kind == "directory":
        file.mkdir()
    elif kind == "foreign":
        db = sqlite3.connect(file)
        db.execute("CREATE TABLE invoices(n)")
        db.commit()
        db.close()
    elif kind != "missing":
        world.hookd("backup", file)
        if kind == "newer":
            db = sqlite3.connect(file)
            db.execute("PRAGMA user_version = 99")
            db.commit()
            db.close()
        else:
            data = bytearray(file.read_bytes())
            data[len(data) // 2:len(data) // 2 + PAGE] = bytes(PAGE)
            file.write_bytes(data)
    done = world.hookd("restore", file, "--yes", ok=False)
    assert done.returncode == 1 and done.stderr.startswith(b"hookd: cannot restore: "), done
    assert done.stderr.count(b"\n") == 1
    assert world.pid() == pid and alive(pid)
    assert len(world.events()) == 24
    assert not list(world.dir.glob("hookd.db.*"))


def test_backup_does_not_write_over_anything(world):
    world.start()
    send(world, some_work(n=1))
    file = world.top / "mine"
    file.write_text("mine")
    done = world.hookd("backup", file, ok=False)
    assert done.returncode == 1 and b"already exists" in done.stderr and file.read_text() == "mine"
    done = world.hookd("backup", world.top / "no/such/place.db", ok=False)
    assert done.returncode == 1 and done.stderr.startswith(b"hookd: ")
    world.hookd("backup", "relative.db")
    assert (world.top / "relative.db").exists()


def test_automatic_backups_are_three_at_most(world):
    world.start()
    names = set()
    for i in range(5):
        send(world, [tool(i)])
        names.add(pathlib.Path(world.rpc("backup", automatic=True)["path"]).name)
    assert {p.name for p in (world.dir / "backups").iterdir()} == set(sorted(names)[-3:])


# -- recovery -----------------------------------------------------------------------------------------------


def store_files(world):
    return [p for p in world.dir.glob("hookd.db*") if p.suffix in (".db", ".db-wal", ".db-shm")]


@pytest.fixture(scope="module")
def sample():
    """The bytes of a small store that was closed in order, and the ids in it."""
    w = World()
    try:
        w.start()
        send(w, some_work("s1", 12))
        send(w, some_work("s2", 12, prompt="second"))
        found = ids(w)
        w.stop()
        assert not (w.dir / "hookd.db-wal").exists() or not (w.dir / "hookd.db-wal").stat().st_size
        yield (w.dir / "hookd.db").read_bytes(), found
    finally:
        w.close()


def survives(world, n, refused=False):
    """The daemon runs, hookc answers, events are stored, the store is sound."""
    done = world.hookc("PostToolUse", tool(n))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    status = world.status()
    assert status["running"]
    if refused:
        wait_for(lambda: world.status()["store"]["trouble"], what="the refusal")
        return None
    assert f"t{n}" in ids(world), status["store"]
    # Damage that shows only when a page is used again is repaired as soon as somebody looks.
    wait_for(lambda: world.rpc("check")["ok"], what="a sound store")
    return world.status()["store"]["recovery"]


def damage_and_start(world, data, wal=None):
    world.dir.mkdir(mode=0o700, exist_ok=True)
    world.stop()
    for p in [*world.dir.glob("hookd.db*"), *(world.dir / "journal").glob("*"), *(world.dir / "backups").glob("*")]:
        p.unlink()
    (world.dir / "hookd.db").write_bytes(data)
    if wal is not None:
        (world.dir / "hookd.db-wal").write_bytes(wal)
    world.start()


def kept(world):
    return [p for p in world.dir.glob("hookd.db.damaged-*Z")]


def test_truncated_at_every_page_and_between(world, sample):
    data, known = sample
    before = 0
    for at in range(0, len(data), PAGE):
        for cut in (at, at + 17, at + 2048):
            damage_and_start(world, data[:cut])
            text = survives(world, cut)
            if 512 <= cut:
                assert text and kept(world)[0].read_bytes() == data[:cut], cut
        found = len(ids(world) & known)
        assert found >= before, at  # what is longer gives more
        before = found
    assert before > len(known) // 2


def leaves_below(data, page):
    """Offsets of the leaves of a table, from the number of its root on."""
    at = (page - 1) * PAGE
    if data[at] == 13:
        return [at]
    cells = int.from_bytes(data[at + 3:at + 5], "big")
    places = [at + int.from_bytes(data[at + 12 + 2 * i:at + 14 + 2 * i], "big") for i in range(cells)]
    return [leaf for place in [*places, at + 8] for leaf in leaves_below(data, int.from_bytes(data[place:place + 4], "big"))]


def leaves_of(table, data):
    db = sqlite3.connect(":memory:")
    db.deserialize(data[:18] + b"\1\1" + data[20:])  # what is in memory has no WAL
    root = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchone()[0]
    db.close()
    return leaves_below(data, root)


def test_events_whose_rows_are_gone_come_back_from_what_was_made_of_them(world, sample):
    """Calls and prompts are told of on other pages too: shortened, and marked as such, they are still there."""
    data, known = sample
    leaves = leaves_of("events", data)
    assert leaves
    for at in leaves:
        data = data[:at] + bytes(PAGE) + data[at + PAGE:]
    damage_and_start(world, data)
    text = survives(world, 1)
    assert "shortened forms of 26 more" in text and "6 could not be read" in text, text  # starts, stops and ends
    assert {e.get("tool_use_id") for e in world.events() if e["session"] in ("s1", "s2")} >= known
    world.stop()
    rows = ask(world, "SELECT marks & 1, kind FROM events WHERE tool_use_id LIKE 'ts_-%'")
    assert rows == [(1, "PostToolUse")] * len(known)
    assert ask(world, "SELECT prompt FROM batches ORDER BY ord") == [("make it work",), ("second",)]


def test_events_whose_payloads_are_gone_come_back_from_what_was_made_of_them(world):
    """Their rows are there, but not the block that has what they say."""
    world.start()
    send(world, some_work("s1", 12))
    ids(world)
    world.stop()
    assert ask(world, "SELECT count(*) FROM blocks")[0][0]
    data = (world.dir / "hookd.db").read_bytes()
    for at in leaves_of("blocks", data):
        data = data[:at] + bytes([data[at]]) + bytes(PAGE - 1) + data[at + PAGE:]
    damage_and_start(world, data)
    assert "shortened forms of" in survives(world, 1)
    world.stop()
    rows = ask(world, "SELECT marks & 1, kind FROM events WHERE tool_use_id LIKE 'ts1-%'")
    assert rows == [(1, "PostToolUse")] * 12


def test_the_journal_has_the_last_word_on_what_is_left_of_an_event(world):
    """The whole event is in a segment that was not yet deleted: its shortened form does not replace it."""
    world.start()
    send(world, some_work("s1", 12))
    segments = {p: p.read_bytes() for p in (world.dir / "journal").glob("*.j")}
    ids(world)
    world.stop()
    data = (world.dir / "hookd.db").read_bytes()
    for at in leaves_of("events", data):
        data = data[:at] + bytes(PAGE) + data[at + PAGE:]
    (world.dir / "hookd.db").write_bytes(data)
    for p, old in segments.items():
        p.write_bytes(old)
    world.start()
    assert "shortened" in survives(world, 1)
    world.stop()
    rows = ask(world, "SELECT marks & 1, id FROM events WHERE tool_use_id LIKE 'ts1-%'")
    assert [cut for cut, _ in rows] == [0] * 12 and len({key for _, key in rows}) == 12


def test_each_page_zeroed(world, sample):
    data, known = sample
    whole = 0
    for at in range(0, len(data), PAGE):
        bad = data[:at] + bytes(PAGE) + data[at + PAGE:]
        damage_and_start(world, bad)
        text = survives(world, at)
        assert text or world.rpc("check")["ok"], at
        whole += known <= ids(world)
        assert at or known <= ids(world)
        assert {e["agent"] for e in world.events()} <= {"claude", "generic"}
    # Most pages belong to indexes and projections: the events are all there after the loss of one of them, be it
    # the first.
    assert whole > len(data) // PAGE * 2 // 3


def test_header_bits_flipped(world, sample):
    data, known = sample
    for at in range(0, 100):
        bad = bytearray(data)
        bad[at] ^= 1 << (at * 5 % 8)
        damage_and_start(world, bad)
        refused = 60 <= at < 64 and bad[60:64] > data[60:64]  # says it is of a newer release: not touched
        survives(world, at, refused)
        if refused:
            world.stop()
            assert (world.dir / "hookd.db").read_bytes() == bytes(bad)
        elif not kept(world):
            assert known <= ids(world), at


def test_random_corruptions(world, sample):
    data, known = sample
    dice = random.Random(SEED)
    recovered = 0
    for n in range(CORRUPTIONS):
        bad = bytearray(data)
        way = n % 5
        for _ in range(dice.choice((1, 1, 4, 64))):
            at = dice.randrange(100, len(bad))
            if way == 0:
                bad[at] ^= 1 << dice.randrange(8)
            elif way == 1:
                bad[at] = dice.randrange(256)
            elif way == 2:
                size = dice.randrange(1, 5000)
                bad[at:at + size] = bytes(len(bad[at:at + size]))
            elif way == 3:
                size = dice.randrange(1, 600)
                bad[at:at + size] = dice.randbytes(len(bad[at:at + size]))
            else:
                to = dice.randrange(len(bad) // PAGE) * PAGE
                a = at // PAGE * PAGE
                bad[to:to + PAGE] = bad[a:a + PAGE]
        try:
            damage_and_start(world, bytes(bad))
            done = world.hookc("PostToolUse", tool(n))
            assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
            assert f"t{n}" in ids(world), world.status()["store"]
            assert not world.status()["store"]["trouble"]
            recovered += bool(kept(world))
        except BaseException:
            name = f"{tempfile.gettempdir()}/hookd-corruption-{SEED}-{n}"
            shutil.copy(world.dir / "hookd.log", name + ".log")
            pathlib.Path(name + ".db").write_bytes(bad)
            raise
    assert recovered > CORRUPTIONS // 4


def running_with_wal(world, n):
    """A killed daemon: rows in the WAL that are not in the file."""
    world.start()
    send(world, some_work("s1", n))
    ids(world)
    world.kill()
    return (world.dir / "hookd.db").read_bytes(), (world.dir / "hookd.db-wal").read_bytes()


def test_missing_and_foreign_wal_and_shm(world, sample):
    data, known = sample
    _, wal = running_with_wal(world, 30)
    other = World()
    try:
        db2, wal2 = running_with_wal(other, 200)
    finally:
        other.close()
    for i, bad in enumerate((wal, wal2, wal[:len(wal) // 2], wal[:33], b"text" * 999, b"", bytes(40000))):
        damage_and_start(world, data, bad)
        survives(world, i)
    flipped = bytearray(wal)
    for at in (8, 20, 40, 5000, len(wal) // 2):
        flipped[at] ^= 0x10
        damage_and_start(world, data, bytes(flipped))
        survives(world, at)


def test_missing_shm_loses_nothing(world):
    running_with_wal(world, 30)
    (world.dir / "hookd.db-shm").unlink()
    world.start()
    assert len(world.events()) == 34
    assert not kept(world)
    world.kill()
    (world.dir / "hookd.db-shm").write_bytes(b"\xff" * 32768)
    world.start()
    assert len(world.events()) == 34
    assert survives(world, 1) == ""


@pytest.mark.parametrize("what", ["hookd.db", "hookd.db*", "hookd.db-wal", "hookd.db-shm", "hookd.db-*"])
@pytest.mark.parametrize("how", ["deleted", "renamed"])
def test_files_taken_away_while_running(world, what, how):
    world.start()
    send(world, some_work("s1"))
    before = ids(world)
    for p in world.dir.glob(what):
        p.unlink() if how == "deleted" else p.rename(world.top / p.name)
    for n in range(3):
        world.hookc("PostToolUse", tool(n))
    assert ids(world) == before | {"t0", "t1", "t2"}
    if what in ("hookd.db", "hookd.db*"):
        assert "deleted while in use" in world.status()["store"]["recovery"]
    world.hookd("restart")
    assert ids(world) == before | {"t0", "t1", "t2"}
    assert world.rpc("check")["ok"]


def test_another_store_moved_into_place_while_running(world, sample):
    world.start()
    send(world, some_work("mine"))
    ids(world)
    (world.top / "other.db").write_bytes(sample[0])
    os.rename(world.top / "other.db", world.dir / "hookd.db")
    world.hookc("PostToolUse", tool("later"))
    # Whoever reads while it is mended gets old rows rather than none.
    wait_for(lambda: {"tlater", "ts1-3"} <= ids(world), 15, "the event in the other store")
    wait_for(lambda: "replaced while in use" in world.status()["store"]["recovery"], 15, "what status says of it")
    (old,) = [p for p in world.dir.glob("hookd.db.replaced-*") if p.name.endswith("Z")]
    assert len([r for r in contents(old)["events"] if r[6] and r[6].startswith("tmine-")]) == 20
    assert world.rpc("check")["ok"]


def test_overwritten_in_place_while_running(world):
    world.start()
    send(world, some_work("s1", 200))
    world.events()
    with open(world.dir / "hookd.db", "r+b") as f:
        f.write(os.urandom(8192))
    for n in range(3):
        world.hookc("PostToolUse", tool(n))
    wait_for(lambda: {"t0", "t1", "t2"} <= ids(world), 15, "the events")
    world.hookd("restart")
    assert {"t0", "t1", "t2"} <= ids(world)


def foreign(path):
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE invoices(n)")
    db.execute("PRAGMA application_id = 7")
    db.execute("PRAGMA user_version = 1")
    db.commit()
    db.close()


def test_what_is_not_ours_is_not_moved(world):
    world.dir.mkdir(mode=0o700, exist_ok=True)
    foreign(world.dir / "hookd.db")
    before = (world.dir / "hookd.db").read_bytes()
    world.start()
    done = world.hookc("PostToolUse", tool(1))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    status = wait_for(lambda: (s := world.status())["store"]["trouble"] and s, what="the trouble")
    assert "not hookd's" in status["store"]["trouble"] and status["journal"]["unfolded_records"] == 1
    world.stop()
    assert (world.dir / "hookd.db").read_bytes() == before and not list(world.dir.glob("hookd.db.*"))
    (world.dir / "hookd.db").unlink()
    (world.dir / "hookd.db").mkdir()
    world.start()
    wait_for(lambda: world.status()["store"]["trouble"], what="the trouble")
    world.stop()
    (world.dir / "hookd.db").rmdir()
    world.start()
    assert ids(world) == {"t1"}


def test_recovery_takes_the_newest_good_backup_and_adds_what_came_later(world):
    world.start()
    send(world, some_work("s1"))
    good = pathlib.Path(world.rpc("backup", automatic=True)["path"])
    send(world, some_work("s2"))
    bad = pathlib.Path(world.rpc("backup", automatic=True)["path"])
    send(world, some_work("s3"))
    everything = ids(world)
    world.stop()
    bad.write_bytes(bad.read_bytes()[:9000])
    data = (world.dir / "hookd.db").read_bytes()
    (world.dir / "hookd.db").write_bytes(b"\0" * PAGE + data[PAGE:])
    for p in (world.dir / "journal").glob("*.j"):
        p.unlink()
    world.start()
    text = survives(world, "new")
    assert good.name in text
    assert {i for i in everything if "s1" in i} <= ids(world)
    assert "recovery" in world.hookd("status").stdout.decode()
    world.stop()
    assert "backup" in ask(world, "SELECT value FROM facts WHERE name = 'recovery'")[0][0]


def test_db_repair(world, sample):
    damage_and_start(world, sample[0])
    assert world.hookd("db", "repair").stdout == b"the store is sound\n"
    world.stop()
    # An index that does not say what its table says: no page is bad, only integrity_check sees it.
    db = sqlite3.connect(world.dir / "hookd.db")
    db.execute("PRAGMA writable_schema = ON")
    db.execute("UPDATE sqlite_schema SET sql = 'CREATE INDEX sessions_native ON sessions(agent)' WHERE name = 'sessions_native'")
    db.commit()
    db.close()
    world.start()
    done = world.hookd("db", "repair", "--dry-run", ok=False)
    assert done.returncode == 1 and b"would set it aside" in done.stdout and not kept(world)
    done = world.hookd("db", "repair")
    assert b"it was repaired" in done.stdout and len(kept(world)) == 1
    assert sample[1] <= ids(world)
    assert world.hookd("db", "check").stdout == b"the store is sound\n"


# -- purge --------------------------------------------------------------------------------------------------

MARKER = b"Zaubernuss-4711"


def marked(n, session):
    return payload("UserPromptSubmit", session, prompt=f"about {MARKER.decode()} and \"quotes\" {n}")


def traces(world):
    """Files that hold the marker as it was written, or as the index of words has it."""
    return sorted({*world.contains(MARKER), *world.contains(MARKER.split(b"-")[0].lower())})


def prepare_marked(world):
    world.start()
    send(world, some_work("keep"))
    for n in range(30):
        send(world, [marked(n, "doomed"), tool(f"d{n}", session="doomed", tool_response={"text": MARKER.decode() * n})])
    send(world, [payload("UserPromptSubmit", "keep", prompt="harmless"), marked(99, "keep")])
    world.rpc("backup", automatic=True)
    world.hookd("restart")
    send(world, [marked(100, "doomed")])
    os.kill(world.pid(), signal.SIGSTOP)  # one event in the spool
    try:
        world.hookc("UserPromptSubmit", marked(101, "doomed"))
    finally:
        os.kill(world.pid(), signal.SIGCONT)


def test_purge_leaves_no_trace(world):
    prepare_marked(world)
    assert len({p.parent.name for p in traces(world)}) >= 3
    preview = world.json("purge", "--match", MARKER.decode(), "--dry-run", "--json")
    assert preview["sessions"] == 2 and preview["events"] >= 60 and preview["bytes"] > 0 and preview["examples"]
    done = world.hookd("purge", "--match", MARKER.decode(), ok=False)
    assert done.returncode == 1 and b"--yes" in done.stderr and traces(world)
    world.json("purge", "--match", MARKER.decode(), "--yes", "--json")
    assert traces(world) == []
    left = world.events()
    assert len([e for e in left if e["session"] == "keep"]) == 25
    assert [e["tool_use_id"] for e in left if e["session"] == "doomed"] == ["td0"]
    assert world.rpc("check")["ok"]
    assert len(list((world.dir / "backups").glob("auto-*.db"))) == 1
    world.hookc("PostToolUse", tool("after"))
    world.hookd("restart")
    assert traces(world) == [] and "tafter" in ids(world)


def test_purge_of_sessions(world):
    prepare_marked(world)
    file = world.dir / "backups" / "mine.db"
    world.hookd("backup", file)
    result = world.json("purge", "--session", "doomed", "--yes", "--json")
    assert result["sessions"] == 1 and str(file) in result["copies"]
    assert {e["session"] for e in world.events()} == {"keep"}
    world.json("purge", "--session", "keep", "--yes", "--keep-backups", "--json")
    assert world.events() == [] and world.json("sessions", "--json")["sessions"] == []
    assert list((world.dir / "backups").glob("auto-*"))
    world.json("purge", "--agent", "claude", "--yes", "--all-copies", "--json")
    assert not file.exists() and traces(world) == []
    world.stop()
    assert ask(world, "SELECT count(*) FROM projects") == [(0,)] and ask(world, "SELECT count(*) FROM directories") == [(0,)]


def test_purge_takes_what_sessions_prints_and_says_when_nothing_matches(world):
    world.start()
    for name in ("11111111-aaaa-4000-8000-000000000001", "22222222-aaaa-4000-8000-000000000002",
                 "22222223-aaaa-4000-8000-000000000003"):
        send(world, some_work(name, 1))
    shown = world.hookd("sessions").stdout.decode().splitlines()[1:]
    prefix = next(word for line in shown for word in line.split() if word.startswith("11111111"))
    assert len(prefix) < 36
    preview = world.json("purge", "--session", prefix, "--dry-run", "--json")
    assert preview["sessions"] == preview["tombstones"] == 1
    assert "1 tombstones" in world.hookd("purge", "--session", prefix, "--dry-run").stdout.decode()
    world.hookd("purge", "--session", prefix, "--yes")
    assert {s["id"][:8] for s in world.json("sessions", "--json")["sessions"]} == {"22222222", "22222223"}
    for args, words in ((["--session", prefix], "there is no session"), (["--session", "2222222"], "several sessions"),
                        (["--project", "nowhere"], "there is no project"), (["--agent", "codex"], "nothing matches"),
                        (["--match", "never written"], "nothing matches")):
        for more in ([], ["--json"], ["--dry-run"]):
            done = world.hookd("purge", *args, *more, "--yes", ok=False)
            assert done.returncode == 1 and words in done.stderr.decode() and "hookd" in done.stderr.decode(), (args, done)
    assert len(world.json("sessions", "--json")["sessions"]) == 2


def test_purge_by_project_agent_and_age(world):
    world.start()
    for name in ("alpha", "beta"):
        (world.top / name / "sub").mkdir(parents=True)
        (world.top / name / ".git").mkdir()
        send(world, some_work(name, 2, cwd=str(world.top / name / "sub")))
    world.hookc("PostToolUse", tool(1, session="x"), agent="gemini")
    sessions = lambda: {s["id"] for s in world.json("sessions", "--json")["sessions"]}  # noqa: E731
    assert world.hookd("purge", "--project", "alpha", "--before", "1d", "--dry-run", "--json", ok=False).returncode == 1
    world.hookd("purge", "--project", "alpha", "--yes")
    assert sessions() == {"beta", "x"}
    world.hookd("purge", "--agent", "gemini", "--before", "2099-01-01", "--yes")
    assert sessions() == {"beta"}
    world.hookd("purge", "--project", world.top / "beta", "--before", "0s", "--yes")
    assert sessions() == set()
    for args in ([], ["--before", "yesterday"], ["--match", ""]):
        assert world.hookd("purge", *args, "--yes", ok=False).returncode == 64


# -- retention ------------------------------------------------------------------------------------------------


def aged(world, changes):
    """Changes the rows of a store that lies still."""
    world.stop()
    db = sqlite3.connect(world.dir / "hookd.db")
    for sql, *args in changes:
        db.execute(sql, args)
    db.commit()
    db.close()


def test_retention_by_days(world):
    world.dir.mkdir(mode=0o700, exist_ok=True)
    (world.dir / "config.json").write_text('{"retention": {"days": 30}}')
    world.start()
    for name in ("old", "older", "active", "young"):
        send(world, some_work(name, 3))
    long_ago = int((time.time() - 40 * 86400) * 1e6)
    aged(world, [("UPDATE sessions SET last_at = ? WHERE native_id <> 'young'", long_ago),
                 ("UPDATE sessions SET status = 'active' WHERE native_id = 'active'",),
                 ("UPDATE projects SET named = 1",)])
    world.start()
    plan = world.json("retention", "--dry-run", "--json")
    assert plan["days"] == 30 and plan["beyond"]["sessions"] == 2 and plan["used_bytes"] > 0
    assert world.json("retention", "--json")["deleted"] == {"sessions": 2, "events": 14}
    assert {e["session"] for e in world.events()} == {"active", "young"}
    assert world.json("retention", "--json")["deleted"]["sessions"] == 0
    assert "for 30 days" in world.hookd("retention", "--dry-run").stdout.decode()


def test_retention_by_size_and_a_bounded_wal(world):
    world.dir.mkdir(mode=0o700, exist_ok=True)
    (world.dir / "config.json").write_text('{"store": {"max_mb": 16}}')
    world.start()
    for n in range(30):
        send(world, [tool(f"{n}-{i}", session=f"s{n:02}", tool_response={"text": secrets.token_urlsafe(60000)}) for i in range(20)] +
             [payload("SessionEnd", f"s{n:02}", reason="other")])
    plan = world.json("retention", "--dry-run", "--json")
    assert plan["used_bytes"] > plan["max_bytes"] and 3 < plan["beyond"]["sessions"] < 28
    done = world.json("retention", "--json")
    assert done["used_bytes"] <= 16 << 20 and done["deleted"]["sessions"] > 3
    left = sorted({e["session"] for e in world.events()})
    assert left == [f"s{n:02}" for n in range(30 - len(left), 30)] and len(left) > 2  # the newest stay
    assert (world.dir / "hookd.db-wal").stat().st_size < 64 << 20
    world.stop()
    assert (world.dir / "hookd.db").stat().st_size < 20 << 20


# -- migration ------------------------------------------------------------------------------------------------


def store_of_release_one(path):
    db = sqlite3.connect(path)
    db.execute("PRAGMA auto_vacuum = INCREMENTAL")
    db.executescript(MIGRATIONS[0].read_text())
    db.execute("INSERT INTO sessions(key, agent, native_id, started_at, last_at, events) VALUES (1, 'claude', 's1', 1, 2, 3)")
    for n in range(3):
        db.execute("INSERT INTO events(id, ord, at, session, kind, native, tool, tool_use_id, payload) "
                   "VALUES (?, ?, ?, 1, 'PostToolUse', 'PostToolUse', 'Read', ?, ?)",
                   (bytes([n]) * 16, n, n, f"t{n}", json.dumps(tool(n))))
    db.execute("PRAGMA user_version = 1")
    db.commit()
    db.close()


def test_migration_killed_at_every_statement(world):
    world.dir.mkdir(mode=0o700, exist_ok=True)
    path = world.dir / "hookd.db"
    killed = 0
    for n in range(1, 500):
        for p in [*world.dir.glob("hookd.db*"), *(world.dir / "backups").glob("*")]:
            p.unlink()
        store_of_release_one(path)
        p = subprocess.Popen([str(BUILD / "hookd"), "run", "--dir", str(world.dir), "--test-fail", f"migrate:{n}"],
                             env=world.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        world.started.append(p)
        wait_for(lambda: p.poll() is not None or world_is_migrated(path), what="the migration or its end")
        time.sleep(0.02)
        if p.poll() is None:
            p.terminate()
            p.wait()
            break
        assert p.returncode == -signal.SIGKILL
        killed += 1
        (copy,) = (world.dir / "backups").glob("before-migration-from-1-*.db")
        assert ask(world, "SELECT count(*) FROM events", copy) == [(3,)]
        assert ask(world, "PRAGMA user_version", copy) == [(1,)]
        db = sqlite3.connect(path)
        assert db.execute("PRAGMA user_version").fetchone()[0] in range(1, len(MIGRATIONS) + 1)
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        db.close()
        if n % 7 == 0 or n < 4:
            world.start()
            assert ids(world) == {"t0", "t1", "t2"}
            assert not kept(world) and world.rpc("check")["ok"]
            world.stop()
    assert killed > 40


def world_is_migrated(path):
    try:
        db = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=0.1)
        try:
            return db.execute("PRAGMA user_version").fetchone()[0] == len(MIGRATIONS)
        finally:
            db.close()
    except sqlite3.Error:
        return False


@pytest.mark.parametrize("index", ("activities_session", "sqlite_autoindex_sessions_1"))
def test_a_damaged_index_is_found_after_a_crash_and_built_again(world, index):
    """An entry that points to another row: every page is as SQLite writes it, and only the contents disagree."""
    world.start()
    for n in range(60):
        world.hookc("PostToolUse", tool(n, session=f"s{n % 7}"))
    assert len(world.events()) == 60
    world.stop()
    with sqlite3.connect(world.dir / "hookd.db") as db:
        row = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (index,)).fetchone()
        size = db.execute("PRAGMA page_size").fetchone()[0]
    if not row:
        pytest.skip("there is no such index")
    with open(world.dir / "hookd.db", "r+b") as f:
        f.seek((row[0] - 1) * size)
        page = bytearray(f.read(size))
        assert page[0] == 10  # a leaf of an index
        page[-1] ^= 3  # the rowid of the first entry that was made
        f.seek((row[0] - 1) * size)
        f.write(page)
    world.start()
    world.hookc("PostToolUse", tool("crash"))
    assert len(world.events()) == 61
    world.kill()
    world.start()
    wait_for(lambda: "has been built again" in world.status()["store"]["recovery"], what="the damage to be found")
    assert len(world.events()) == 61
    assert world.rpc("check")["ok"]

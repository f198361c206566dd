"""A disk that is full, read-only, or fails at the n-th call; stores and journals that are damaged."""
import json
import os
import sqlite3
import signal
import struct
import subprocess
import time

import pytest

from world import BUILD, DONE, ROOT, WAIT, hook, payload, read_done, read_frame, tool, wait_for

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")


@pytest.fixture
def small(world):
    """A world whose directory is a real ext4 file system of 12 MB."""
    image = world.top / "image"
    with open(image, "wb") as f:
        f.truncate(12 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", str(image)], check=True)
    world.dir.mkdir(exist_ok=True)
    done = subprocess.run(["mount", "-o", "loop", str(image), str(world.dir)], capture_output=True)
    if done.returncode:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "hookd-test", str(world.dir)], check=True)
    world.dir.chmod(0o700)
    yield world
    world.stop()
    wait_for(lambda: not world.daemons(), what="the daemon to end")
    subprocess.run(["umount", str(world.dir)], check=True)


def fill(directory):
    """Takes every free byte, in ever smaller pieces."""
    path = directory / "filler"
    with open(path, "ab", buffering=0) as f:
        size = 1 << 20
        while size:
            try:
                f.write(b"\1" * size)
            except OSError:
                size //= 2
    return path


@root_only
def test_full_disk_holds_nobody_up_and_ends_by_itself(small):
    small.start()
    for n in range(20):
        small.hookc("PostToolUse", tool(n))
    assert len(small.events()) == 20
    filler = fill(small.dir)
    refused = 0
    with small.connect() as s:
        for n in range(20, 60):
            s.sendall(hook(json.dumps(tool(n, tool_response={"text": "x" * 20000})).encode()))
            kind, stored, *_ = read_frame(s)
            while kind == WAIT:
                kind, stored, *_ = read_frame(s)
            assert kind == DONE
            refused += stored == 0
    assert refused > 0
    # Rules decide as always, and the agent sees nothing of the trouble.
    done = small.hookc("PreToolUse", payload("PreToolUse", tool_name="Bash", tool_use_id="u",
                                             tool_input={"command": "hookd-selftest-deny"}))
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"
    status = small.status()
    assert status["events"]["unstored"] >= refused
    assert b"TROUBLE" in small.hookd("status").stdout
    assert b"cannot be written: No space" in small.hookd("logs").stdout
    filler.unlink()

    def works_again():
        with small.connect() as s:
            s.sendall(hook(json.dumps(tool(1000)).encode(), key=b"\2" * 16))
            return read_frame(s)[1] == 1

    wait_for(works_again, 5, "the journal to work again without a restart")
    wait_for(lambda: small.status()["store"]["trouble"] == "", 10, "the store to work again")
    ids = [e["tool_use_id"] for e in small.events()]
    assert len(ids) == len(set(ids))
    assert {f"t{n}" for n in range(20)} | {"t1000"} <= set(ids)
    assert small.rpc("check")["ok"]


@root_only
def test_full_disk_with_no_daemon(small):
    small.start()
    small.stop()
    fill(small.dir)
    done = small.hookc("PostToolUse", tool(1))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@root_only
def test_read_only_file_system(small):
    small.start()
    small.stop()
    subprocess.run(["mount", "-o", "remount,ro", str(small.dir)], check=True)
    done = small.hookc("PostToolUse", tool(1))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert small.hookd("start", ok=False).returncode == 1
    subprocess.run(["mount", "-o", "remount,rw", str(small.dir)], check=True)
    small.hookd("start")


def start_with_fault(world, fault):
    """A daemon whose calls fail as told. False when it could not even start."""
    p = subprocess.Popen([str(BUILD / "hookd"), "run", "--dir", str(world.dir), "--test-fail", fault], env=world.env,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    world.started.append(p)
    path = world.dir / "run/hookd.sock"
    wait_for(lambda: path.is_socket() or p.poll() is not None, what="the daemon")
    # It listens before it opens the journal, and may end over that.
    log = world.dir / "hookd.log"
    wait_for(lambda: p.poll() is not None or (log.exists() and "listens at" in log.read_text()), what="the daemon to be up")
    return p.poll() is None


def run_with_fault(world, fault, n=30):
    """Sends n events to a daemon whose calls fail as told; the acknowledged ones."""
    acknowledged = set()
    if not start_with_fault(world, fault):
        return acknowledged, False
    with world.connect() as s:
        for i in range(n):
            s.sendall(hook(json.dumps(tool(i)).encode()))
            kind, stored, *_ = read_frame(s)
            while kind == WAIT:
                kind, stored, *_ = read_frame(s)
            assert kind == DONE
            if stored:
                acknowledged.add(f"t{i}")
    return acknowledged, True


@pytest.mark.parametrize("call", ["write", "fsync", "truncate", "commit"])
@pytest.mark.parametrize("nth", ["1", "2", "3", "5", "8", "13", "21", "2+"])
def test_the_nth_call_fails(world, call, nth):
    acknowledged, started = run_with_fault(world, f"{call}:{nth}" + (f",write:{nth}" if call == "truncate" else ""))
    pid = world.pid()
    if started:
        world.kill(pid)
    world.hookd("start")  # without the fault: recovery must find everything acknowledged
    ids = [e["tool_use_id"] for e in world.events()]
    assert len(ids) == len(set(ids))
    assert acknowledged <= set(ids)
    assert world.rpc("check")["ok"]


def journal_segments(world):
    return sorted((world.dir / "journal").glob("*.j"))


def read_answer(s):
    """Past the frames that only say that it takes a while."""
    while (frame := read_frame(s))[0] == WAIT:
        pass
    return frame


def events_left_in_journal(world, n=10):
    """A dead daemon that has folded nothing: its store says no, its journal says yes."""
    assert start_with_fault(world, "commit:1+")
    with world.connect() as s:
        for i in range(n):
            s.sendall(hook(json.dumps(tool(i)).encode()))
            assert read_done(s)[:2] == (DONE, 1)
    world.kill()


def test_replay_after_a_crash(world):
    events_left_in_journal(world)
    world.hookd("start")
    assert [e["tool_use_id"] for e in world.events()] == [f"t{i}" for i in range(10)]
    wait_for(lambda: len(journal_segments(world)) == 1, what="the old segment to go, after a checkpoint")


@pytest.mark.parametrize("tail", [b"", bytes(7), bytes(5000)], ids=["the file ends", "zeros to its end", "zeros follow"])
def test_torn_tail_is_normal(world, tail):
    events_left_in_journal(world)
    path = journal_segments(world)[-1]
    data = path.read_bytes().rstrip(b"\0")
    path.write_bytes(data[:-7] + tail)
    world.hookd("start")
    assert [e["tool_use_id"] for e in world.events()] == [f"t{i}" for i in range(9)]
    assert world.status()["store"]["damaged"] == 0


def test_records_behind_a_page_that_never_reached_the_disk_are_set_aside(world):
    events_left_in_journal(world)
    path = journal_segments(world)[-1]
    data = path.read_bytes().rstrip(b"\0")
    cut = 32 + (struct.unpack("<I", data[32:36])[0] + 8) * 2  # two records of one size, then zeros, then the rest
    path.write_bytes(data[:cut] + bytes(512) + data[cut:])
    world.hookd("start")
    assert [e["tool_use_id"] for e in world.events()] == ["t0", "t1"]
    assert list((world.dir / "journal").glob("*.damaged"))
    assert world.status()["store"]["damaged"] == 1


def test_a_flipped_bit_ends_that_segment_only_and_is_reported(world):
    events_left_in_journal(world)
    first = journal_segments(world)[-1]
    data = bytearray(first.read_bytes())
    data[len(data.rstrip(b"\0")) // 2] ^= 4
    first.write_bytes(data)
    world.hookd("start")
    world.hookc("PostToolUse", tool(99))
    ids = [e["tool_use_id"] for e in world.events()]
    assert "t99" in ids and "t0" in ids and len(ids) < 11
    assert list((world.dir / "journal").glob("*.damaged"))
    assert world.status()["store"]["damaged"] == 1
    assert b"TROUBLE" in world.hookd("status").stdout


def test_a_foreign_file_in_the_journal_and_spool(world):
    world.start()
    world.stop()
    (world.dir / "journal/0000000000000002.j").write_bytes(b"hello")
    (world.dir / "journal/notes.txt").write_bytes(b"mine")
    (world.dir / "spool/01ARZ3NDEKTSV4RRFFQ69G5FAV.j").write_bytes(b"torn")
    (world.dir / "spool/readme").write_bytes(b"mine")
    world.hookd("start")
    world.hookc("PostToolUse", tool(1))
    assert len(world.events()) == 1
    assert (world.dir / "journal/notes.txt").exists() and (world.dir / "spool/readme").exists()
    wait_for(lambda: (world.dir / "spool/01ARZ3NDEKTSV4RRFFQ69G5FAV.j.damaged").exists(), what="the file set aside")


@pytest.mark.parametrize("contents", [b"", b"this is no database\n" * 100, b"SQLite format 3\0" + b"\0" * 84])
def test_a_store_that_is_none(world, contents):
    world.dir.mkdir(mode=0o700, exist_ok=True)
    (world.dir / "hookd.db").write_bytes(contents)
    world.start()
    done = world.hookc("PostToolUse", tool(1))
    assert (done.returncode, done.stdout) == (0, b"")
    if contents:  # set aside, never deleted, and said so
        wait_for(lambda: world.status()["store"]["recovery"], what="the recovery")
        (aside,) = world.dir.glob("hookd.db.damaged-*Z")
        assert aside.read_bytes() == contents
    assert len(world.events()) == 1


def test_a_store_of_a_newer_release_is_not_touched(world):
    world.hookc("PostToolUse", tool(1))
    world.events()
    world.stop()
    db = sqlite3.connect(world.dir / "hookd.db")
    db.execute("PRAGMA user_version = 999")
    db.commit()
    db.close()
    before = (world.dir / "hookd.db").read_bytes()
    world.start()
    world.hookc("PostToolUse", tool(2))
    status = wait_for(lambda: (s := world.status())["store"]["trouble"] and s, what="the trouble")
    assert "newer hookd" in status["store"]["trouble"] and "upgrade" in status["store"]["trouble"]
    world.stop()
    assert (world.dir / "hookd.db").read_bytes() == before


def test_many_copies_of_one_spool_file_are_one_event(world):
    world.start()
    os.kill(world.pid(), signal.SIGSTOP)
    try:
        world.hookc("PostToolUse", tool(1))
        (one,) = (world.dir / "spool").glob("*.j")
        data = one.read_bytes()
    finally:
        os.kill(world.pid(), signal.SIGCONT)
    wait_for(lambda: len(world.events()) == 1, what="the event")
    world.stop()
    for n in range(3000):
        (world.dir / f"spool/{n:026d}.j").write_bytes(data)
    world.hookd("start")
    wait_for(lambda: not list((world.dir / "spool").glob("*.j")), what="the spool to empty")
    assert len(world.events()) == 1
    assert world.status()["store"]["doubled"] >= 3000


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as f:
        words = f.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def send(world, n):
    with world.connect() as s:
        s.sendall(hook(json.dumps(tool(n)).encode()))
        return read_frame(s)[:2]


def test_a_commit_that_failed_is_tried_again_and_readers_wait_for_it(world):
    assert start_with_fault(world, "commit:1")
    assert send(world, 1) == (DONE, 1)
    wait_for(lambda: b"cannot be folded" in (world.dir / "hookd.log").read_bytes(), 5, "the failed commit")
    assert [e["tool_use_id"] for e in world.events()] == ["t1"]
    assert world.status()["store"]["trouble"] == ""


def test_a_current_segment_that_is_damaged_is_left_and_nothing_spins(world):
    pid = world.start()
    assert send(world, 1) == (DONE, 1)
    assert len(world.events()) == 1
    os.kill(pid, signal.SIGSTOP)  # the reply must not be waited for: the writer would be faster
    with world.connect() as s:
        s.sendall(hook(json.dumps(tool(2)).encode()))
        os.kill(pid, signal.SIGCONT)
        assert read_done(s)[:2] == (DONE, 1)
        path = journal_segments(world)[-1]
        with open(path, "r+b") as f:
            f.seek(len(path.read_bytes().rstrip(b"\0")) - 5)
            f.write(b"\0\1\2\3\4")
    world.hookd("rpc", "sessions", "{}")  # whoever reads has everything folded first
    wait_for(lambda: "damaged" in world.status()["store"]["trouble"], 5, "the damage to be seen")
    before = cpu_seconds(pid)
    time.sleep(1)
    assert cpu_seconds(pid) - before < 0.3
    assert send(world, 3) == (DONE, 1)
    assert [e["tool_use_id"] for e in world.events()] == ["t1", "t3"]
    status = world.status()["store"]
    assert (status["trouble"], status["damaged"]) == ("", 1)
    assert list((world.dir / "journal").glob("*.damaged"))


def test_the_journal_is_deleted_under_the_daemon(world):
    world.start()
    assert send(world, 1) == (DONE, 1)
    assert len(world.events()) == 1  # the writer has the file open
    for p in (world.dir / "journal").iterdir():
        p.unlink()
    (world.dir / "journal").rmdir()
    assert send(world, 2) == (DONE, 1)
    time.sleep(2.2)  # a sync, which notices
    assert send(world, 3) == (DONE, 1)
    world.kill()
    world.hookd("start")
    assert [e["tool_use_id"] for e in world.events()] == ["t1", "t2", "t3"]


def test_torn_spool_files_are_kept_and_reported(world):
    world.start()
    os.kill(world.pid(), signal.SIGSTOP)
    try:
        world.hookc("PostToolUse", tool(1))
        (one,) = (world.dir / "spool").glob("*.j")
        data = one.read_bytes()
    finally:
        os.kill(world.pid(), signal.SIGCONT)
    wait_for(lambda: len(world.events()) == 1, what="the event")
    wait_for(lambda: not list((world.dir / "spool").glob("*.j")), what="an empty spool")
    temp = world.dir / "spool/.x"
    temp.write_bytes(data[:-9])
    temp.rename(world.dir / "spool/01ARZ3NDEKTSV4RRFFQ69G5FAV.j")
    wait_for(lambda: (world.dir / "spool/01ARZ3NDEKTSV4RRFFQ69G5FAV.j.damaged").exists(), 5, "the file set aside")
    wait_for(lambda: world.status()["store"]["damaged"] == 1, 5, "the report")


@pytest.mark.parametrize("fault, promised", [("commit:1+", 2), ("fsync:1+", 1)])
def test_strict_durability_promises_what_was_synced_and_waits_for_no_store(world, fault, promised):
    world.dir.mkdir(mode=0o700, exist_ok=True)
    (world.dir / "config.json").write_text('{"durability": "strict"}')
    assert start_with_fault(world, fault)
    for n in range(3):
        with world.connect() as s:
            s.sendall(hook(json.dumps(tool(n)).encode()))
            kind, stored, *_ = read_frame(s)
            while kind == WAIT:
                kind, stored, *_ = read_frame(s)
        assert (kind, stored) == (DONE, promised)
    done = world.hookc("PostToolUse", tool(3))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    trouble = world.status()["journal"]["trouble"]
    assert ("cannot be synced" in trouble) == (promised == 1)
    assert (b"cannot be synced" in world.hookd("status").stdout) == (promised == 1)
    world.stop()
    world.hookd("start")
    assert [e["tool_use_id"] for e in world.events()] == ["t0", "t1", "t2", "t3"]


def test_a_daemon_whose_disk_hangs_ends_when_asked_to(world):
    assert start_with_fault(world, "hang:1")
    pid = world.pid()
    for n in range(3):
        assert world.hookc("PostToolUse", tool(n)).returncode == 0
    os.kill(pid, signal.SIGTERM)
    wait_for(lambda: not world.daemons(), 20, "the daemon to end")
    world.hookd("start")
    assert [e["tool_use_id"] for e in world.events()] == ["t0", "t1", "t2"]


def test_a_failed_statement_in_a_migration_is_no_damage(world):
    world.dir.mkdir(mode=0o700, exist_ok=True)
    db = sqlite3.connect(world.dir / "hookd.db")
    db.execute("PRAGMA auto_vacuum = INCREMENTAL")
    for sql in sorted((ROOT / "schema").glob("000[1-5]_*.sql")):
        db.executescript(sql.read_text())
    db.execute("PRAGMA user_version = 5")
    db.close()
    (world.dir / "hookd.db").chmod(0o600)
    assert start_with_fault(world, "migrate-io:2+")
    assert world.hookc("PostToolUse", tool(1)).returncode == 0
    wait_for(lambda: "migration 0006" in world.status()["store"]["trouble"], what="the trouble to be told")
    assert not list(world.dir.glob("hookd.db.damaged*"))
    world.stop()
    world.start()
    assert [e["tool_use_id"] for e in world.events()] == ["t1"]


def test_a_limit_on_file_sizes_is_like_a_full_disk(world):
    hookd = str(world.build / "hookd")
    subprocess.run(["/bin/sh", "-c", f"ulimit -f 400; exec {hookd} start"], env=world.env, check=True, timeout=30)
    pid = world.pid()
    stored = set()
    with world.connect() as s:
        for n in range(30):
            s.sendall(hook(json.dumps(tool(n, tool_response={"text": "x" * 20000})).encode()))
            kind, kept, *_ = read_frame(s)
            while kind == WAIT:
                kind, kept, *_ = read_frame(s)
            assert kind == DONE
            stored.add(kept)
    assert stored == {1}  # what the journal cannot take, small files in the spool can
    assert world.status()["events"]["to_spool"] > 0
    assert world.daemons() == [pid]


def frame_of(world, n, deadline_ms=60000):
    with world.connect() as s:
        s.sendall(hook(json.dumps(tool(n)).encode(), deadline_ms=deadline_ms))
        kind, stored, *_ = read_frame(s)
        while kind == WAIT:
            kind, stored, *_ = read_frame(s)
    return kind, stored


@pytest.mark.parametrize("durability, promised", [("normal", 1), ("strict", 2)])
def test_what_the_journal_cannot_take_goes_to_the_spool(world, durability, promised):
    world.dir.mkdir(mode=0o700, exist_ok=True)
    (world.dir / "config.json").write_text(json.dumps({"durability": durability}))
    assert start_with_fault(world, "write:2+,commit:1+")  # the store takes nothing either, so that files stay where they are
    assert [frame_of(world, n) for n in range(3)] == [(DONE, promised)] * 3
    assert "journal cannot be written" in world.status()["journal"]["trouble"]
    assert len(list((world.dir / "spool").glob("*.j"))) == 3
    world.kill()
    world.hookd("start")
    wait_for(lambda: [e["tool_use_id"] for e in world.events()] == ["t0", "t1", "t2"], what="all of them, in order")


def test_with_neither_journal_nor_spool_the_answer_says_so(world):
    assert start_with_fault(world, "write:2+,spool:1+")
    assert frame_of(world, 0) == (DONE, 0)
    assert world.status()["events"]["unstored"] == 1


def test_a_slow_sync_keeps_the_callers_deadline_and_says_journaled(world):
    """fsync-hang: the sync thread never comes back from it."""
    world.dir.mkdir(mode=0o700, exist_ok=True)
    (world.dir / "config.json").write_text('{"durability": "strict"}')
    assert start_with_fault(world, "fsync-hang:1")
    before = time.monotonic()
    assert frame_of(world, 0, deadline_ms=150) == (DONE, 1)
    short = time.monotonic() - before
    before = time.monotonic()
    assert frame_of(world, 1, deadline_ms=60000) == (DONE, 1)
    assert short < time.monotonic() - before


def test_segments_without_anything_in_them_are_no_damage(world):
    world.start()
    world.kill()
    (world.dir / "journal/00000000000000f0.j").write_bytes(b"")
    (world.dir / "journal/00000000000000f1.j").write_bytes(bytes(8192))
    world.hookd("start")
    assert send(world, 1) == (DONE, 1)
    assert [e["tool_use_id"] for e in world.events()] == ["t1"]
    wait_for(lambda: len(journal_segments(world)) == 1, what="the empty ones to be deleted")
    store = world.status()["store"]
    assert (store["damaged"], store["missing"]) == (0, 0)
    assert not list((world.dir / "journal").glob("*.damaged"))


@pytest.mark.parametrize("how, missing", [("cut", 1), ("between", 1), ("flipped", 6)])
def test_what_may_be_missing_from_a_segment_is_counted(world, how, missing):
    """Of ten records: the file ends within the fifth, or right before it; a bit of the fifth is flipped, and five more
    follow."""
    events_left_in_journal(world)
    path = journal_segments(world)[-1]
    data = bytearray(path.read_bytes().rstrip(b"\0"))
    starts = [32]
    while starts[-1] < len(data):
        starts.append(starts[-1] + 8 + int.from_bytes(data[starts[-1]:starts[-1] + 4], "little"))
    assert len(starts) == 11
    if how == "cut":
        del data[starts[4] + 20:]
    elif how == "between":
        del data[starts[4]:]
    else:
        data[starts[4] + 20] ^= 1
    path.write_bytes(data)
    world.hookd("start")
    assert [e["tool_use_id"] for e in world.events()] == ["t0", "t1", "t2", "t3"]
    assert world.status()["store"]["missing"] == missing
    assert f"{missing} or more events may be missing".encode() in world.hookd("status").stdout


def test_left_over_temporary_files_are_deleted(world):
    world.start()
    world.stop()
    (world.dir / "backups").mkdir(exist_ok=True)
    old = ["spool/.01ARZ3NDEKTSV4RRFFQ69G5FAV.tmp", "backups/auto-2026.db.part", "backups/auto-2026.db.part-journal", "hookd.db.restoring",
           "hookd.db.renewing", "config.json.hookd-AbCdEf", "run/x.hookd-123456"]
    others = ["spool/x.txt", "backups/mine.db", "hookd.db.mine", "notes.hookd"]
    fresh = ["spool/.01ARZ3NDEKTSV4RRFFQ69G5FAW.tmp"]  # its writer may still be at it
    for name in old + others + fresh:
        (world.dir / name).write_bytes(b"x")
        os.utime(world.dir / name, None if name in fresh else (1, 1))
    world.start()
    wait_for(lambda: not [n for n in old if (world.dir / n).exists()], what="them to be gone")
    assert all((world.dir / n).exists() for n in others + fresh)

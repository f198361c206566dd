"""opencode's history, which is a database that opencode may have open."""
import json
import os
import sqlite3

import pytest

from transcripts import Opencode


def a_session(oc):
    s = oc.session()
    oc.prompt(s, "Please look at the walrus parser")
    oc.model(s, oc.text("I look first."), oc.call("bash", "call_1", {"command": "grep walrus src"}, "src/walrus.c:1"), finish="tool-calls")
    oc.model(s, oc.call("read", "call_2", {"filePath": "/home/dev/proj/nope"}, "File not found", status="error"),
             oc.call("bash", "call_3", {"command": "make test"}, "1 failed", exit=2), finish="tool-calls")
    oc.model(s, oc.text("It had an off-by-one error."))
    return s


def story(world, session):
    return [(b["prompt"], b.get("response"), [(a["tool"], a["state"]) for a in b["activities"] if a["kind"] == "tool"])
            for b in world.rpc("show", session=session)["batches"]]


TOLD = [("Please look at the walrus parser", "It had an off-by-one error.", [("bash", "done"), ("read", "failed"), ("bash", "failed")])]


def test_a_session_reads_like_a_live_one(world):
    oc = Opencode(world.home)
    s = a_session(oc)
    done = world.json("import", "--json")
    assert (done["files"], done["broken_lines"], done["refused"]) == (1, 0, 0)
    [session] = world.rpc("sessions")["sessions"]
    assert (session["id"], session["agent"], session["cwd"]) == (s, "opencode", "/home/dev/proj")
    assert story(world, s) == TOLD
    usage = world.json("usage", "--json")["total"]
    assert (usage["answers"], usage["input"], usage["cache_read"], usage["output"], usage["reasoning"]) == (3, 360, 60, 105, 15)
    assert "transcript_path" not in session or not session["transcript_path"]  # the file is every session's


def test_again_changes_nothing_and_what_is_new_is_read(world):
    """What opencode has just written lies beside the file, which does not grow."""
    oc = Opencode(world.home)
    s = a_session(oc)
    world.json("import", "--json")
    assert world.json("import", "--json")["new"] == 0
    oc.prompt(s, "And the docs?")
    running = oc.model(s, oc.call("bash", "call_4", {"command": "make docs"}, status="running"), finish="")
    assert world.json("import", "--json")["new"] >= 2
    assert story(world, s)[1] == ("And the docs?", None, [("bash", "started")])
    oc.db.execute("UPDATE part SET data = ?, time_updated = ? WHERE message_id = ? AND data LIKE '%call_4%'",
                  (json.dumps(oc.call("bash", "call_4", {"command": "make docs"}, "made")), oc.at, running))
    oc.model(s, oc.text("Written."))
    two = a_session(oc)
    world.json("import", "--json")
    assert story(world, s) == [*TOLD, ("And the docs?", "Written.", [("bash", "done")])]
    assert story(world, two) == TOLD
    assert world.json("import", "--json")["new"] == 0
    assert world.json("usage", "--json")["total"]["answers"] == 7


def test_a_subagents_session_belongs_to_its_root(world):
    oc = Opencode(world.home)
    s = oc.session()
    oc.prompt(s, "Ask another")
    child = oc.session(parent=s, agent="explore")
    inner = oc.session(parent=child, agent="general")
    for session in (child, inner):
        oc.prompt(session, "look around")
        oc.model(session, oc.call("bash", f"call_{session}", {"command": f"ls {session}"}, "x"), finish="tool-calls")
        oc.model(session, oc.text("Nothing there."))
    oc.model(s, oc.text("It found nothing."))
    world.json("import", "--json")
    assert [x["id"] for x in world.rpc("sessions")["sessions"]] == [s]
    events = world.rpc("session_events", session=s)["events"]
    assert sum(e["event"] == "SubagentStart" for e in events) == 2 and sum(e["event"] == "UserPromptSubmit" for e in events) == 1
    assert world.json("usage", "--json")["total"]["answers"] == 5


def test_secrets_and_other_tables_stay_where_they_are(world):
    oc = Opencode(world.home)
    oc.db.executescript("CREATE TABLE credential (id text, value text); INSERT INTO credential VALUES ('a', 'xyzzy-credential')")
    s = oc.session()
    oc.prompt(s, "use ghp_abcdefghijklmnopqrstuvwxyz0123456789 and <private>plugh-private</private> it")
    oc.model(s, oc.text("Done."))
    before = oc.path.read_bytes()
    world.json("import", "--json")
    assert "use" in story(world, s)[0][0]
    for secret in (b"xyzzy-credential", b"ghp_abcdefghij", b"plugh-private"):
        assert world.contains(secret) == []
    assert oc.path.read_bytes() == before


def test_rows_that_make_no_sense_are_counted_and_the_rest_is_read(world):
    oc = Opencode(world.home)
    s = oc.session()
    for data in ("not json", "[]", "42", '"x"', "{" * 5000, json.dumps({"role": "robot"}), json.dumps({"role": ["user"]}), "{}"):
        oc.message(s, data, ["not json", "[]", json.dumps({"type": "tool"}), json.dumps({"type": "text", "text": 5})])
    oc.message(s, {"role": "assistant", "finish": 7, "tokens": {"input": -5, "output": "many", "cache": []}, "time": {"created": -1}},
               [{"type": "tool", "tool": "bash", "callID": "c", "state": []}, {"type": "text", "text": "x" * 100, "time": {"start": 2 ** 62}}])
    oc.message(s, {"role": "user"}, [{"type": "text", "text": "long " * (1 << 22)}])  # 20 MB: no line is that long
    loop = [oc.session(), oc.session()]
    for a, b in zip(loop, loop[::-1]):
        oc.db.execute("UPDATE session SET parent_id = ? WHERE id = ?", (b, a))
    oc.prompt(loop[0], "I am my own grandfather")
    oc.db.execute("INSERT INTO message VALUES (?,?,?,?,?)", (b"\xff\0", s, "when?", None or 5, b"\x80\x81"))
    good = a_session(oc)
    done = world.json("import", "--json")
    assert done["refused"] == 0 and 3 <= done["broken_lines"] <= 20
    assert story(world, good) == TOLD
    assert world.json("import", "--json")["new"] == 0


@pytest.mark.parametrize("what", ["other tables", "views", "text", "empty", "cut", "link", "fifo"])
def test_what_is_no_such_database_is_refused_and_the_rest_is_imported(world, what):
    path = world.home / ".local/share/opencode/opencode.db"
    path.parent.mkdir(parents=True)
    if what in ("other tables", "views"):
        with sqlite3.connect(path) as db:
            db.executescript("CREATE TABLE x (y)" if what == "other tables" else
                             "CREATE TABLE x (y); CREATE VIEW session AS SELECT 1 AS id, 1 AS parent_id, 1 AS agent, 1 AS directory, 1 AS time_created, 1 AS time_updated;"
                             "CREATE VIEW message AS SELECT 1 AS id, 1 AS session_id, 1 AS time_created, 1 AS time_updated, '{}' AS data;"
                             "CREATE VIEW part AS SELECT 1 AS id, 1 AS message_id, '{}' AS data")
    elif what == "link":
        path.symlink_to("/etc/passwd")
    elif what == "fifo":
        os.mkfifo(path)
    else:
        oc = Opencode(world.home)
        a_session(oc)
        oc.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        oc.db.close()
        data = path.read_bytes()
        path.write_bytes({"text": b"hello\n", "empty": b"", "cut": data[:5000]}[what])
    world.json("import", "--json")
    assert world.rpc("sessions")["sessions"] == []

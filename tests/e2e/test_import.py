"""History: import, search, usage, and that live and imported are one session."""
import datetime
import json
import os
import signal
import sqlite3
import subprocess
import time

import pytest

from transcripts import START, Claude, Codex, lines, stamp
from world import BUILD, HANG, ROOT, World, payload, tool, wait_for


def a_session(session="11111111-aaaa-4bbb-8ccc-000000000001", **more):
    c = Claude(session, **more)
    c.prompt("Please look at the walrus parser").shell("grep -rn walrus src", "src/walrus.c:1")
    c.call("Edit", {"file_path": "/home/dev/proj/src/walrus.c", "old_string": "a", "new_string": "b"},
           {"filePath": "/home/dev/proj/src/walrus.c"})
    c.answer("The walrus parser had an off-by-one error.")
    c.prompt("Now run the tests").shell("make test", "1 failed", failed=True).answer("One test fails.")
    return c


def show(world, session):
    return world.json("show", session, "--json")


def snapshot(world):
    """Everything a person can see, without keys that only number rows, once hookd has made up its mind about it."""
    wait_for(lambda: not world.rpc("jobs")["jobs"], what="what is made of it")
    seen = [world.json("sessions", "--all", "--json")]
    seen += [show(world, s["id"]) for s in seen[0]["sessions"]]
    seen += [world.json("usage", by, "--json") for by in ("day", "model", "session")]
    return json.dumps(seen, sort_keys=True)


def test_a_session_from_disk_reads_like_a_live_one(world):
    a_session().write(world.home)
    done = world.json("import", "--json")
    assert done["files"] == 1 and done["new"] > 8 and done["broken_lines"] == 0
    (session,) = world.json("sessions", "--json")["sessions"]
    assert session["agent"] == "claude" and session["status"] == "completed"
    text = world.hookd("show", session["id"]).stdout.decode()
    assert text.index("walrus parser") < text.index("grep -rn walrus") < text.index("off-by-one") < text.index("make test")
    told = show(world, session["id"])
    assert [b["prompt"] for b in told["batches"]] == ["Please look at the walrus parser", "Now run the tests"]
    assert [b["response"] for b in told["batches"]] == ["The walrus parser had an off-by-one error.", "One test fails."]


def test_twice_changes_nothing_and_growth_is_picked_up(world):
    c = a_session()
    c.write(world.home)
    world.json("import", "--json")
    before = snapshot(world)
    again = world.json("import", "--json")
    assert again["new"] == 0 and again["unchanged"] == 1
    assert snapshot(world) == before
    # Read anew from the beginning (its position is lost): every key is known.
    world.hookd("stop")
    import sqlite3
    db = sqlite3.connect(world.dir / "hookd.db")
    db.execute("DELETE FROM transcripts")
    db.commit()
    db.close()
    again = world.json("import", "--json")
    assert again["new"] == 0 and again["known"] > 8
    assert snapshot(world) == before
    c.prompt("And the docs?").answer("Written.")
    c.write(world.home)
    more = world.json("import", "--json")
    assert more["unchanged"] == 0 and 2 <= more["new"] <= 4
    assert show(world, c.session)["batches"][-1]["response"] == "Written."


def test_live_and_imported_are_one_session(world):
    c = a_session()
    path = c.write(world.home)
    whole = World()
    try:
        a_session().write(whole.home)
        whole.json("import", "--json")
        expected = show(whole, c.session)
    finally:
        whole.close()
    live = [
        ("SessionStart", dict(source="startup", model="claude-opus-5-5")),
        ("UserPromptSubmit", dict(prompt="Please look at the walrus parser", prompt_id=f"{c.session}-p1")),
    ]
    for row in c.rows:
        for block in row["message"]["content"] if isinstance(row["message"]["content"], list) else []:
            if block["type"] == "tool_use":
                live.append(("PreToolUse", dict(tool_name=block["name"], tool_use_id=block["id"], tool_input=block["input"],
                                                prompt_id=row.get("promptId"))))
    world.start()
    for event, fields in live[:4]:
        world.hookc(event, payload(event, c.session, cwd=c.cwd, transcript_path=str(path), **fields))
    world.json("import", "--json")
    (session,) = world.json("sessions", "--json")["sessions"]
    told = show(world, session["id"])
    calls = [a["tool_use_id"] if "tool_use_id" in a else a for b in told["batches"] for a in b["activities"]]
    assert len(calls) == sum(len(b["activities"]) for b in expected["batches"])


def test_search_finds_words_where_they_stand(world):
    a_session().write(world.home)
    Codex("22222222-aaaa-4bbb-8ccc-000000000002", cwd="/home/dev/other").prompt("Count the walruses, please").shell(
        "wc -l walrus.txt", "12").answer("There are twelve.").write(world.home)
    world.json("import", "--json")

    def hits(*args):
        return world.json("search", *args, "--json")["hits"]

    assert {h["kind"] for h in hits("walrus")} == {"prompt", "answer", "command"}
    assert [h["kind"] for h in hits("off-by-one")] == ["answer"]
    assert [h["snippet"] for h in hits("make test", "--in", "commands")] == ["make test"]
    assert {h["agent"] for h in hits("walrus*", "--agent", "codex")} == {"codex"}
    assert {h["session"] for h in hits("walrus*", "--project", "/home/dev/other")} == {"22222222-aaaa-4bbb-8ccc-000000000002"}
    assert hits("walrus", "--since", "2030-01-01") == []
    # Any of the words when none has all; nonsense finds nothing and breaks nothing.
    assert {h["confidence"] for h in hits("walrus", "zeppelin")} == {"low"}
    for odd in ('"', "a\"b", "NEAR(", "-x", "*", "walrus AND", "( OR", "\u00e9", "words : x"):
        world.hookd("search", odd, ok=False)
    assert world.hookd("search", "&&", ok=False).returncode == 1
    text = world.hookd("search", "off-by-one").stdout.decode()
    assert "claude" in text and "prompt 1" in text and "off-by-one" in text
    # What is purged cannot be found any more.
    world.hookd("purge", "--match", "twelve", "--yes")
    assert hits("twelve") == [] and hits("walruses")


def test_usage_counts_an_answer_once(world):
    c = a_session()
    c.write(world.home)
    Codex("22222222-aaaa-4bbb-8ccc-000000000002").prompt("x").answer("y", tokens=(1000, 100)).write(world.home)
    world.json("import", "--json")
    by_model = {r["model"]: r for r in world.json("usage", "model", "--json")["rows"]}
    # Three calls and two answers; each message stands on several lines.
    assert by_model["claude-opus-5-5"]["answers"] == 5
    assert by_model["claude-opus-5-5"]["output"] == 3 * 20 + 2 * 50
    assert by_model["claude-opus-5-5"]["micro_usd"] == 5 * 700 + 25 * 160 + int(0.5 * 2000) + int(6.25 * 20)
    assert by_model["gpt-5-codex"] | {"input": 1000, "output": 100, "answers": 1} == by_model["gpt-5-codex"]
    total = world.json("usage", "--json")["total"]
    assert total["output"] == 260 and total["answers"] == 6
    text = world.hookd("usage", "project").stdout.decode()
    assert "estimate" in text and "proj" in text
    line = world.hookd("usage", "statusline", input=json.dumps({"session_id": c.session}).encode()).stdout.decode()
    assert line.startswith("today ") and "this session $" in line
    assert world.hookd("usage", "weather", ok=False).returncode == 64


def test_secrets_and_private_prompts_of_old_sessions_are_not_kept(world):
    token = "ghp_" + "A1b2C3d4" * 4 + "Z9y8"
    c = Claude("33333333-aaaa-4bbb-8ccc-000000000003")
    c.prompt(f"use {token} please").shell(f"curl -H 'Authorization: {token}' x").answer("ok")
    c.prompt("<private>the secret plan Zaubernuss</private>").shell("echo Zaubernuss").answer("Zaubernuss done")
    c.prompt("and now in public").answer("fine")
    c.write(world.home)
    world.json("import", "--json")
    assert world.contains(token.encode()) == [] and world.contains(b"Zaubernuss") == [] and world.contains(b"zaubernuss") == []
    assert show(world, c.session)["batches"][-1]["response"] == "fine"


def test_hostile_files_are_bounded_and_reported(world):
    folder = world.home / ".claude/projects/p"
    folder.mkdir(parents=True)
    good = a_session()
    rows = lines(good.rows)
    (folder / "broken.jsonl").write_bytes(b"{\"type\":\"user\"\n\0\0\0\n" + rows + b"{not json}\n" + rows[:100])
    os.mkfifo(folder / "fifo.jsonl")
    (folder / "link.jsonl").symlink_to("/etc/passwd")
    with open(folder / "sparse.jsonl", "wb") as f:
        f.truncate(20 << 30)
    with open(folder / "endless.jsonl", "wb") as f:
        f.write(b'{"type":"user","sessionId":"s","message":{"content":"')
        f.write(b"x" * (40 << 20))
    (folder / "deep.jsonl").write_bytes(b"[" * 100000 + b"\n")
    (folder / "empty.jsonl").write_bytes(b"")
    done = world.json("import", "--json", seconds=120)
    assert done["broken_lines"] >= 2 and done["new"] > 8
    assert show(world, good.session)["batches"]
    named = world.hookd("import", str(folder / "fifo.jsonl"), ok=False)
    assert b"fifo.jsonl" in named.stderr


def test_an_interrupted_import_goes_on_where_it_was(world):
    for n in range(40):
        c = Claude(f"44444444-aaaa-4bbb-8ccc-{n:012d}", start=n * 1000)
        for i in range(60):
            c.prompt(f"prompt {i} of {n}").shell(f"echo {i}", "x" * 2000).answer(f"answer {i}")
        c.write(world.home)
    world.start()
    p = subprocess.Popen([str(BUILD / "hookd"), "import", "--json"], env=world.env, stdout=subprocess.PIPE)
    wait_for(lambda: world.json("sessions", "--json", "-n", 1000)["sessions"], what="the first session")
    p.send_signal(signal.SIGINT)
    first = json.loads(p.communicate(timeout=HANG)[0])
    second = world.json("import", "--json", seconds=120)
    assert first["interrupted"] and first["new"] > 0
    if first["read"] < 40:
        assert second["new"] > 0
    sessions = world.json("sessions", "--json", "-n", 1000)["sessions"]
    assert len(sessions) == 40 and {s["prompts"] for s in sessions} == {60} and {s["tools"] for s in sessions} == {60}
    # The same again with a daemon that is killed in the middle.
    third = world.json("import", "--json", seconds=120)
    assert third["new"] == 0 and third["unchanged"] == 40


def test_init_offers_what_is_there(world):
    a_session().write(world.home)
    text = world.hookd("init", "--yes").stdout.decode()
    assert "There is history to import: 1 file of Claude Code" in text and "hookd search" in text
    assert world.json("search", "walrus", "--json")["hits"]
    assert world.hookd("init", "--yes", "--no-import").stdout.decode().count("history") == 0


def test_an_older_daemon_is_told_apart(world):
    """What the daemon does not know it refuses, and the command says what to do."""
    world.start()
    with world.connect() as s:
        s.sendall(bytes([0xF5, 1, 77, 0, 0, 0, 0, 0]))
        assert s.recv(8)[2] == 4
    with world.connect() as s:  # RECORDS whose pieces do not fit
        s.sendall(bytes([0xF5, 1, 5, 0, 4, 0, 0, 0]) + b"\xff\xff\xff\x7f")
        reply = s.recv(4096)
        assert reply[2] == 3 and b"error" in reply
    assert world.status()["running"]


def test_tokens_of_a_session_under_way_come_by_themselves(world):
    c = a_session()
    path = c.write(world.home)
    world.start()
    fields = dict(cwd=c.cwd, transcript_path=str(path))
    world.hookc("UserPromptSubmit", payload("UserPromptSubmit", c.session, prompt="Please look at the walrus parser", **fields))
    world.hookc("Stop", payload("Stop", c.session, last_assistant_message="ok", **fields))
    wait_for(lambda: world.json("usage", "--json")["total"]["answers"] == 5, what="tokens")
    # Only tokens: what the transcript says besides was not told by a hook and waits for an import.
    assert world.json("sessions", "--json")["sessions"][0]["tools"] == 0
    c.prompt("more").answer("yes")
    c.write(world.home)
    world.hookc("Stop", payload("Stop", c.session, last_assistant_message="yes", **fields))
    wait_for(lambda: world.json("usage", "--json")["total"]["answers"] == 6, what="more tokens")
    assert world.json("import", "--json")["new"] > 0
    assert world.json("usage", "--json")["total"]["answers"] == 6
    # A path that no agent keeps its history at is not opened.
    elsewhere = world.top / "elsewhere.jsonl"
    elsewhere.write_bytes(lines(Claude("55555555-aaaa-4bbb-8ccc-000000000005").prompt("x").answer("y").rows))
    world.hookc("Stop", payload("Stop", "55555555-aaaa-4bbb-8ccc-000000000005", transcript_path=str(elsewhere)))
    c.prompt("last").answer("word")
    c.write(world.home)
    world.hookc("Stop", payload("Stop", c.session, **fields))
    wait_for(lambda: world.json("usage", "--json")["total"]["answers"] == 7, what="the last tokens")
    assert len(world.json("usage", "session", "--json")["rows"]) == 1


def test_a_transcript_reads_as_markdown(world):
    c = a_session()
    path = c.write(world.home)
    text = world.hookd("transcript", path).stdout.decode()
    assert text.index("walrus parser") < text.index("grep -rn walrus src") < text.index("off-by-one")
    assert world.json("transcript", "--last", "--json", path) == {
        "path": str(path), "user": "Now run the tests", "assistant": "One test fails."}
    world.json("import", "--json")
    assert world.hookd("transcript", c.session[:8]).stdout.decode() == text
    assert b"not a plain file" in world.hookd("transcript", str(world.home), ok=False).stderr


# -- what hooks did not tell -------------------------------------------------------------------------------


def test_an_imported_answer_fills_a_batch_without_one(world):
    c = Claude("11111111-aaaa-4bbb-8ccc-000000000001", start=int(time.time() - START.timestamp()))
    c.prompt("first thing").answer("the first answer")
    c.prompt("second thing").answer("the second answer")
    for n, more in ((1, {}), (2, {"last_assistant_message": "what the hook told"})):
        told = {"prompt_id": f"{c.session}-p{n}"}
        world.hookc("UserPromptSubmit", payload("UserPromptSubmit", c.session, prompt=("first", "second")[n - 1] + " thing", **told))
        world.hookc("Stop", payload("Stop", c.session, **told, **more))
    assert [b.get("response") for b in show(world, c.session)["batches"]] == [None, "what the hook told"]
    c.write(world.home)
    world.hookd("import")
    assert [(b["prompt"], b["response"]) for b in show(world, c.session)["batches"]] == [
        ("first thing", "the first answer"), ("second thing", "what the hook told")]
    assert "the first answer" in world.hookd("show", c.session).stdout.decode()


def test_equal_prompts_with_different_ids_are_different_prompts(world):
    c = Claude("11111111-aaaa-4bbb-8ccc-000000000001", start=int(time.time() - START.timestamp()))
    c.prompt("continue").answer("one").prompt("continue").answer("two").write(world.home)
    told = payload("UserPromptSubmit", c.session, prompt="continue", prompt_id=f"{c.session}-p1")
    for _ in range(2):  # the same id twice is one
        world.hookc("UserPromptSubmit", told)
    assert len(show(world, c.session)["batches"]) == 1
    world.hookd("import")
    assert [(b["prompt"], b["response"]) for b in show(world, c.session)["batches"]] == [
        ("continue", "one"), ("continue", "two")]


# -- what was purged stays purged ---------------------------------------------------------------------------


def live(world, session, prompt, answer, use):
    """The same work as told by hooks."""
    for p in (payload("UserPromptSubmit", session, prompt=prompt),
              payload("PreToolUse", session, tool_name="Bash", tool_use_id=use, tool_input={"command": "ls"}),
              payload("PostToolUse", session, tool_name="Bash", tool_use_id=use, tool_input={"command": "ls"},
                      tool_response={"stdout": "x"}),
              payload("Stop", session, last_assistant_message=answer)):
        world.hookc(p["hook_event_name"], p)


def test_a_purged_session_is_not_imported_again(world):
    c = Claude("11111111-aaaa-4bbb-8ccc-000000000001")
    c.prompt("Zaunkoenig").shell("ls").answer("Zaunkoenig it is").write(world.home)
    other = Claude("33333333-aaaa-4bbb-8ccc-000000000003")
    other.prompt("Amsel").answer("fine").write(world.home)
    world.hookd("import")
    world.hookd("purge", "--session", "11111111", "--yes")
    for _ in range(2):
        world.hookd("stop")
        with sqlite3.connect(world.dir / "hookd.db") as db:  # the files are read from their beginning
            db.execute("DELETE FROM transcripts")
        db.close()
        world.hookd("import")
        assert [s["id"] for s in world.json("sessions", "--json", "--all")["sessions"]] == [other.session]
    assert "Zaunkoenig" not in world.hookd("search", "Zaunkoenig").stdout.decode().replace("'Zaunkoenig'", "")
    # Work that goes on in the session afterwards is new, and kept.
    live(world, c.session, "and now", "yes", "toolu_new")
    assert world.json("show", c.session, "--json")["batches"][0]["prompt"] == "and now"


def test_purged_events_are_not_imported_again(world):
    session = "11111111-aaaa-4bbb-8ccc-000000000001"
    live(world, session, "the word is Zaunkoenig", "I heard Zaunkoenig", "toolu_1")
    live(world, session, "something else", "fine", "toolu_2")
    wait_for(lambda: len(world.events()) == 8, what="the events")
    world.hookd("purge", "--match", "Zaunkoenig", "--yes")
    c = Claude(session)
    c.prompt("the word is Zaunkoenig").shell("ls", key="toolu_1").answer("I heard Zaunkoenig")
    c.prompt("a third thing").answer("also fine").write(world.home)
    world.hookd("import")
    world.hookd("stop")
    assert [p for p in world.contains(b"Zaunkoenig")] == []
    prompts = [b["prompt"] for b in world.json("show", session, "--json")["batches"]]
    assert "something else" in prompts and "a third thing" in prompts


GOLDEN = ROOT / "tests/golden/transcripts"


def put_sample(world, agent):
    """Files that the real programs wrote, where they write them."""
    if agent == "copilot":
        files = {"session-state/one/events.jsonl": "copilot.jsonl", "session-state/two/events.jsonl": "copilot-sub.jsonl"}
    else:
        files = {"projects/-home-dev-proj/chats/one.jsonl": "qwen.jsonl", "projects/-home-dev-proj/chats/two.jsonl": "qwen-parent.jsonl",
                 "projects/-home-dev-proj/subagents/two/agent-general-purpose-call_1.jsonl": "qwen-sub.jsonl"}
    for name, sample in files.items():
        path = world.home / f".{agent}" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((GOLDEN / sample).read_bytes())
    return len(files)


@pytest.mark.parametrize("agent", ["copilot", "qwen"])
def test_history_of_copilot_and_qwen(world, agent):
    files = put_sample(world, agent)
    done = world.json("import", "--json")
    assert done["files"] == files and done["broken_lines"] == 0 and done["refused"] == 0
    told = {s["id"]: show(world, s["id"]) for s in world.json("sessions", "--json")["sessions"]}
    assert len(told) == 2 and {t["session"]["agent"] for t in told.values()} == {agent}
    one, two = sorted(told.values(), key=lambda t: t["session"]["started_us"])
    [batch] = one["batches"]
    assert (batch["prompt"], batch["response"]) == ("Please prepare the greeting", "The greeting is ready.")
    acts = [a for a in batch["activities"] if a["kind"] == "tool"]
    assert [(a["class"], a["state"]) for a in acts] == [("shell", "done"), ("write", "done"), ("shell", "failed"), ("read", "failed")]
    assert "out-of-shell" in json.dumps(acts[0]["output"]) and one["session"]["cwd"] == "/home/dev/proj"
    [batch] = two["batches"]
    assert batch["prompt"] == "delegate it" and two["session"]["prompts"] == 1
    assert [w["source"] for w in two["windows"] if w.get("agent_id")] == ["subagent"]
    usage = world.json("usage", "--json")["total"]
    assert usage["output"] > 0 and usage["answers"] >= 9
    assert {h["kind"] for h in world.json("search", "greeting", "--json")["hits"]} >= {"prompt", "answer"}
    assert world.json("import", "--json")["new"] == 0
    # Recognised without its place, too.
    lone = world.top / "lone.jsonl"
    lone.write_bytes((GOLDEN / f"{agent}.jsonl").read_bytes())
    assert world.json("import", "--json", lone)["new"] == 0


def test_calls_that_hooks_name_otherwise_are_one(world):
    """Qwen's hooks and its file have different ids for a call."""
    rows = [json.loads(line) for line in (GOLDEN / "qwen.jsonl").read_bytes().splitlines()]
    session, path = rows[0]["sessionId"], world.home / ".qwen/projects/-home-dev-proj/chats/one.jsonl"
    world.start()
    shell = {"tool_name": "run_shell_command", "tool_input": {"command": "echo out-of-shell"}, "tool_use_id": "toolu_9"}
    for event, more in [("UserPromptSubmit", {"prompt": "Please prepare the greeting"}), ("PreToolUse", shell),
                        ("PostToolUse", {"tool_response": {"llmContent": "out-of-shell"}, **shell})]:
        world.hookc(event, payload(event, session, **more), agent="qwen")
    now = datetime.datetime.now(datetime.timezone.utc)
    for n, row in enumerate(rows):  # as if it had just been written
        row["timestamp"] = (now + datetime.timedelta(milliseconds=n)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    path.parent.mkdir(parents=True)
    path.write_bytes(lines(rows))
    world.json("import", "--json")
    batches = show(world, session)["batches"]
    acts = [(a["tool"], a["state"]) for b in batches for a in b["activities"] if a["kind"] == "tool"]
    assert [b["prompt"] for b in batches] == ["Please prepare the greeting"]
    assert sorted(acts) == [("read_file", "failed"), ("run_shell_command", "done"), ("run_shell_command", "failed"), ("write_file", "done")]

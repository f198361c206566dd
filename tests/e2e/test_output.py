"""What an agent says while its turn runs: noticed in its transcript, told once, and read only while somebody wants it."""
import json
import os
import pathlib
import sqlite3
import time

import pytest

from receiver import Receiver
from test_http import Web
from transcripts import START, Claude, Codex, lines
from world import payload, wait_for

LOOK = 0.5  # seconds between two looks


@pytest.fixture
def receiver():
    r = Receiver(seed=1)
    yield r
    r.close()


class Turns:
    """An agent of our own making: what it says stands in its transcript, what it does is told by hooks."""

    def __init__(self, world, kind=Claude, ago=0):
        self.world, self.agent, self.ago = world, kind.__name__.lower(), ago
        self.log = kind(start=time.time() - START.timestamp() - ago)
        self.path = self.log.write(world.home)

    def write(self):
        """Appends, as an agent does."""
        known = self.path.stat().st_size
        with self.path.open("ab") as f:
            f.write(lines(self.log.rows)[known:])

    def now(self):
        """The next line is written now, however many seconds the made-up clock is ahead."""
        self.log.at = time.time() - START.timestamp() - self.ago - 1

    def tell(self, event, **more):
        done = self.world.hookc(event, payload(event, self.log.session, transcript_path=str(self.path), **more), agent=self.agent)
        assert (done.returncode, done.stderr) == (0, b"")

    def ask(self, text):
        self.tell("UserPromptSubmit", prompt=text)
        self.now()
        self.log.prompt(text)
        self.write()

    def say(self, thought, n=0):
        """A thought and a call behind it."""
        self.now()
        self.log.call("Read", {"file_path": "/x"}, {"text": "x"}, thought=thought, key=f"toolu_{n}_{len(self.log.rows)}")
        self.write()

    def stop(self, answer, tell=True):
        self.now()
        self.log.answer(answer)
        self.write()
        self.tell("Stop", **({"last_assistant_message": answer} if tell else {}))


def configure(world, *sinks):
    (world.dir / "config.json").write_text(json.dumps({"sinks": list(sinks)}))


def outputs(receiver):
    return [b["data"] for b in receiver.bodies("Output")]


def said(receiver):
    return [o["text"] for o in outputs(receiver) if o.get("text")]


def stored(world):
    db = sqlite3.connect(f"file:{world.dir}/hookd.db?mode=ro", uri=True)
    try:
        return db.execute("SELECT count(*) FROM events WHERE kind = 'Output'").fetchone()[0]
    finally:
        db.close()


def test_what_is_said_on_the_way_arrives_before_the_turn_ends(world, receiver):
    configure(world, receiver.sink(events=["prompt", "output", "stop"]))
    turns = Turns(world)
    turns.ask("Fix the parser")
    turns.say("I look at the grammar first.")
    wait_for(lambda: said(receiver) == ["I look at the grammar first."], what="the first thought")
    turns.say("It is the comma.")
    wait_for(lambda: said(receiver)[1:] == ["It is the comma."], what="the second")
    turns.stop("The parser is fixed.")
    wait_for(lambda: any(o.get("final") for o in outputs(receiver)), what="the end")
    first, second, last = outputs(receiver)
    assert [first["seq"], second["seq"], last["seq"]] == [1, 2, 3]
    assert "final" not in first and last["final"] is True and not last.get("text")
    stop, = receiver.bodies("stop")
    assert stop["data"]["answer"] == "The parser is fixed." and first["session_id"] == turns.log.session
    assert len({b["session_id"] for b in receiver.bodies()}) == 1


def test_the_answer_is_never_doubled(world, receiver):
    """Not by a look before the stop, not by the last one, not when the turn goes on behind it."""
    configure(world, receiver.sink(events=["output", "stop"]))
    turns = Turns(world)
    for n in range(3):
        turns.ask(f"Question {n}")
        turns.say(f"Thought {n}.")
        turns.log.answer(f"Answer {n}.")
        turns.write()
        time.sleep(2 * LOOK)
        turns.tell("Stop", last_assistant_message=f"Answer {n}.")
        wait_for(lambda: len(receiver.bodies("stop")) == 2 * n + 1, what="the stop")
        turns.log.prompt("Go on.")  # a stop hook wants more
        turns.say(f"More {n}.")
        turns.tell("PreToolUse", tool_name="Read", tool_use_id=f"t{n}", tool_input={"file_path": "/x"})
        wait_for(lambda: f"More {n}." in said(receiver), what="the rest")
        turns.tell("Stop", last_assistant_message=f"Answer {n}.", stop_hook_active=True)
        wait_for(lambda: len(receiver.bodies("stop")) == 2 * n + 2, what="the stop")
        time.sleep(2 * LOOK)
    text = "\n".join(said(receiver))
    assert [text.count(f"{what} {n}.") for what in ("Thought", "More") for n in range(3)] == [1] * 6
    assert "Answer" not in text


def test_a_stop_without_its_answer_leaves_it_to_the_last_look(world, receiver):
    configure(world, receiver.sink(events=["output"]))
    turns = Turns(world)
    turns.ask("Fix it")
    turns.stop("It is fixed.", tell=False)
    last = wait_for(lambda: outputs(receiver), what="the rest")
    assert (last[0]["text"], last[0]["final"]) == ("It is fixed.", True)


def test_what_was_said_in_earlier_turns_is_not_told(world, receiver):
    configure(world, receiver.sink(events=["output"]))
    turns = Turns(world, ago=3600)
    turns.log.prompt("Long ago")
    turns.say("An old thought.")
    turns.log.answer("An old answer.")
    turns.write()
    turns.ago = 0
    turns.ask("Now")
    turns.say("A new thought.")
    wait_for(lambda: said(receiver), what="the thought")
    assert said(receiver) == ["A new thought."]


def test_codex_is_followed_too(world, receiver):
    configure(world, receiver.sink(events=["output"]))
    turns = Turns(world, Codex)
    turns.ask("Fix it")
    turns.log.row("event_msg", type="item_completed", thread_id=turns.log.session, turn_id=turns.log.turn,
                  item={"type": "AgentMessage", "id": "a-on-the-way", "content": [{"type": "Text", "text": "I look first."}]})
    turns.log.shell("ls")
    turns.write()
    wait_for(lambda: said(receiver) == ["I look first."], what="the thought")


def test_a_document_that_is_rewritten_is_told_once(world, receiver):
    """Older Gemini CLI keeps a session as one JSON document, written anew for every message."""
    configure(world, receiver.sink(events=["output"]))
    session = "5f3a0000-0000-4000-8000-00000000000a"
    path = world.home / ".gemini/tmp/project/chats/session-2026-11-19T04-05-5f3a0000.json"
    path.parent.mkdir(parents=True)
    messages = []

    def write(kind, text, **more):
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + f".{int(time.time() * 1000) % 1000:03d}Z"
        messages.append({"id": f"m{len(messages)}", "timestamp": stamp, "type": kind, "content": text, **more})
        new = path.with_suffix(".new")
        new.write_text(json.dumps({"sessionId": session, "projectHash": "a" * 64, "startTime": stamp, "lastUpdated": stamp,
                                   "messages": messages}))
        new.rename(path)

    def tell(event, **more):
        assert world.hookc(event, payload(event, session, transcript_path=str(path), **more), agent="gemini").returncode == 0

    write("user", "Hello")
    tell("BeforeAgent", prompt="Hello")
    calls = [{"id": "c", "name": "read_file", "args": {"file_path": "/x"}, "status": "success"}]
    for n in range(70):  # more than what is remembered of what was told
        write("gemini", f"Thought {n}.", toolCalls=calls)
        if n % 20 == 0:
            wait_for(lambda: n == 0 or f"Thought {n - 1}." in "\n".join(said(receiver)), what="the thoughts so far")
    wait_for(lambda: "Thought 68." in "\n".join(said(receiver)), what="the thoughts")
    write("gemini", "The answer.")
    tell("AfterAgent", prompt="Hello", prompt_response="The answer.")
    wait_for(lambda: any(o.get("final") for o in outputs(receiver)), what="the end")
    assert "\n".join(said(receiver)).split() == [w for n in range(70) for w in ("Thought", f"{n}.")]


def test_a_session_that_goes_on_in_another_file_is_followed_there(world, receiver):
    configure(world, receiver.sink(events=["output"]))
    turns = Turns(world)
    turns.ask("Fix it")
    turns.say("Before.")
    wait_for(lambda: said(receiver) == ["Before."], what="the first")
    turns.path = turns.path.with_name("another.jsonl")
    turns.path.write_bytes(b"")
    turns.log.rows = []
    turns.tell("PreToolUse", tool_name="Read", tool_use_id="t1", tool_input={"file_path": "/x"})
    turns.say("After.")
    wait_for(lambda: said(receiver) == ["Before.", "After."], what="the second")


def test_half_a_line_waits_for_its_end(world, receiver):
    configure(world, receiver.sink(events=["output"]))
    turns = Turns(world)
    turns.ask("Fix it")
    turns.say("The first.")
    wait_for(lambda: said(receiver), what="the first")
    known = turns.path.stat().st_size
    turns.log.call("Read", {"file_path": "/x"}, {"text": "x"}, thought="The second.", key="toolu_2")
    rest = lines(turns.log.rows)[known:]
    with turns.path.open("ab", buffering=0) as f:
        for i in range(0, len(rest), len(rest) // 5 + 1):
            f.write(rest[i:i + len(rest) // 5 + 1])
            time.sleep(LOOK)
    wait_for(lambda: len(said(receiver)) == 2, what="the second")
    assert said(receiver) == ["The first.", "The second."]


@pytest.mark.parametrize("how", ["shrinks", "rotates"])
def test_a_transcript_that_is_cut_is_read_on_and_nothing_is_told_twice(world, receiver, how):
    configure(world, receiver.sink(events=["output"]))
    turns = Turns(world)
    turns.ask("Fix it")
    turns.say("Before.")
    turns.say("Still before.")
    wait_for(lambda: "Still before." in "".join(said(receiver)), what="what was said before")
    turns.log.rows = turns.log.rows[:2]
    if how == "rotates":
        turns.path.rename(turns.path.with_suffix(".old"))
    turns.path.write_bytes(lines(turns.log.rows))
    turns.say("After.")
    wait_for(lambda: "After." in said(receiver), what="what was said after")
    assert "\n".join(said(receiver)).count("Before.") == 1


def test_a_transcript_that_never_comes_costs_nothing(world, receiver):
    configure(world, receiver.sink(events=["output", "stop"]))
    turns = Turns(world)
    turns.path.unlink()
    turns.tell("UserPromptSubmit", prompt="Fix it")
    time.sleep(3 * LOOK)
    turns.tell("Stop", last_assistant_message="Fixed.")
    wait_for(lambda: receiver.bodies("stop"), what="the stop")
    time.sleep(2 * LOOK)
    assert outputs(receiver) == []


@pytest.mark.parametrize("where", ["elsewhere", "link", "fifo"])
def test_what_is_no_transcript_is_not_opened(world, receiver, where):
    configure(world, receiver.sink(events=["output", "stop"]))
    turns = Turns(world)
    if where == "elsewhere":
        turns.path = turns.path.rename(world.top / "secret.jsonl")
    else:
        aside = turns.path.rename(world.top / "secret.jsonl")
        os.symlink(aside, turns.path) if where == "link" else os.mkfifo(turns.path)
    turns.tell("UserPromptSubmit", prompt="Fix it")
    turns.log.prompt("Fix it")
    turns.log.call("Read", {"file_path": "/x"}, {"text": "x"}, thought="A thought.")
    if where != "fifo":
        turns.write()
    time.sleep(3 * LOOK)
    turns.tell("Stop", last_assistant_message="Fixed.")
    wait_for(lambda: receiver.bodies("stop"), what="the stop")
    assert outputs(receiver) == []


def test_a_hundred_megabytes_are_passed_over_and_counted(world, receiver):
    configure(world, receiver.sink(events=["output", "stop"]))
    turns = Turns(world)
    turns.ask("Say much")
    turns.say("The beginning.")
    wait_for(lambda: said(receiver), what="the beginning")
    memory = int(pathlib.Path(f"/proc/{world.pid()}/statm").read_text().split()[1]) * 4096
    turns.log.rows = []
    turns.log.call("Read", {"file_path": "/x"}, {"text": "x"}, thought="word " * 2000, key="toolu_much")
    much = lines(turns.log.rows)
    with turns.path.open("ab") as f:
        for _ in range(100):
            f.write(much * (1 + (1 << 20) // len(much)))
            time.sleep(0.05)
    turns.log.rows = []
    turns.log.call("Read", {"file_path": "/x"}, {"text": "x"}, thought="The end.", key="toolu_end")
    with turns.path.open("ab") as f:
        f.write(lines(turns.log.rows))
    wait_for(lambda: said(receiver)[-1].endswith("The end."), what="the end")
    grown = int(pathlib.Path(f"/proc/{world.pid()}/statm").read_text().split()[1]) * 4096 - memory
    got = outputs(receiver)
    assert max(len(o.get("text", "")) for o in got) <= 16 << 10
    assert sum(o.get("skipped_bytes", 0) for o in got) > 50 << 20
    assert sum(len(o.get("text", "")) for o in got) < 4 << 20
    assert grown < 40 << 20
    turns.tell("Stop", last_assistant_message="Done.")
    wait_for(lambda: receiver.bodies("stop"), what="the stop")


def test_secrets_and_private_sessions_stay_here(world, receiver):
    configure(world, receiver.sink(events=["output", "stop"]))
    turns, private = Turns(world), Turns(world)
    secret = "ghp_" + "aB3dE6gH9" * 4
    private.ask("<private>the plan</private>")
    private.say("The plan is this.")
    turns.ask("Hello")
    turns.say(f"The token is {secret}")
    wait_for(lambda: said(receiver), what="the thought")
    time.sleep(2 * LOOK)
    private.tell("Stop", last_assistant_message="done")
    turns.stop("Done.")
    wait_for(lambda: any(o.get("final") for o in outputs(receiver)), what="the end")
    text = json.dumps(receiver.bodies())
    assert secret not in text and "The plan" not in text and "The token is [redacted:" in text
    world.stop()
    assert world.contains(secret.encode()) == [] and world.contains(b"The plan is this") == []


def test_a_secret_across_the_cut_is_not_cut_in_two(world, receiver):
    configure(world, receiver.sink(events=["output"]))
    turns = Turns(world)
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEAx0Q8c9\n" * 800 + "-----END RSA PRIVATE KEY-----"
    turns.ask("Hello")
    turns.say(f"Here is a key:\n{key}\nthat was it")
    wait_for(lambda: said(receiver), what="the thought")
    assert "MIIEowIBAAKCAQEA" not in json.dumps(outputs(receiver)) and "that was it" in said(receiver)[0]


def test_nothing_is_read_that_nobody_wants(world, receiver):
    """Neither without a sink that names it, nor after the last listener has gone; a session that runs is taken up when one comes."""
    configure(world, receiver.sink())
    turns = Turns(world)
    turns.ask("Fix it")
    turns.say("A thought.")
    before = os.stat(turns.path).st_atime_ns
    time.sleep(2 * LOOK)
    assert os.stat(turns.path).st_atime_ns == before
    world.hookd("tail", "--json", "--output", "--session", turns.log.session)
    turns.tell("PreToolUse", tool_name="Read", tool_use_id="t1", tool_input={"file_path": "/x"})
    turns.say("Another thought.")

    def shown():
        got = world.hookd("tail", "--json", "--output", "--session", turns.log.session).stdout.splitlines()
        return [e["payload"]["text"] for e in map(json.loads, got) if e["event"] == "Output"]

    wait_for(lambda: shown() == ["Another thought."], what="what is said while somebody looks")
    assert all(e["event"] != "Output" for e in world.events())
    assert outputs(receiver) == []


def test_listeners_of_events_hear_it_as_it_is_said(world):
    web = Web(world)
    turns = Turns(world)
    with web.connect() as s:
        s.sendall(web.head("GET", "/events"))
        s.recv(4096)
        turns.ask("Fix it")
        turns.say("I look first.")
        data = b""
        until = time.monotonic() + 20
        while b"I look first." not in data and time.monotonic() < until:
            data += s.recv(65536)
    heard = [json.loads(line[6:]) for line in data.decode().splitlines() if line.startswith("data: ")]
    assert [e["output"] for e in heard if e["event"] == "Output"] == [{"text": "I look first.", "seq": 1}]


def test_a_daemon_that_comes_back_goes_on_with_the_turn(world, receiver):
    configure(world, receiver.sink(events=["output"]))
    turns = Turns(world)
    turns.ask("Fix it")
    turns.say("Before.")
    wait_for(lambda: said(receiver) == ["Before."], what="the first")
    world.kill()
    world.start()
    turns.tell("PreToolUse", tool_name="Read", tool_use_id="t1", tool_input={"file_path": "/x"})
    turns.say("After.")
    wait_for(lambda: said(receiver) == ["Before.", "After."], what="the second")


def test_purging_a_session_takes_what_was_said_with_it(world, receiver):
    configure(world, receiver.sink(events=["output"]))
    turns = Turns(world)
    turns.ask("Fix it")
    turns.say("The needle is said.")
    wait_for(lambda: said(receiver), what="the thought")
    world.hookd("tail")
    assert stored(world) == 1
    world.hookd("purge", "--session", turns.log.session, "--yes")
    assert stored(world) == 0

"""Windows of efforts: who holds one, what follows what, what is kept of one that ended; what a window is owed until it
really has it."""
import json
import sqlite3
import subprocess

import pytest

from efforts import Agent, begin, context, effort, messages, metadata, skill, windows
from world import wait_for


@pytest.fixture
def project(world):
    path = world.top / "project"
    (path / ".git").mkdir(parents=True)
    return path


class Process:
    """What an agent says its own process is."""

    def __init__(self):
        self.child = subprocess.Popen(["sleep", "1000"])
        self.env = {"CLAUDE_PID": str(self.child.pid)}

    def die(self):
        self.child.kill()
        self.child.wait()


@pytest.fixture
def process():
    p = Process()
    yield p
    p.die()


def folded(world, uid, count):
    """The windows of an effort in the store, once there are so many."""
    return wait_for(lambda: (lambda ws: ws if len(ws) == count else None)(windows(world, uid)), what=f"{count} windows")


# -- who holds an effort ---------------------------------------------------------------------------

def test_a_dead_agent_holds_nothing_after_a_restart_either(world, project, process):
    e = begin(world, project)
    a = Agent(world, project, env=process.env)
    a.start()
    a.hookd("effort", "checkpoint", "--goal", "Find the leak", "--next", "look at pool.c")
    [old] = folded(world, e["effort"], 1)
    process.die()
    world.kill()
    world.start()
    b = Agent(world, project)
    assert "look at pool.c" in b.start()
    new, old = folded(world, e["effort"], 2)
    assert new["session"] == b.session and new["previous"] == old["window"]
    assert (old["session"], old["end_reason"]) == (a.session, "lost") and old["ended_us"]


def test_an_agent_that_lives_keeps_its_effort_over_a_restart(world, project, process):
    e = begin(world, project, "review", "--goal", "Find the leak")
    a = Agent(world, project, env=process.env)
    a.start()
    folded(world, e["effort"], 1)
    world.kill()
    world.start()
    assert "Find the leak" not in Agent(world, project).start()
    assert "[Session Context]" in a.prompt() and len(windows(world, e["effort"])) == 1


def test_who_starts_at_its_place_follows_an_agent_without_a_process(world, project):
    e = begin(world, project, "review", "--goal", "Find the leak")
    place = {"TMUX_PANE": "%7", "TMUX": "/tmp/t,1,0"}
    a = Agent(world, project, agent="codex", env=place)
    a.start()
    folded(world, e["effort"], 1)
    world.kill()
    world.start()
    assert "Find the leak" in Agent(world, project, agent="codex", env=place).start()
    assert [w.get("end_reason") for w in folded(world, e["effort"], 2)] == [None, "lost"]


def test_whoever_has_no_effort_takes_it_when_its_holder_dies(world, project, process):
    e = begin(world, project, "review", "--goal", "Find the leak")
    Agent(world, project, env=process.env).start()
    b = Agent(world, project)
    assert "Find the leak" not in b.start()
    process.die()

    def asks():
        b.bash("ls")
        return "Find the leak" in "".join(b.texts)
    wait_for(asks, what="the effort")
    new, old = folded(world, e["effort"], 2)
    assert (new["session"], new["previous"], old["end_reason"]) == (b.session, old["window"], "lost")


def test_agents_of_one_name_share_an_effort(world, project, process):
    """One that starts another as a program hands its variables on: the first is not ended by that."""
    e = begin(world, project, "review", "--as", "boss")
    a = Agent(world, project, env={**process.env, "AGENT_ID": "boss"})
    a.start()
    b = Agent(world, project, env={"AGENT_ID": "boss"})
    b.start()
    second, first = folded(world, e["effort"], 2)
    assert "ended_us" not in first and "previous" not in second


# -- one window, one effort ------------------------------------------------------------------------

def test_a_session_that_turns_to_another_effort_has_another_window(world, project):
    (project / "a.c").write_text("x")
    a = Agent(world, project)
    a.start()
    one = json.loads(a.hookd("effort", "start", "first", "--json").stdout)["effort"]
    a.read(project / "a.c")
    a.hookd("effort", "finish", "done")
    two = json.loads(a.hookd("effort", "start", "second", "--json").stdout)["effort"]
    a.bash("ls")

    def check():
        shown = effort(world, "show", one)
        [old], [new] = shown["windows"], windows(world, two)
        assert old["window"] != new["window"] and new["previous"] == old["window"]
        assert old["end_reason"] == "finished" and old["ended_us"] and "ended_us" not in new
        assert [x["path"] for x in shown["loads"]] == [str(project / "a.c")]
    folded(world, two, 1)
    check()
    world.hookd("db", "rebuild")
    check()


def test_a_session_that_turns_to_another_effort_leaves_the_first(world, project):
    a = Agent(world, project)
    a.start()
    one = json.loads(a.hookd("effort", "start", "first", "--json").stdout)["effort"]
    a.bash("ls")
    two = json.loads(a.hookd("effort", "start", "second", "--json").stdout)["effort"]
    a.bash("ls")
    [new] = folded(world, two, 1)
    [old] = windows(world, one)
    assert old["end_reason"] == "left" and new["previous"] == old["window"] != new["window"]


def test_what_a_window_has_read_is_kept_when_its_context_is_compacted(world, project):
    e = begin(world, project)
    a = Agent(world, project)
    a.start()
    for i in range(100):
        a.read(project / f"{i}.c")
    a.say("PreCompact", trigger="auto")
    a.start("compact")
    new, old = folded(world, e["effort"], 2)
    assert {x["path"] for x in effort(world, "show", e["effort"])["loads"]} == {str(project / f"{i}.c") for i in range(100)}
    assert old["end_reason"] == "compact" and new["previous"] == old["window"]


# -- what is owed ----------------------------------------------------------------------------------

def test_a_call_that_was_stopped_for_another_reason_has_read_no_directives(world, project):
    (project / "src").mkdir()
    (project / "src/AGENTS.md").write_text("src words")
    begin(world, project, "review", *metadata(gates={"heartbeat": 3, "directives": True}))
    a = Agent(world, project)
    a.start()
    assert [a.bash(f"ls {i}") for i in range(2)] == [None] * 2
    said = a.edit(project / "src/x.c")
    assert "calls without a line" in said and "src words" not in said
    a.hookd("effort", "log", "looked around")
    assert "src words" in a.edit(project / "src/x.c")
    assert a.edit(project / "src/x.c") is None


def test_what_a_rule_stopped_is_given_with_the_next_call(world, project):
    (project / "src").mkdir()
    (project / "src/AGENTS.md").write_text("src words")
    begin(world, project, "review", *metadata(gates={"directives": True}, rules=[
        {"ruleId": "none", "condition": {"field": "file_path", "op": "contains", "value": "x.c"}, "urgency": "block", "payload": "not x.c"}]))
    a = Agent(world, project)
    a.start()
    assert "not x.c" in a.edit(project / "src/x.c")
    assert "src words" in a.edit(project / "src/y.c")


def test_what_came_too_late_comes_with_the_next_event(world, project):
    """The store is busy when the session starts: the start, its directives and the words of the phase come later."""
    skill(project, "review", "---\nphases: ['1: Read']\n---\n## 1: Read\nRead it twice.\n")
    (project / "AGENTS.md").write_text("root words")
    begin(world, project, "review", "--goal", "Find the leak")
    effort(world, "phase", "1", cwd=project)
    a = Agent(world, project)
    db = sqlite3.connect(world.dir / "hookd.db", isolation_level=None, timeout=30)
    db.execute("BEGIN IMMEDIATE")
    try:
        first = a.start()
    finally:
        db.execute("ROLLBACK")
        db.close()
    assert "Find the leak" not in first
    a.bash("ls")
    text = "".join(a.texts)
    assert "Find the leak" in text and "root words" in text and "Read it twice." in text
    a.bash("ls")
    assert "words" not in "".join(a.texts)


def test_each_of_many_folders_gives_its_directives_once(world, project):
    begin(world, project)
    for i in range(90):
        (project / f"d{i}").mkdir()
        (project / f"d{i}/AGENTS.md").write_text(f"words of folder {i}.")
    a = Agent(world, project)
    a.start()
    texts = []
    for i in [*range(90), *range(90)]:
        a.read(project / f"d{i}/x.c")
        texts.append("".join(a.texts))
    assert [f"words of folder {i}." in texts[i] for i in range(90)] == [True] * 90
    assert not [t for t in texts[90:] if "words" in t]


def test_preloads_that_are_owed_are_listed_before_a_call(world, project):
    names = [f"{i}.md" for i in range(6)]
    for name in names:
        (project / name).write_text("y" * 2900)
    begin(world, project, "review", *metadata(preload=names))
    given = world.rpc("hooks.sessionStart", sessionId="s1", cwd=str(project), source="startup")["filesToPreload"]
    a = world.rpc("hooks.preToolUse", sessionId="s1", cwd=str(project), toolName="Bash", toolInput={"command": "ls"}, toolUseId="t1")
    assert a["pendingPreloads"] and sorted(given + a["pendingPreloads"]) == [str(project / n) for n in names]


def test_a_preload_or_directive_that_is_missing_is_named(world, project):
    skill(project, "review", "---\npreload: [docs/x.md]\ndirectives: [PITFALLS, TESTING]\ntemplates: {log: LOG.md}\n---\n")
    (project / "TESTING.md").write_text("testing words")
    begin(world, project)
    text = Agent(world, project).start()
    for words in ("preload docs/x.md is not there", "directive PITFALLS is not there", "template LOG.md is not there", "testing words"):
        assert words in text, words
    assert "TESTING is not there" not in text


# -- answers ---------------------------------------------------------------------------------------

def test_a_task_that_is_done_is_kept_with_its_words(world, project):
    e = begin(world, project)
    world.rpc("hooks.sessionStart", sessionId="s1", cwd=str(project), source="startup")
    world.rpc("hooks.taskCompleted", sessionId="s1", cwd=str(project), taskId="7", taskSubject="Pier one", taskDescription="Of stone",
              teammateName="mate", teamName="bridge")
    world.rpc("hooks.taskCompleted", sessionId="s1", cwd=str(project), taskId="8", taskSubject="Pier two", agentId="a1")
    assert len(windows(world, e["effort"])) == 1
    got = [m for m in effort(world, "show", e["effort"])["messages"] if m["kind"] == "task"]
    assert [(m["text"], m["data"]) for m in got] == [("Pier two", {"task": "8"}), ("Pier one", {"task": "7", "description": "Of stone", "teammate": "mate", "team": "bridge"})]


def test_a_permission_request_says_whose_it_is(world, project):
    e = begin(world, project)
    start = world.rpc("hooks.sessionStart", sessionId="s1", cwd=str(project), source="startup")
    a = world.rpc("hooks.permissionRequest", sessionId="s1", cwd=str(project), toolName="Bash", toolInput={"command": "ls"})
    assert (a["effortId"], a["sessionId"], a["agentStatus"], a["allow"]) == (e["effort"], start["sessionId"], "attention", True)


def test_a_subagent_is_given_what_the_effort_was_begun_with(world, project):
    skill(project, "review", "---\nphases: ['1: Read']\n---\n## 1: Read\nRead it twice.\n")
    (project / "style.md").write_text("Tabs, never blanks.")
    begin(world, project, "review", *metadata(preload=["style.md"], ticket="B-7", gates={"heartbeat": 50}))
    effort(world, "phase", "1", cwd=project)
    world.rpc("hooks.sessionStart", sessionId="s1", cwd=str(project), source="startup")
    a = world.rpc("hooks.subagentStart", sessionId="s1", cwd=str(project), agentId="a1", agentType="Explore")
    for words in ("Tabs, never blanks.", "Read it twice.", '"ticket":"B-7"'):
        assert words in a["additionalContext"], words
    assert "heartbeat" not in a["additionalContext"]
    assert (a["skill"], a["phase"], a["metadata"]["ticket"]) == ("review", "1: Read", "B-7")
    assert a["filesToPreload"] == [str(project / "style.md")]


def test_no_more_files_are_named_than_an_agent_reads(world, project):
    begin(world, project)
    effort(world, "checkpoint", *[x for i in range(6) for x in ("--file", f"noted{i}.c")], cwd=project)
    a = Agent(world, project, session="s1")
    a.start()
    for i in range(6):
        (project / f"{i}.c").write_text("x")
        a.call("Write", file_path=str(project / f"{i}.c"), content="y")
    got = world.rpc("hooks.preCompact", sessionId="s1", cwd=str(project), trigger="manual")
    assert len(got["dehydratedContext"]["files"]) == 8


# -- the table of active efforts -------------------------------------------------------------------

def test_an_effort_that_had_no_room_comes_back_when_it_is_resumed(world, project):
    first = begin(world, project, "review", "--goal", "Find the leak")
    other = world.top / "other"
    (other / ".git").mkdir(parents=True)
    for _ in range(256):
        world.hookd("effort", "start", "x", cwd=other)
    assert "Find the leak" not in Agent(world, project).start()
    effort(world, "resume", first["effort"])
    assert "Find the leak" in Agent(world, project).start()


def test_efforts_that_could_not_be_read_are_read_again(world, project):
    """The store is busy for longer than the first attempt waits."""
    begin(world, project, "review", "--goal", "Find the leak", *metadata(gates={"heartbeat": 1}))
    world.stop()
    db = sqlite3.connect(world.dir / "hookd.db", isolation_level=None, timeout=30)
    db.execute("BEGIN IMMEDIATE")
    try:
        a = Agent(world, project)
        a.start()
        assert a.bash("ls") is None  # nothing is gated until they are known
        wait_for(lambda: b"efforts cannot be read" in b"".join(p.read_bytes() for p in world.dir.rglob("*.log")), what="the first attempt")
    finally:
        db.execute("ROLLBACK")
        db.close()

    def gated():
        return a.bash("ls")
    assert "calls without a line" in wait_for(gated, what="the gate")
    assert "Find the leak" in "".join(a.texts) or "Find the leak" in a.prompt()


# -- checklists ------------------------------------------------------------------------------------

@pytest.mark.parametrize("how", ["never worked through", "worked through"])
def test_a_checklist_that_is_gone_is_open(world, project, how):
    path = project / "CHECKLIST.md"
    path.write_text("- [ ] tests pass\n")
    begin(world, project, "review", *metadata(gates={"checklists": True}))
    Agent(world, project).start()
    if how == "worked through":
        effort(world, "checklist", str(path), "--proof", "42 passed", cwd=project)
    path.unlink()
    said = effort(world, "finish", cwd=project, ok=False)
    assert "CHECKLIST.md cannot be read" in said and "gate checklists off" in said
    assert b"open" in world.hookd("effort", "checklist", cwd=project).stdout
    effort(world, "gate", "checklists", "off", cwd=project)
    assert effort(world, "finish", cwd=project)["state"] == "finished"

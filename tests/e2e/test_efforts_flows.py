"""The life cycle flows of the hooks architecture, each as it is written there, by hooks.* as a script would call them; the
context that fills up, as agents tell of it; many subagents at once; kills while efforts change."""
import json
import os
import random
import threading
import time

import pytest

from efforts import Agent, begin, effort, messages, metadata, skill, windows
from world import in_threads, wait_for

SKILL = "---\nphases: ['0: Setup', '1: Work']\npreload: [NOTES.md]\n---\n## 0: Setup\nSet it up.\n## 1: Work\nDo the work.\n"
EVENTS = ["sessionStart", "sessionEnd", "preCompact", "preToolUse", "postToolUse", "postToolUseFailure", "stop", "userPrompt", "notification",
          "permissionRequest", "teammateIdle", "taskCompleted", "subagentStart", "subagentStop", "configChange"]


@pytest.fixture
def project(world):
    path = world.top / "project"
    (path / ".git").mkdir(parents=True)
    (path / "NOTES.md").write_text("Mind the gap.\n")
    skill(path, "work", SKILL)
    return path


class Script:
    """A hook that forwards its events by JSON-RPC."""

    def __init__(self, world, cwd, session="s1"):
        self.world, self.base = world, {"sessionId": session, "cwd": str(cwd)}

    def __call__(self, method, **more):
        return self.world.rpc(f"hooks.{method}", **{**self.base, **more})


@pytest.fixture
def hooks(world, project):
    return Script(world, project)


def call(n, command="ls"):
    return {"toolName": "Bash", "toolInput": {"command": command}, "toolUseId": f"t{n}"}


# -- the flows -------------------------------------------------------------------------------------

def test_startup_flow(world, project, hooks):
    e = begin(world, project, "work", "--goal", "Bridge")
    effort(world, "phase", "0", cwd=project)
    a = hooks("sessionStart", source="startup")
    assert a["found"] and (a["effortId"], a["skill"], a["phase"]) == (e["effort"], "work", "0: Setup")
    assert a["skillConfig"]["preload"] == ["NOTES.md"] and a["filesToPreload"] == [str(project / "NOTES.md")]
    assert "Mind the gap." in a["additionalContext"] and "Set it up." in a["additionalContext"]
    # Always a new window.
    b = hooks("sessionStart", source="resume")
    assert b["effortId"] == a["effortId"] and b["sessionId"] != a["sessionId"]


def test_tool_call_flow(world, project, hooks):
    begin(world, project, "work", *metadata(gates={"heartbeat": 3}, rules=[
        {"ruleId": "second", "condition": {"field": "tool_calls", "op": "eq", "value": 2}, "payload": {"text": "That was two."}}]))
    hooks("sessionStart", source="startup")
    a = hooks("preToolUse", **call(1))
    assert (a["allow"], a["heartbeatCount"], a["firedRules"]) == (True, 1, [])
    effort(world, "phase", "0", cwd=project)  # resets the heartbeat
    a = hooks("postToolUse", toolResponse={"stdout": ""}, **call(1))
    assert a["heartbeatCount"] == 0 and "Set it up." in a["pendingInjections"][0] and a["additionalContext"] == a["pendingInjections"][0]
    a = hooks("preToolUse", **call(2))
    assert a["allow"] and a["firedRules"] == [{"ruleId": "second", "blocks": False, "text": "That was two."}]
    assert hooks("postToolUse", toolResponse={"stdout": ""}, **call(2))["pendingInjections"] == []
    assert hooks("preToolUse", **call(3))["allow"] is True
    a = hooks("preToolUse", **call(4))
    assert a["allow"] is False and a["heartbeatCount"] == 3 and "hookd effort log" in a["reason"]
    assert [f["ruleId"] for f in a["firedRules"]] == ["effort.heartbeat"]
    asked = {"toolName": "AskUserQuestion", "toolUseId": "t5", "toolInput": {"questions": [
        {"question": "Wood or stone?", "header": "x", "options": [{"label": "Wood", "description": "x"}, {"label": "Stone", "description": "y"}]}]}}
    hooks("preToolUse", **asked)
    a = hooks("postToolUse", toolResponse={"answers": {"Wood or stone?": "Stone"}}, **asked)
    assert a["dialogueEntry"] == {"questions": [{"question": "Wood or stone?", "options": ["Wood", "Stone"], "answer": "Stone"}]}


def transcript(world, session, *lines):
    folder = world.home / ".claude/projects/-project"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{session}.jsonl"
    with open(path, "a") as f:
        f.writelines(json.dumps(line) + "\n" for line in lines)
    return str(path)


def answer(tokens, n, model="claude-opus-5-5", text="ok"):
    return {"type": "assistant", "isSidechain": False, "timestamp": "2026-11-15T06:47:20.661Z", "sessionId": "s1", "uuid": f"u{n}",
            "message": {"id": f"m{n}", "role": "assistant", "model": model, "content": [{"type": "text", "text": text}],
                        "usage": {"input_tokens": 10, "cache_read_input_tokens": tokens - 110, "cache_creation_input_tokens": 50, "output_tokens": 50}}}


def usage(hooks, n, path):
    """contextUsage as the next calls see it, once the transcript has been read."""
    hooks("postToolUse", toolResponse={"stdout": ""}, transcriptPath=path, **call(n))
    return hooks("preToolUse", transcriptPath=path, **call(n + 1))


def test_overflow_flow(world, project, hooks):
    """90 % → warning → the agent writes where it stands → session.finish → the next window has it."""
    e = begin(world, project, "work", *metadata(gates={"overflow": True}))
    path = transcript(world, "s1", answer(80000, 1))
    a = hooks("sessionStart", source="startup", transcriptPath=path)
    first = a["sessionId"]
    got = wait_for(lambda: usage(hooks, random.randrange(10**9), path)["contextUsage"], what="the usage")
    assert got == 50  # of 160,000: at 80 % of the whole the agent compacts by itself
    transcript(world, "s1", answer(146000, 2))
    a = wait_for(lambda: (lambda x: x if x["overflowWarning"] else time.sleep(0.3))(usage(hooks, random.randrange(10**9), path)), what="the warning")
    assert a["allow"] is True and a["contextUsage"] == 91
    assert usage(hooks, random.randrange(10**9), path)["overflowWarning"] is True
    world.rpc("session.finish", window=first, cwd=str(project), payload={"goal": "Bridge", "next": "the second pier"})
    assert windows(world, e["effort"])[0]["end_reason"] == "handed over"
    a = Script(world, project, "s2")("sessionStart", source="startup")
    assert a["dehydratedContext"]["next"] == "the second pier" and a["effortId"] == e["effort"] and a["sessionId"] != first
    assert "the second pier" in a["additionalContext"]


def test_the_agent_is_told_once_and_can_be_stopped(world, project):
    begin(world, project, "work", *metadata(gates={"overflow": {"warn": 80, "block": 95}}))
    a = Agent(world, project, session="s1")
    a.start()
    tell = lambda tokens: world.hookd("usage", "statusline", input=json.dumps({
        "session_id": "s1", "context_window": {"context_window_size": 200000, "current_usage": {
            "input_tokens": 1000, "cache_read_input_tokens": tokens - 2000, "cache_creation_input_tokens": 500, "output_tokens": 500}}}).encode())
    tell(100000)
    assert a.bash("ls") is None and "full" not in "".join(a.texts)
    tell(131000)
    assert a.bash("ls") is None and "81% full" in "".join(a.texts) and "hookd effort checkpoint" in "".join(a.texts)
    assert a.bash("ls") is None and "full" not in "".join(a.texts)
    tell(155000)
    assert "96% full" in a.bash("ls")
    a.hookd("effort", "checkpoint", "--next", "x")
    assert "96% full" in a.bash("ls")  # what must happen now is a new window
    tell(20000)
    assert a.bash("ls") is None


@pytest.mark.parametrize("given", [b"", b"{", b"[]", b'{"session_id":7}', b'{"session_id":"s1","context_window":{}}',
                                   b'{"session_id":"s1","context_window":{"context_window_size":-5,"used_percentage":50}}'])
def test_a_status_line_that_knows_nothing_changes_nothing(world, project, given):
    begin(world, project, "work", *metadata(gates={"overflow": 1}))
    a = Agent(world, project, session="s1")
    a.start()
    world.hookd("usage", "statusline", input=given)
    assert a.bash("ls") is None and "full" not in "".join(a.texts)


def test_a_transcript_elsewhere_is_not_opened(world, project, hooks):
    begin(world, project, "work", *metadata(gates={"overflow": 1}))
    path = world.top / "s1.jsonl"
    path.write_text(json.dumps(answer(190000, 1)) + "\n")
    for n in range(5):
        assert usage(hooks, 10 * n, str(path))["contextUsage"] == 0
        time.sleep(0.05)


def test_rules_know_how_full_the_context_is(world, project):
    begin(world, project, "work", *metadata(rules=[{"ruleId": "big", "condition": {"field": "context_usage", "op": "gte", "value": 50}, "payload": "Half full."}]))
    a = Agent(world, project, session="s1")
    a.start()
    world.rpc("context_used", session="s1", tokens=80000, max=200000)
    a.bash("ls")
    assert "Half full." in "".join(a.texts)


def test_kill_flow_without_a_supervisor(world, project, hooks):
    """Compaction comes first: what it will forget is written down, and comes back afterwards."""
    e = begin(world, project, "work", "--goal", "Bridge")
    hooks("sessionStart", source="startup")
    hooks("postToolUse", toolName="TodoWrite", toolUseId="t", toolInput={"todos": [{"content": "second pier", "status": "in_progress"}]}, toolResponse={})
    a = hooks("preCompact", trigger="auto")
    assert a["ok"] and a["dehydratedContext"]["next"] == "second pier"
    assert windows(world, e["effort"])[0]["checkpoint"]["next"] == "second pier"
    a = hooks("sessionStart", source="compact")
    assert "second pier" in a["additionalContext"]
    now, before = windows(world, e["effort"])
    assert now["previous"] == before["window"] and now["source"] == "compact"


STATUSES = [("userPrompt", {"prompt": "go"}, "working"), ("notification", {"message": "m", "notificationType": "permission_prompt"}, "attention"),
            ("permissionRequest", {"toolName": "Bash", "toolInput": {"command": "ls"}}, "attention"),
            ("postToolUseFailure", {**call(1), "error": "boom"}, "error"), ("stop", {"lastAssistantMessage": "Done."}, "done"),
            ("teammateIdle", {"teammateName": "mate", "teamName": "t", "agentId": "a1"}, "done"), ("sessionEnd", {"reason": "other"}, "done"),
            ("notification", {"message": "m", "notificationType": "auth_success"}, None)]


@pytest.mark.parametrize("method, params, status", STATUSES)
def test_fleet_notification_flow(world, project, hooks, method, params, status):
    """Which status an event gives its agent: one table, whoever shows it."""
    a = hooks(method, **params)
    if method in ("userPrompt", "permissionRequest"):
        assert a["allow"] is True
    else:
        assert a["agentStatus"] == status


@pytest.mark.parametrize("method", EVENTS)
def test_no_handler_is_a_stub(world, project, hooks, method):
    """Each says which effort it belongs to, and leaves something behind or gives something."""
    e = begin(world, project, "work", "--goal", "Bridge")
    if method != "sessionStart":
        hooks("sessionStart", source="startup")
    sub = {"agentId": "a1", "agentType": "Explore"}
    if method == "subagentStop":
        hooks("subagentStart", **sub)
        hooks("postToolUse", toolName="Read", toolInput={"file_path": str(project / "NOTES.md")}, toolUseId="r1", toolResponse={}, **sub)
    a = hooks(method, **{"sessionStart": {"source": "startup"}, "sessionEnd": {"reason": "other"}, "preCompact": {"trigger": "auto"},
                         "preToolUse": call(1), "postToolUse": {**call(1), "toolResponse": {}}, "postToolUseFailure": {**call(1), "error": "boom"},
                         "stop": {"lastAssistantMessage": "Claude usage limit reached. Your limit will reset at 7pm."}, "userPrompt": {"prompt": "x"},
                         "notification": {"message": "m", "notificationType": "idle_prompt"},
                         "permissionRequest": {"toolName": "Bash", "toolInput": {}}, "teammateIdle": {"teammateName": "mate", "teamName": "t", "agentId": "a9"},
                         "taskCompleted": {"taskId": "1", "taskSubject": "Pier one"}, "subagentStart": sub,
                         "subagentStop": {**sub, "lastAssistantMessage": "found it"}, "configChange": {"source": "skills"}}[method])
    shown = effort(world, "show", e["effort"])
    main = [w for w in shown["windows"] if "agent_id" not in w][0]
    checks = {
        "sessionStart": lambda: a["found"] and a["additionalContext"],
        "sessionEnd": lambda: main["end_reason"] == "other" and main["ended_us"] and a["agentStatus"] == "done",
        "preCompact": lambda: a["dehydratedContext"]["goal"] == "Bridge" and main["checkpoint"]["goal"] == "Bridge",
        "preToolUse": lambda: a["allow"] and a["heartbeatCount"] == 1,
        "postToolUse": lambda: a["heartbeatCount"] == 0 and a["pendingInjections"] == [],
        "postToolUseFailure": lambda: a["agentStatus"] == "error" and messages(world, e["effort"], "failure") == ["Bash: boom"],
        "stop": lambda: a["trouble"] == "rate_limit" and a["continue"] is False and "usage limit" in messages(world, e["effort"], "report")[0],
        "userPrompt": lambda: "[Session Context]" in a["sessionContext"] and a["effortId"] == e["effort"],
        "notification": lambda: a["agentStatus"] == "attention" and a["effortId"] == e["effort"],
        "permissionRequest": lambda: a["allow"] is True and (a["effortId"], a["agentStatus"]) == (e["effort"], "attention"),
        "teammateIdle": lambda: a["agentStatus"] == "done",
        "taskCompleted": lambda: messages(world, e["effort"], "task") == ["Pier one"],
        "subagentStart": lambda: "as a subagent" in a["additionalContext"] and "Bridge" in a["additionalContext"],
        "subagentStop": lambda: shown["windows"][0]["agent_id"] == "a1" and shown["windows"][0]["ended_us"] and "ended_us" not in main
        and [x["path"] for x in shown["loads"]] == [str(project / "NOTES.md")],
        "configChange": lambda: a["ok"] and a["effortId"] == e["effort"],
    }
    assert checks[method](), (a, shown)


def test_stop_reports_what_its_transcript_says(world, project, hooks):
    """An agent whose hook does not say what was said last."""
    e = begin(world, project, "work")
    path = transcript(world, "s1", answer(1000, 1, text="Prompt is too long"))
    hooks("sessionStart", source="startup", transcriptPath=path)
    hooks("stop", transcriptPath=path)
    wait_for(lambda: messages(world, e["effort"], "report"), what="the report")
    assert messages(world, e["effort"], "report") == ["context_full: Prompt is too long"]


# -- many at once ----------------------------------------------------------------------------------

def test_two_hundred_subagents_keep_their_windows_apart(world, project):
    e = begin(world, project, "work", *metadata(gates={"heartbeat": 50}))
    a = Agent(world, project)
    a.start()
    counts = {f"sub{i}": 1 + i % 9 for i in range(200)}

    def work(i):
        sub, one = f"sub{i}", Agent(world, project, session=a.session)
        one.session_calls = 0
        one.say("SubagentStart", agent_id=sub, agent_type="Explore")
        for n in range(counts[sub]):
            use = {"tool_name": "Read", "tool_input": {"file_path": f"/{sub}/{n}"}, "tool_use_id": f"{sub}-{n}", "agent_id": sub, "agent_type": "Explore"}
            assert "deny" not in json.dumps(one.say("PreToolUse", **use))
            one.say("PostToolUse", tool_response={}, **use)
        if i % 2:
            one.say("SubagentStop", agent_id=sub, agent_type="Explore", stop_hook_active=False)

    for start in range(0, 200, 40):
        in_threads(40, lambda i: work(start + i))
    # Each counts by itself: one more call is the next of its own.
    for i in (0, 2, 100, 198):
        got = world.rpc("hooks.preToolUse", sessionId=a.session, cwd=str(project), agentId=f"sub{i}", agentType="Explore", **call(f"x{i}"))
        assert got["heartbeatCount"] == counts[f"sub{i}"] + 1, i
    assert world.rpc("hooks.preToolUse", sessionId=a.session, cwd=str(project), **call("main"))["heartbeatCount"] == 1
    ws = {w.get("agent_id"): w for w in effort(world, "show", e["effort"])["windows"]}
    assert len(ws) == 200 or len(ws) == 201  # the answer shows at most 200
    store = world.rpc("effort", effort=e["effort"])
    assert all(("ended_us" in w) == (int(s[3:]) % 2 == 1) for s, w in ws.items() if s)
    assert {p["path"].split("/")[1] for p in store["loads"] if p["path"] != str(project / "NOTES.md")} <= set(counts)


def test_kills_while_efforts_change_lose_and_double_nothing(world, project):
    """Twenty kills; every change that was acknowledged is there once, in order."""
    world.start()
    e = begin(world, project, "work", *metadata(gates={"heartbeat": 0}))
    acknowledged, unknown, stop = [], [], threading.Event()

    def log():
        n = 0
        while not stop.is_set():
            n += 1
            done = world.hookd("effort", "log", f"line {n}", "-e", e["effort"], cwd=project, ok=False)
            (acknowledged if done.returncode == 0 else unknown).append(f"line {n}")

    def work():
        a = Agent(world, project)
        a.start()
        while not stop.is_set():
            a.bash("ls")

    threads = [threading.Thread(target=f) for f in (log, work)]
    for t in threads:
        t.start()
    random.seed(7)
    for _ in range(20):
        time.sleep(random.uniform(0.05, 0.25))
        pid = world.pid()
        if pid:
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
        world.hookd("start", ok=False)
    stop.set()
    for t in threads:
        t.join()
    world.hookd("start", ok=False)
    db = effort(world, "show", e["effort"])
    kept = [m["text"] for m in reversed(db["messages"]) if m["kind"] == "log"][-150:]
    assert len(set(kept)) == len(kept), "doubled"
    assert len(acknowledged) >= 20
    missing = [x for x in acknowledged[-100:] if x not in kept]
    assert not missing, missing
    assert [x for x in kept if x in acknowledged] == [x for x in acknowledged if x in kept], "out of order"
    assert len({w["window"] for w in db["windows"]}) == len(db["windows"])

"""Every event of Claude Code: the real program is brought to fire it, and the store is right."""

import collections
import json
import sys

import pytest

from hookd import named
from model import Lane, say, use
from terminal import ENTER, sit_down

# Replace what the agent does itself, so hookd never installs them.
NEVER = {"WorktreeCreate", "WorktreeRemove"}
# Off unless asked for.
NOT_BY_DEFAULT = {"PostToolBatch", "FileChanged", "MessageDisplay"}
# Say again what others said, as often as the agent likes.
CHATTER = ("PostToolBatch", "MessageDisplay")
WANTED = 31  # all that hookd installs


@pytest.fixture(scope="module")
def seen():
    """Event -> the test in which it first arrived."""
    return {}


@pytest.fixture
def allowed():
    """Tools that ask nobody; a test may take some away."""
    return ["Bash", "Write", "Read", "Edit", "Agent", "mcp__probe"]


@pytest.fixture
def store(claude, hookd, allowed, seen, request):
    claude.write_settings(json.dumps({"permissions": {"allow": allowed}}))
    hookd.init("claude", "--all-events")
    hookd.start()
    yield hookd
    for e in hookd.events():
        seen.setdefault(e.event, request.node.name)


# -- reading the store -----------------------------------------------------------------------------

def ended(store, count=1):
    """All events once that many sessions ended, each stored once."""
    events = store.wait_for_event("SessionEnd", count)
    assert len({e.id for e in events}) == len(events)
    assert {e.agent for e in events} == {"claude"}
    for e in events:
        assert e.event == e.payload["hook_event_name"] and e.session == e.payload["session_id"]
    return events


def happened(events):
    """How often each event came, without the chatter."""
    return dict(collections.Counter(e.event for e in events if e.event not in CHATTER))


def told(store, events):
    """`hookd show` of the only session, of which every event counts: none doubles another."""
    [session] = {e.session for e in events}
    show = store.show(session)
    assert show["session"]["events"] == len(events)
    assert show["session"]["status"] == "completed"
    return show


def only(events, name):
    [e] = named(events, name)
    return e.payload


def lines(activities):
    """(kind or tool, what became of it) of each activity, in order."""
    return [(a.get("tool") if a["kind"] == "tool" else a["kind"], a["state"]) for a in activities]


def activity(activities, kind):
    [a] = [a for a in activities if a["kind"] == kind]
    return a


def call(activities, use):
    [a] = [a for a in activities if a.get("tool_use_id") == use]
    return a


def check_batch(batch, prompt, response, closed_by="stop", **more):
    want = {"source": "user", "prompt": prompt, "status": "completed", "closed_by": closed_by,
            "late": False, "private": False, **more}
    if response is not None:
        want["response"] = response
    assert {k: batch.get(k) for k in want} == want


# -- installed -------------------------------------------------------------------------------------

@pytest.mark.parametrize("every", [False, True])
def test_what_is_installed(claude, hookd, every):
    hookd.init("claude", *(["--all-events"] if every else []))
    hooks = set(json.loads(claude.settings.read_text())["hooks"])
    assert not hooks & NEVER
    assert len(hooks) == (WANTED if every else WANTED - len(NOT_BY_DEFAULT))
    assert NOT_BY_DEFAULT <= hooks if every else not NOT_BY_DEFAULT & hooks


def test_worktrees_stay_the_agents_business(rig, claude, store, model):
    m = model([say("", use("EnterWorktree", "toolu_tree", name="side")),
               say("", use("Bash", "toolu_there", command="git rev-parse --show-toplevel")),
               say("In the tree.")])
    claude.ask(m, "work beside").ok()
    events = ended(store)
    assert not NEVER & set(happened(events))
    where = m.results()["toolu_there"][0].strip()
    assert where.startswith(str(rig.project)) and where != str(rig.project), where
    show = told(store, events)
    # One session in one project, in whichever of its trees the agent is.
    assert show["session"]["project"]["path"] == str(rig.project)
    assert call(show["batches"][0]["activities"], "toolu_there")["state"] == "done"


# -- a session and its tools -----------------------------------------------------------------------

def test_a_slash_command_with_instructions_and_a_move(rig, claude, store, model):
    project = rig.project
    (project / ".claude/commands").mkdir(parents=True)
    (project / ".claude/commands/greet.md").write_text("Greet $ARGUMENTS.\n")
    (project / "CLAUDE.md").write_text("Be kind.\n")
    (project / "sub").mkdir()
    (project / "sub/CLAUDE.md").write_text("Be brief.\n")
    (project / "sub/note.txt").write_text("a note\n")
    m = model([say("", use("Bash", "toolu_cd", command="cd sub")),
               say("", use("Read", "toolu_note", file_path=str(project / "sub/note.txt"))),
               say("", use("Bash", "toolu_bad", command="echo oh-no >&2; exit 3")),
               say("", use("WebFetch", "toolu_web", url="http://127.0.0.1:9/", prompt="read")),
               say("Greetings.")])
    claude.ask(m, "/greet all of you").ok()
    assert m.main.left == 0

    events = ended(store)
    assert happened(events) == {
        "SessionStart": 1, "InstructionsLoaded": 2, "UserPromptSubmit": 1, "UserPromptExpansion": 1,
        "PreToolUse": 4, "PostToolUse": 2, "PostToolUseFailure": 1, "PermissionRequest": 1,
        "CwdChanged": 1, "Stop": 1, "SessionEnd": 1}
    # Text in one piece, and the results of each turn's calls.
    assert len(named(events, "MessageDisplay")) == 1 and len(named(events, "PostToolBatch")) == 4
    assert only(events, "MessageDisplay")["delta"] == "Greetings."
    assert [c["tool_use_id"] for e in named(events, "PostToolBatch")
            for c in e.payload["tool_calls"]] == [e.use for e in named(events, "PreToolUse")]
    assert only(events, "SessionStart")["source"] == "startup"
    assert only(events, "SessionEnd")["reason"] == "other"
    assert [(e.payload["file_path"], e.payload["load_reason"])
            for e in named(events, "InstructionsLoaded")] == [
        (str(project / "CLAUDE.md"), "session_start"),
        (str(project / "sub/CLAUDE.md"), "nested_traversal")]
    expansion = only(events, "UserPromptExpansion")
    assert (expansion["command_name"], expansion["command_args"]) == ("greet", "all of you")
    moved = only(events, "CwdChanged")
    assert (moved["old_cwd"], moved["new_cwd"]) == (str(project), str(project / "sub"))
    assert only(events, "PermissionRequest")["tool_name"] == "WebFetch"
    [prompt_id] = {e.payload["prompt_id"] for e in events if "prompt_id" in e.payload}

    show = told(store, events)
    assert show["session"]["cwd"] == str(project) and show["session"]["end_reason"] == "other"
    [window] = show["windows"]
    assert (window["source"], window["end_reason"]) == ("startup", "other")
    [batch] = show["batches"]
    check_batch(batch, "/greet all of you", "Greetings.", prompt_id=prompt_id, mode="default")
    assert lines(batch["activities"]) == [
        ("UserPromptExpansion", "done"), ("Bash", "done"), ("CwdChanged", "done"), ("Read", "done"),
        ("InstructionsLoaded", "done"), ("Bash", "failed"), ("WebFetch", "started"),
        ("PermissionRequest", "done")]
    assert activity(batch["activities"], "UserPromptExpansion")["output"] == "greet"
    assert activity(batch["activities"], "CwdChanged")["output"] == str(project / "sub")
    assert activity(batch["activities"], "PermissionRequest")["tool"] == "WebFetch"
    note = call(batch["activities"], "toolu_note")
    assert (note["file"], note["change"]) == ("sub/note.txt", "read")
    assert "oh-no" in call(batch["activities"], "toolu_bad")["error"]
    assert lines(show["outside"]) == [("InstructionsLoaded", "done")]
    assert show["stats"]["tool_counts"] == {"Bash": 2, "Read": 1, "WebFetch": 1}
    assert show["stats"]["failed"] == 1


def test_setup(claude, store, model):
    claude.run(model([]), "--init-only").ok()
    claude.ask(model([say("All is well.")]), "have a look", "--maintenance").ok()
    events = ended(store, 2)
    for trigger, prompts in (("init", 0), ("maintenance", 1)):
        [session] = [e.session for e in named(events, "Setup") if e.payload["trigger"] == trigger]
        mine = [e for e in events if e.session == session]
        assert mine[0].event == "Setup" and len(named(mine, "SessionStart")) == 1
        show = told(store, mine)
        # Setup comes first, and is part of the window that starts then.
        assert [w["source"] for w in show["windows"]] == ["startup"]
        assert activity(show["outside"], "Setup")["output"] == trigger
        assert len(show["batches"]) == show["session"]["prompts"] == prompts


def test_tasks(claude, store, model):
    m = model([say("", use("TaskCreate", "toolu_new", subject="Water the plants",
                           description="all of them")),
               say("", use("TaskUpdate", "toolu_done", taskId="1", status="completed")),
               say("Watered.")])
    # The default model is not offered these tools.
    claude.ask(m, "keep a list", "--model", "claude-sonnet-4-5",
               env={"CLAUDE_CODE_ENABLE_TASKS": "1"}).ok()
    events = ended(store)
    assert happened(events)["TaskCreated"] == happened(events)["TaskCompleted"] == 1
    for name in ("TaskCreated", "TaskCompleted"):
        task = only(events, name)
        assert (task["task_id"], task["task_subject"]) == ("1", "Water the plants")
    [batch] = told(store, events)["batches"]
    check_batch(batch, "keep a list", "Watered.", source="derived_plan")
    assert lines(batch["activities"]) == [
        ("TaskCreate", "done"), ("TaskCreated", "done"),
        ("TaskUpdate", "done"), ("TaskCompleted", "done")]
    assert activity(batch["activities"], "TaskCompleted")["output"] == "Water the plants"


PROBE = '''
import json, sys
waiting = None

def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

for line in sys.stdin:
    m = json.loads(line)
    method, id = m.get("method"), m.get("id")
    if method == "initialize":
        send(id=id, result={"protocolVersion": m["params"]["protocolVersion"],
                            "capabilities": {"tools": {}},
                            "serverInfo": {"name": "probe", "version": "1"}})
    elif method == "tools/list":
        send(id=id, result={"tools": [{"name": "ask", "description": "asks the person",
                                       "inputSchema": {"type": "object", "properties": {}}}]})
    elif method == "tools/call":
        waiting = id
        send(id=900, method="elicitation/create", params={
            "message": "What is your name?", "requestedSchema": {
                "type": "object", "properties": {"name": {"type": "string"}}}})
    elif id == 900:
        send(id=waiting, result={"content": [
            {"type": "text", "text": "answer: " + m.get("result", {}).get("action", "none")}]})
    elif method and id is not None:
        send(id=id, result={})
'''


def test_a_tool_server_asks_the_person(rig, claude, store, model):
    server = rig.root / "probe.py"
    server.write_text(PROBE)
    config = {"mcpServers": {"probe": {"command": sys.executable, "args": [str(server)]}}}
    m = model([say("", use("mcp__probe__ask", "toolu_ask")), say("Nobody answered.")])
    claude.ask(m, "ask me", "--mcp-config", json.dumps(config)).ok()
    assert "answer: cancel" in m.results()["toolu_ask"][0]

    events = ended(store)
    assert happened(events) == {
        "SessionStart": 1, "UserPromptSubmit": 1, "PreToolUse": 1, "Elicitation": 1,
        "ElicitationResult": 1, "Notification": 1, "PostToolUse": 1, "Stop": 1, "SessionEnd": 1}
    assert only(events, "Elicitation")["mcp_server_name"] == "probe"
    assert only(events, "ElicitationResult")["action"] == "cancel"
    assert only(events, "Notification")["notification_type"] == "elicitation_response"
    [batch] = told(store, events)["batches"]
    assert lines(batch["activities"]) == [
        ("mcp__probe__ask", "done"), ("Elicitation", "done"), ("ElicitationResult", "done"),
        ("Notification", "done")]
    assert call(batch["activities"], "toolu_ask")["class"] == "mcp"
    assert activity(batch["activities"], "Elicitation")["output"] == "What is your name?"
    assert activity(batch["activities"], "ElicitationResult")["output"] == "cancel"


# -- what goes wrong -------------------------------------------------------------------------------

def test_a_turn_that_fails(claude, store, model):
    m = model([say("", use("Bash", "toolu_first", command="echo first")),
               {"fail": {"status": 429, "type": "rate_limit_error", "message": "too many"}}])
    done = claude.ask(m, "try it")
    assert done.rc != 0 and "too many" in done.out
    events = ended(store)
    assert happened(events) == {"SessionStart": 1, "UserPromptSubmit": 1, "PreToolUse": 1,
                                "PostToolUse": 1, "StopFailure": 1, "SessionEnd": 1}
    failure = only(events, "StopFailure")
    assert failure["error"] == "rate_limit" and "too many" in failure["last_assistant_message"]
    show = told(store, events)
    [batch] = show["batches"]
    check_batch(batch, "try it", failure["last_assistant_message"], closed_by="failure")
    assert lines(batch["activities"]) == [("Bash", "done"), ("StopFailure", "failed")]
    assert activity(batch["activities"], "StopFailure")["error"] == "rate_limit"
    assert show["outside"] == []


@pytest.mark.parametrize("allowed", [["Read"]])
def test_a_refusal_in_auto_mode(rig, claude, store, model):
    m = model([say("", use("Bash", "toolu_risky",
                           command="touch risky; git clone http://127.0.0.1:9/x")),
               say("Then not.")])
    claude.ask(m, "do something risky", "--permission-mode", "auto")
    assert not (rig.project / "risky").exists()
    events = ended(store)
    assert happened(events) == {"SessionStart": 1, "UserPromptSubmit": 1, "PreToolUse": 1,
                                "PermissionDenied": 1, "Stop": 1, "SessionEnd": 1}
    denied = only(events, "PermissionDenied")
    assert denied["tool_use_id"] == "toolu_risky" and denied["reason"]
    show = told(store, events)
    [batch] = show["batches"]
    check_batch(batch, "do something risky", "Then not.", mode="auto")
    # The call and its refusal are one line.
    assert lines(batch["activities"]) == [("Bash", "denied")]
    assert batch["activities"][0]["error"] == denied["reason"]
    assert (show["stats"]["denied"], show["stats"]["failed"]) == (1, 0)


# -- subagents -------------------------------------------------------------------------------------

def helper(background):
    """(steps of the main conversation, lane of the helper)"""
    main = [say("", use("Agent", "toolu_agent", description="count", prompt="LANE-HELPER: count",
                        subagent_type="general-purpose", run_in_background=background)),
            say("It works." if background else "It said three.")]
    if background:
        main.append(say("It said three."))
    wait = "sleep 0.4; " if background else ""
    return main, Lane([say("", use("Bash", "toolu_inside", command=wait + "echo inside")),
                       say("three")], when="LANE-HELPER")


def check_helper(show, events):
    """Asserts one helper with one call, in a window of its own."""
    start, stop = only(events, "SubagentStart"), only(events, "SubagentStop")
    assert start["agent_id"] == stop["agent_id"] and start["agent_type"] == "general-purpose"
    main, child = show["windows"]
    assert (main["source"], child["source"]) == ("startup", "subagent")
    assert child["parent"] == main["key"]
    assert (child["agent_id"], child["agent_type"]) == (start["agent_id"], "general-purpose")
    assert child["message"] == "three" and child["ended_us"] >= child["started_us"]
    inside = call(show["batches"][0]["activities"], "toolu_inside")
    assert (inside["window"], inside["agent_id"]) == (child["key"], start["agent_id"])
    agent = call(show["batches"][0]["activities"], "toolu_agent")
    assert agent["window"] == main["key"] and "agent_id" not in agent and agent["class"] == "agent"


def test_a_subagent_is_a_child_window(claude, store, model):
    main, lane = helper(False)
    claude.ask(model(main, lane), "ask a helper").ok()
    events = ended(store)
    assert happened(events) == {"SessionStart": 1, "UserPromptSubmit": 1, "PreToolUse": 2,
                                "PostToolUse": 2, "SubagentStart": 1, "SubagentStop": 1,
                                "Stop": 1, "SessionEnd": 1}
    show = told(store, events)
    check_helper(show, events)
    [batch] = show["batches"]
    check_batch(batch, "ask a helper", "It said three.")
    assert lines(batch["activities"]) == [("Agent", "done"), ("SubagentStart", "done"),
                                          ("Bash", "done"), ("SubagentStop", "done")]
    assert show["outside"] == []


def test_a_subagent_in_the_background_reports_by_a_prompt(claude, store, model):
    main, lane = helper(True)
    claude.ask(model(main, lane), "ask a helper").ok()
    events = ended(store)
    assert happened(events) == {"SessionStart": 1, "UserPromptSubmit": 2, "PreToolUse": 2,
                                "PostToolUse": 2, "SubagentStart": 1, "SubagentStop": 1,
                                "Stop": 2, "SessionEnd": 1}
    show = told(store, events)
    check_helper(show, events)
    asked, reported = show["batches"]
    check_batch(asked, "ask a helper", "It works.")
    assert reported["prompt"].startswith("<task-notification>")
    assert (reported["source"], reported["response"]) == ("agent_notification", "It said three.")
    # The helper's call ended after the prompt was answered, and still belongs to it.
    assert call(asked["activities"], "toolu_inside")["state"] == "done"
    assert show["session"]["last_user"] == "ask a helper"


def test_a_teammate_goes_idle(claude, store, model):
    m = model([say("", use("Agent", "toolu_mate", name="mate", description="mate",
                           prompt="LANE-MATE: help", subagent_type="general-purpose")),
               say("A mate is here."), *[say("Noted.")] * 3],
              Lane([say("I am done.")] * 3, when="LANE-MATE"))
    with sit_down(claude, m, "--permission-mode", "default",
                  env={"CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "1"}) as t:
        t.type("get a mate")
        t.wait("A mate is here")
        store.wait_for_event("TeammateIdle")
        t.type("/exit")
        assert t.end() == 0
    events = ended(store)
    idle = named(events, "TeammateIdle")[0].payload
    assert (idle["teammate_name"], idle["agent_type"]) == ("mate", "mate")
    show = told(store, events)
    [child] = [w for w in show["windows"] if w.get("agent_id")]
    assert (child["agent_id"], child["agent_type"]) == (idle["agent_id"], "mate")
    assert child["message"] == "I am done."
    # What the mate reports makes the agent speak once more, to the same prompt.
    last = named(events, "Stop")[-1].payload["last_assistant_message"]
    assert show["batches"][0]["response"] == last
    every = [a for b in show["batches"] for a in b["activities"]] + show["outside"]
    assert [a["output"] for a in every if a["kind"] == "TeammateIdle"] == \
        ["mate"] * len(named(events, "TeammateIdle"))


# -- compaction ------------------------------------------------------------------------------------

SUMMARY = "<analysis>short</analysis><summary>What was done so far.</summary>"


def check_compaction(events, trigger):
    for name in ("PreCompact", "PostCompact"):
        assert only(events, name)["trigger"] == trigger
    assert "What was done so far." in only(events, "PostCompact")["compact_summary"]


def test_compaction_in_the_middle_of_a_prompt(claude, store, model):
    m = model([say("", use("Bash", "toolu_before", command="echo before"), tokens=990_000),
               say(SUMMARY),
               say("", use("Bash", "toolu_after", command="echo after")),
               say("Long, but done.")])
    claude.ask(m, "work long").ok()
    assert m.main.left == 0
    events = ended(store)
    # The one that writes the summary ends like a subagent, but has no type and no start.
    assert happened(events) == {"SessionStart": 2, "UserPromptSubmit": 1, "PreToolUse": 2,
                                "PostToolUse": 2, "PreCompact": 1, "SubagentStop": 1,
                                "PostCompact": 1, "Stop": 1, "SessionEnd": 1}
    check_compaction(events, "auto")
    show = told(store, events)
    first, second = show["windows"]
    assert (first["source"], second["source"]) == ("startup", "compact")
    assert second["previous"] == first["key"]
    assert "end_reason" not in first and first["ended_us"] == second["started_us"]
    # One prompt, before and after.
    [batch] = show["batches"]
    check_batch(batch, "work long", "Long, but done.", window=first["key"])
    assert call(batch["activities"], "toolu_before")["window"] == first["key"]
    assert call(batch["activities"], "toolu_after")["window"] == second["key"]
    assert lines(batch["activities"]) == [("Bash", "done"), ("PreCompact", "done"),
                                          ("PostCompact", "done"), ("Bash", "done")]
    assert activity(batch["activities"], "PreCompact")["window"] == first["key"]
    assert activity(batch["activities"], "PostCompact")["window"] == second["key"]


def test_compaction_by_hand_in_a_resumed_session(claude, store, model):
    m = model([say("Hello."), say(SUMMARY), say("Hello again.")])
    claude.ask(m, "first").ok()
    claude.ask(m, "/compact keep it short", "--continue").ok()
    claude.ask(m, "second", "--continue").ok()
    assert m.main.left == 0
    events = ended(store, 3)
    assert happened(events) == {"SessionStart": 4, "UserPromptSubmit": 2, "PreCompact": 1,
                                "SubagentStop": 1, "PostCompact": 1, "Stop": 2, "SessionEnd": 3}
    check_compaction(events, "manual")
    assert only(events, "PreCompact")["custom_instructions"] == "keep it short"
    show = told(store, events)
    assert [w["source"] for w in show["windows"]] == ["startup", "resume", "compact", "resume"]
    keys = [w["key"] for w in show["windows"]]
    assert [w.get("previous") for w in show["windows"]] == [None, *keys[:-1]]
    assert [b["window"] for b in show["batches"]] == [keys[0], keys[3]]
    for batch, prompt, response in zip(show["batches"], ("first", "second"),
                                       ("Hello.", "Hello again.")):
        check_batch(batch, prompt, response)
    assert lines(show["outside"]) == [("PreCompact", "done"), ("PostCompact", "done")]
    assert [a["window"] for a in show["outside"]] == [keys[1], keys[2]]


# -- what changes around the session ---------------------------------------------------------------

def test_model_and_directories_by_the_host_program(rig, claude, store, model):
    extra = rig.project / "extra"
    extra.mkdir()

    def ask_host(id, **request):
        return {"type": "control_request", "request_id": id, "request": request}

    messages = [ask_host("r1", subtype="register_repo_root", directory=str(extra)),
                ask_host("r2", subtype="set_model", model="claude-sonnet-4-5"),
                {"type": "user", "message": {"role": "user", "content": "by stream"}}]
    claude.run(model([say("Fine.")]), "-p", "--verbose", "--input-format", "stream-json",
               "--output-format", "stream-json",
               input="".join(json.dumps(m) + "\n" for m in messages)).ok()
    events = ended(store)
    assert happened(events) == {"SessionStart": 1, "DirectoryAdded": 1, "PreModelSwitch": 1,
                                "PostModelSwitch": 1, "UserPromptSubmit": 1, "Stop": 1,
                                "SessionEnd": 1}
    added = only(events, "DirectoryAdded")
    assert (added["directory"], added["source"]) == (str(extra), "register_repo_root")
    for name in ("PreModelSwitch", "PostModelSwitch"):
        switch = only(events, name)
        assert (switch["to_model"], switch["source"]) == ("claude-sonnet-4-5", "sdk")
        assert switch["from_model"] != switch["to_model"]
    show = told(store, events)
    assert show["session"]["model"] == "claude-sonnet-4-5"
    # The program does both at once; only before and after have an order.
    assert sorted(lines(show["outside"])) == [("DirectoryAdded", "done"), ("PostModelSwitch", "done"),
                                              ("PreModelSwitch", "done")]
    assert lines(show["outside"]).index(("PreModelSwitch", "done")) < lines(show["outside"]).index(("PostModelSwitch", "done"))
    assert activity(show["outside"], "PostModelSwitch")["output"] == "claude-sonnet-4-5"
    check_batch(show["batches"][0], "by stream", "Fine.")


def test_settings_and_watched_files_change(rig, claude, store, model):
    # Files are watched when a hook names them; here it is one of the person's own.
    settings = json.loads(claude.settings.read_text())
    settings["hooks"]["FileChanged"].append(
        {"matcher": "watched.txt", "hooks": [{"type": "command", "command": "true"}]})
    claude.write_settings(json.dumps(settings))
    watched, local = rig.project / "watched.txt", rig.project / ".claude/settings.local.json"
    watched.write_text("before\n")
    local.parent.mkdir()

    def change(_):
        watched.write_text("after\n")
        store.wait_for_event("FileChanged")
        local.write_text('{"env": {"GREETING": "hi"}}')
        store.wait_for_event("ConfigChange")

    m = model([say("", use("Bash", "toolu_now", command="echo now"), then=change), say("Seen.")])
    claude.ask(m, "watch").ok()
    events = ended(store)
    assert happened(events) == {"SessionStart": 1, "UserPromptSubmit": 1, "FileChanged": 1,
                                "ConfigChange": 1, "PreToolUse": 1, "PostToolUse": 1, "Stop": 1,
                                "SessionEnd": 1}
    changed, config = only(events, "FileChanged"), only(events, "ConfigChange")
    assert (changed["file_path"], changed["event"]) == (str(watched), "change")
    assert (config["file_path"], config["source"]) == (str(local), "local_settings")
    [batch] = told(store, events)["batches"]
    check_batch(batch, "watch", "Seen.")
    assert lines(batch["activities"]) == [("FileChanged", "done"), ("ConfigChange", "done"),
                                          ("Bash", "done")]
    assert activity(batch["activities"], "ConfigChange")["output"] == str(local)


# -- a person at a terminal ------------------------------------------------------------------------

@pytest.mark.parametrize("allowed", [["Read"]])
def test_a_person_is_asked_and_clears(rig, claude, store, model):
    other = rig.root / "other"
    other.mkdir()
    m = model([say("", use("Bash", "toolu_touch", command="touch permitted")),
               say("All finished."), say("A new beginning.")])
    with sit_down(claude, m, "--permission-mode", "default") as t:
        t.type("please touch it")
        t.wait("Do you want to proceed")
        store.wait_for_event("Notification")  # some seconds after the question
        t.press_until(ENTER, "the permission", (rig.project / "permitted").exists)
        t.wait("All finished")
        store.wait_for_event("Stop")
        t.type("/clear")
        store.wait_for_event("SessionStart", 2)
        t.type(f"/add-dir {other}")
        t.wait("Add directory to workspace")
        t.press_until(ENTER, "the directory", lambda: named(store.events(), "DirectoryAdded"))
        t.type("/model sonnet")
        store.wait_for_event("PostModelSwitch")
        t.type("start anew")
        t.wait("A new beginning")
        store.wait_for_event("Stop", 2)
        t.type("/exit")
        assert t.end() == 0

    events = ended(store, 2)
    first, second = (e.session for e in named(events, "SessionStart"))
    before = [e for e in events if e.session == first]
    after = [e for e in events if e.session == second]
    assert happened(before) == {"SessionStart": 1, "UserPromptSubmit": 1, "PreToolUse": 1,
                                "PermissionRequest": 1, "Notification": 1, "PostToolUse": 1,
                                "Stop": 1, "SessionEnd": 1}
    assert happened(after) == {"SessionStart": 1, "DirectoryAdded": 1, "PreModelSwitch": 1,
                               "PostModelSwitch": 1, "UserPromptSubmit": 1, "Stop": 1,
                               "SessionEnd": 1}
    assert only(before, "PermissionRequest")["tool_input"]["command"] == "touch permitted"
    assert only(before, "Notification")["notification_type"] == "permission_prompt"
    assert only(before, "SessionEnd")["reason"] == only(after, "SessionStart")["source"] == "clear"
    assert only(after, "SessionEnd")["reason"] == "prompt_input_exit"
    assert only(after, "DirectoryAdded")["source"] == "slash_command"
    assert only(after, "PostModelSwitch")["source"] == "command"

    old, new = told(store, before), told(store, after)
    assert old["session"]["end_reason"] == "clear"
    assert [(c["id"], c["reason"]) for c in old["children"]] == [(second, "clear")]
    assert (new["session"]["parent"], new["session"]["parent_reason"]) == (first, "clear")
    assert [w["source"] for w in new["windows"]] == ["clear"]
    assert old["session"]["model"] == old["windows"][0]["model"] != new["session"]["model"]
    [batch] = old["batches"]
    check_batch(batch, "please touch it", "All finished.")
    assert lines(batch["activities"]) == [("Bash", "done"), ("PermissionRequest", "done"),
                                          ("Notification", "done")]
    assert activity(batch["activities"], "PermissionRequest")["tool"] == "Bash"
    check_batch(new["batches"][0], "start anew", "A new beginning.")


# -- all of them -----------------------------------------------------------------------------------

def test_every_event_was_seen(request, seen):
    ran = {i.originalname for i in request.session.items if i.module is request.module}
    if ran != {n for n in vars(request.module) if n.startswith("test_")}:
        pytest.skip("counts what the whole module saw")
    for name, test in sorted(seen.items()):
        print(f"{name:22} {test}")
    print(f"{len(seen)} events")
    assert len(seen) == WANTED and not NEVER & set(seen)

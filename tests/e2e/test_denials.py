"""A denied call is seen as denied, and by which rule, wherever a person looks."""
import json

from world import payload, wait_for

DENIED = "echo hookd-selftest-deny"
RULE = "hookd.selftest"


def call(event="PreToolUse", use="t1", command=DENIED, **more):
    named = {"tool_use_id": use} if use else {}
    return payload(event, tool_name="Bash", tool_input={"command": command}, **named, **more)


def activities(world, session="s1"):
    told = world.json("show", session, "--json")
    return [a for b in told["batches"] for a in b["activities"] if a["kind"] == "tool"]


def written(world, *args):
    return world.hookd(*args).stdout.decode()


def test_a_denial_is_in_show_tail_exports_and_stats(world):
    world.hookc("UserPromptSubmit", payload("UserPromptSubmit", prompt="go"))
    world.hookc("PreToolUse", call())
    [a] = activities(world)
    assert (a["state"], a["decision"], a["rule"]) == ("denied", "deny", RULE) and a["reason"]
    for text in (written(world, "show", "s1"), written(world, "tail"), written(world, "export", "s1"),
                 written(world, "export", "-f", "html", "s1")):
        assert f"denied by {RULE}" in text, text
    lines = [json.loads(x) for x in written(world, "export", "-f", "jsonl", "s1").splitlines()]
    [pre] = [e for e in lines if e["event"] == "PreToolUse"]
    assert (pre["verdict"]["decision"], pre["verdict"]["rule"]) == ("deny", RULE)
    assert pre["verdict"] == [e for e in world.events() if e["event"] == "PreToolUse"][0]["verdict"]
    stats = world.json("stats", "--json")
    assert stats["total"]["denied"] == 1
    assert stats["rules"] == [{"rule": RULE, "denied": 1, "asked": 0, "ran_anyway": 0}]
    assert "1 denied" in written(world, "stats") and RULE in written(world, "stats")
    assert [(c["state"], c["rule"]) for c in world.rpc("activities")["activities"]] == [("denied", RULE)]


def test_a_denied_call_that_failed_is_denied_and_one_that_ran_is_shown_as_both(world):
    world.hookc("PreToolUse", call(use="t1"))
    world.hookc("PostToolUseFailure", call("PostToolUseFailure", use="t1", error="the hook said no"))
    world.hookc("PreToolUse", call(use="t2"))
    world.hookc("PostToolUse", call("PostToolUse", use="t2", tool_response={"stdout": "x"}))
    first, second = activities(world)
    assert first["state"] == "denied" and "ran_us" not in first and first["error"]
    assert second["state"] == "done" and second["decision"] == "deny" and second["ran_us"]
    assert f"ran although it was denied by {RULE}" in written(world, "show", "s1")
    assert f"ran although it was denied by {RULE}" in written(world, "export", "s1")
    [rule] = world.json("stats", "--json")["rules"]
    assert (rule["denied"], rule["ran_anyway"]) == (2, 1)


def test_a_call_without_an_id_is_denied_too(world):
    for n in range(2):  # the same command twice: two calls
        world.hookc("BeforeTool", {"session_id": "g1", "hook_event_name": "BeforeTool", "cwd": "/tmp",
                                   "tool_name": "run_shell_command",
                                   "tool_input": {"command": DENIED if n else "ls"}}, agent="gemini")
    told = world.json("show", "g1", "--json")
    assert sorted((a["state"], a.get("rule")) for b in told["batches"] for a in b["activities"]) == [
        ("denied", RULE), ("started", None)]


def test_a_question_is_shown_with_its_rule(world):
    world.dir.mkdir(mode=0o700, exist_ok=True)
    (world.dir / "config.json").write_text(json.dumps({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [
        {"type": "command", "name": "careful", "command": "echo '" + json.dumps({"hookSpecificOutput": {
            "hookEventName": "PreToolUse", "permissionDecision": "ask", "permissionDecisionReason": "is it safe?"}}) + "'"}]}]}}))
    world.hookc("PreToolUse", call(command="make deploy"))
    world.hookc("PostToolUse", call("PostToolUse", command="make deploy", tool_response={"stdout": "x"}))
    [a] = activities(world)
    assert (a["state"], a["decision"], a["rule"]) == ("done", "ask", "hook:careful")
    assert "confirmation required by hook:careful: is it safe?" in written(world, "show", "s1")
    assert world.json("stats", "--json")["rules"][0]["asked"] == 1


def test_what_the_doctor_sends_is_in_no_list(world):
    world.hookc("UserPromptSubmit", payload("UserPromptSubmit", prompt="real work"))
    sent = "hookd-doctor-01HTEST"
    for p in (payload("SessionStart", sent, source="startup", cwd="/tmp/doctor-place"),
              payload("UserPromptSubmit", sent, prompt="Quatsch words", cwd="/tmp/doctor-place"),
              payload("PreToolUse", sent, tool_name="Bash", tool_use_id="d1", tool_input={"command": DENIED}),
              payload("Stop", sent, last_assistant_message="Quatsch answer")):
        world.hookc(p["hook_event_name"], p)
    wait_for(lambda: len(world.rpc("events", session=sent)["events"]) >= 4, what="the doctor's own look")
    for args in (["sessions"], ["sessions", "--all"], ["tail"], ["tail", "--agent", "claude"], ["stats", "--all"],
                 ["search", "Quatsch"], ["usage", "--all"], ["export", "--all"], ["export", "--all", "-f", "jsonl"],
                 ["decisions", "--all"], ["project", "list"]):
        text = written(world, *args)
        assert sent not in text and sent[:12] not in text and "Quatsch" not in text and RULE not in text, (args, text)
        assert "doctor-place" not in text, (args, text)
    assert world.rpc("rule_counts")["rules"] == [] and world.rpc("activities")["activities"] == []
    assert world.json("stats", "--all", "--json")["total"]["sessions"] == 1

"""Gates of efforts: off unless an effort asks, never in the way of hookd's own commands, apart for each window."""
import json

import pytest

from efforts import Agent, begin, effort, metadata, windows


@pytest.fixture
def project(world):
    path = world.top / "project"
    (path / ".git").mkdir(parents=True)
    return path


HEARTBEAT = metadata(gates={"heartbeat": True})


def test_nothing_is_asked_of_an_effort_that_asks_for_nothing(world, project):
    begin(world, project)
    a = Agent(world, project)
    assert all(a.bash(f"ls {i}") is None for i in range(30))


def test_the_heartbeat_stops_the_tenth_call_until_something_is_logged(world, project):
    begin(world, project, "review", *HEARTBEAT)
    a = Agent(world, project)
    assert [a.bash(f"ls {i}") for i in range(9)] == [None] * 9
    said = a.bash("ls 9")
    assert "10 calls" in said and "hookd effort log" in said
    assert "10 calls" in a.bash("ls again")
    a.hookd("effort", "log", "Looked around, found nothing")
    assert [a.bash(f"ls {i}") for i in range(9)] == [None] * 9
    assert a.bash("ls") is not None


def test_a_phase_and_a_checkpoint_count_as_a_log(world, project):
    begin(world, project, "review", *HEARTBEAT)
    a = Agent(world, project)
    for args in (["phase", "1: Read"], ["checkpoint", "--next", "go on"]):
        assert [a.bash(f"ls {i}") for i in range(9)] == [None] * 9 and a.bash("ls") is not None
        a.hookd("effort", *args)


def test_a_log_that_fails_resets_nothing(world, project):
    begin(world, project, "review", *HEARTBEAT)
    a = Agent(world, project)
    for i in range(12):
        a.bash(f"ls {i}")
    assert a.bash("hookd effort log") is None  # allowed, but nothing was logged
    assert a.bash("ls") is not None


@pytest.mark.parametrize("command", [
    "hookd effort log x", "hookd status", "cd /tmp && hookd effort log 'a b'", "echo done | hookd effort log -",
    "hookd effort log - <<'E'\nrm -rf /x\nE", "hookd effort show 2>&1 >/dev/null", "hookd effort log 'a > b'", "LANG=C hookd effort show", "timeout 5 hookd effort show", "env A=b hookd effort show"])
def test_commands_of_hookd_pass_every_gate(world, project, command):
    begin(world, project, "review", *metadata(gates={"heartbeat": 1}))
    a = Agent(world, project)
    assert a.bash("ls") is not None
    assert a.bash(command) is None


@pytest.mark.parametrize("command", [
    "hookd effort log x; make", "make # hookd effort log", "echo hookd effort log", "./hookd effort log x",
    "hookd effort log \"$(make)\"", "hookd() { make; }; hookd effort log x", "hookd effort log x & make", "echo 'hookd effort log' | sh -x make",
    "/tmp/hookd effort log x", "hookd effort log x || make", "alias hookd=make; hookd effort log x", "$HOOKD effort log x",
    "cat > src/a.c <<E\nint x;\nE\nhookd status", "hookd effort show > src/a.c", "hookd effort show >> src/a.c", "hookd status &> src/a.c",
    "{ hookd status; } > src/a.c", "(echo x; hookd status) >| src/a.c", "sh -c 'hookd status > src/a.c'", "echo x > $F; hookd status",
    "hookd effort log - <> src/a.c", "hookd status 2> src/a.c", "PATH=/tmp/x hookd status", "LD_PRELOAD=/tmp/x.so hookd status"])
def test_what_only_looks_like_hookd_does_not(world, project, command):
    begin(world, project, "review", *metadata(gates={"heartbeat": 1}))
    assert Agent(world, project).bash(command) is not None


def test_tools_of_hookds_mcp_server_pass_too(world, project):
    begin(world, project, "review", *metadata(gates={"heartbeat": 1}))
    a = Agent(world, project)
    assert a.call("mcp__other__thing", x=1) is not None
    assert a.call("mcp__hookd__effort_log", text="x") is None


def test_repeated_edits_of_one_file_count_once(world, project):
    begin(world, project, "review", *HEARTBEAT)
    a = Agent(world, project)
    assert [a.edit(project / "a.c") for _ in range(30)] == [None] * 30
    assert [a.edit(project / f"{i}.c") for i in range(8)] == [None] * 8
    assert a.edit(project / "b.c") is not None


@pytest.mark.parametrize("tool, given", [
    ("TodoWrite", {"todos": []}), ("Agent", {"prompt": "x", "subagent_type": "y"}), ("TaskCreate", {"subject": "x"}),
    ("AskUserQuestion", {"questions": []}), ("Skill", {"skill": "x"}), ("ExitPlanMode", {"plan": "x"})])
def test_planning_is_no_work(world, project, tool, given):
    begin(world, project, "review", *HEARTBEAT)
    a = Agent(world, project)
    assert [a.call(tool, **given) for _ in range(15)] == [None] * 15
    assert [a.bash(f"ls {i}") for i in range(9)] == [None] * 9


def test_reading_what_the_effort_asks_to_be_read_is_no_work(world, project):
    begin(world, project, "review", *HEARTBEAT)
    a = Agent(world, project)
    for path in (".directives/AGENTS.md", ".hookd/skills/x/SKILL.md", "1_REVIEW_LOG.md"):
        assert [a.read(project / path) for _ in range(12)] == [None] * 12
    assert [a.read(project / f"{i}.c") for i in range(9)] == [None] * 9
    assert a.read(project / "last.c") is not None


def test_subagents_have_counts_of_their_own(world, project):
    e = begin(world, project, "review", *HEARTBEAT)
    a = Agent(world, project)
    a.start()
    for sub in ("s1", "s2"):
        a.say("SubagentStart", agent_id=sub, agent_type="general-purpose")
    for i in range(9):
        assert [a.bash(f"ls {i}", sub=s) for s in (None, "s1", "s2")] == [None] * 3
    assert a.bash("ls", sub="s1") is not None
    a.say("SubagentStop", agent_id="s1", agent_type="general-purpose", stop_hook_active=False)
    # Its end is its own: the others go on counting where they were.
    assert a.bash("ls", sub="s2") is not None and a.bash("ls") is not None
    got = {w.get("agent_id"): w for w in windows(world, e["effort"])}
    assert got["s1"]["ended_us"] and "ended_us" not in got["s2"] and "ended_us" not in got[None]


def test_a_warning_comes_before_the_block_when_it_is_asked_for(world, project):
    begin(world, project, "review", *metadata(gates={"heartbeat": {"warn": 3, "block": 5}}))
    a = Agent(world, project)
    said = []
    for i in range(4):
        assert a.bash(f"ls {i}") is None
        said.append("".join(a.texts))
    assert [("calls without" in s) for s in said] == [False, False, True, False]
    assert a.bash("ls") is not None


def test_gates_are_switched_while_the_effort_goes_on(world, project):
    begin(world, project)
    a = Agent(world, project)
    a.bash("ls")
    effort(world, "gate", "heartbeat", "2", cwd=project)
    assert a.bash("ls") is not None
    effort(world, "gate", "heartbeat", "off", cwd=project)
    assert a.bash("ls") is None
    assert b"heartbeat  false" in world.hookd("effort", "gate", cwd=project).stdout


def test_of_a_second_agent_that_says_nothing_nothing_is_asked(world, project):
    e = begin(world, project, "review", *metadata(gates={"heartbeat": 3}))
    a, b = Agent(world, project), Agent(world, project)
    a.start()
    b.start()
    assert [a.bash(f"ls {i}") for i in range(2)] == [None] * 2 and a.bash("ls") is not None
    assert [b.bash(f"ls {i}") for i in range(9)] == [None] * 9
    assert [w["session"] for w in windows(world, e["effort"])] == [a.session]
    # It is free for another one when the first has ended.
    a.end()
    c = Agent(world, project)
    c.start()
    assert [c.bash(f"ls {i}") for i in range(2)] == [None] * 2 and c.bash("ls") is not None


def test_an_agent_with_an_id_has_its_own_effort(world, project):
    begin(world, project, "review", *metadata(gates={"heartbeat": 1}), env={"AGENT_ID": "alice"})
    alice, bob, nobody = (Agent(world, project, env={"AGENT_ID": n} if n else {}) for n in ("alice", "bob", None))
    assert alice.bash("ls") is not None and bob.bash("ls") is None and nobody.bash("ls") is None


def test_the_effort_that_an_agent_begins_is_its_own(world, project):
    first = begin(world, project)
    a = Agent(world, project)
    a.start()
    a.hookd("effort", "start", "fix", "--metadata", json.dumps({"gates": {"heartbeat": 1}}))
    assert a.bash("ls") is not None
    [second] = [e for e in effort(world, "list")["efforts"] if e["effort"] != first["effort"]]
    assert windows(world, second["effort"])[0]["session"] == a.session


def test_elsewhere_nothing_is_asked(world, project):
    begin(world, project, "review", *metadata(gates={"heartbeat": 1}))
    assert Agent(world, world.top).bash("ls") is None
    assert Agent(world, str(project) + "-2").bash("ls") is None
    assert Agent(world, project / "src/deep").bash("ls") is not None


def test_after_a_restart_a_window_goes_on_with_its_effort(world, project):
    begin(world, project, "review", *metadata(gates={"heartbeat": 2}))
    a, b = Agent(world, project), Agent(world, project)
    a.start()
    b.start()
    world.kill()
    world.start()
    world.rpc("sessions")  # the store has been read by now, and so have the efforts
    b.bash("ls 1"), b.bash("ls 2")
    assert b.bash("ls 3") is None
    a.bash("ls 1")
    assert a.bash("ls 2") is not None


def test_what_is_finished_asks_for_nothing(world, project):
    begin(world, project, "review", *metadata(gates={"heartbeat": 1}))
    a = Agent(world, project)
    assert a.bash("ls") is not None
    effort(world, "finish", cwd=project)
    assert a.bash("ls") is None


# -- session gate ----------------------------------------------------------------------------------

def test_a_task_may_ask_for_an_effort(world, project):
    world.hookd("task", "change", project, "--session", "on")
    a = Agent(world, project)
    said = a.bash("make")
    assert "hookd effort start" in said and str(project) in said
    assert a.read(project / "x.c") is None and a.edit(project / "x.c") is not None
    assert a.bash("hookd effort list") is None
    a.hookd("effort", "start", "fix")
    assert a.bash("make") is None
    world.hookd("effort", "finish", cwd=project)
    assert a.bash("make") is not None
    world.hookd("task", "change", project, "--session", "off")
    assert a.bash("make") is None


# -- rules -----------------------------------------------------------------------------------------

def rule(**more):
    return {"ruleId": "r1", "condition": {"field": "heartbeat_counter", "op": "gte", "value": 3}, "payload": "Think.", **more}


def test_a_rule_says_something_once(world, project):
    begin(world, project, "review", *metadata(rules=[rule()]))
    a = Agent(world, project)
    said = []
    for i in range(6):
        assert a.bash(f"ls {i}") is None
        said.append("Think." in "".join(a.texts))
    assert said == [False, False, True, False, False, False]
    # Another window has not heard it.
    b = Agent(world, project)
    a.end()
    b.start()
    for i in range(3):
        b.bash(f"ls {i}")
    assert "Think." in "".join(b.texts)


@pytest.mark.parametrize("field, op, value, tool, given, holds", [
    ("tool_name", "eq", "Bash", "Bash", {"command": "ls"}, True),
    ("tool_name", "ne", "Bash", "Bash", {"command": "ls"}, False),
    ("tool_class", "eq", "write", "Edit", {"file_path": "/p/x"}, True),
    ("command", "contains", "git push", "Bash", {"command": "git push origin"}, True),
    ("command", "matches", "^git +push", "Bash", {"command": "git  push origin"}, True),
    ("command", "matches", "^push", "Bash", {"command": "git push origin"}, False),
    ("file_path", "matches", r"\.lock$", "Edit", {"file_path": "/p/Cargo.lock"}, True),
    ("phase", "nonEmpty", None, "Bash", {"command": "ls"}, False),
    ("skill", "eq", "review", "Bash", {"command": "ls"}, True),
    ("tool_calls", "lt", 2, "Bash", {"command": "ls"}, True),
    ("context_usage", "gte", 0, "Bash", {"command": "ls"}, False),  # it is not known
])
def test_what_rules_can_ask_about(world, project, field, op, value, tool, given, holds):
    begin(world, project, "review", *metadata(rules=[rule(condition={"field": field, "op": op, "value": value}, urgency="block")]))
    said = Agent(world, project).call(tool, **given)
    assert (said == "Think.") is holds


def test_one_strike_denies_once_and_lets_the_retry_pass(world, project):
    once = rule(condition={"field": "command", "op": "contains", "value": "deploy"}, urgency="block", inject="once", payload={"text": "Sure?"})
    begin(world, project, "review", *metadata(rules=[once]))
    a = Agent(world, project)
    assert a.bash("./deploy") == "Sure?" and a.bash("./deploy") is None


def test_a_rule_is_for_the_tools_it_names(world, project):
    begin(world, project, "review", *metadata(rules=[rule(condition={"field": "tool_calls", "op": "gte", "value": 0}, tools=["Edit"], urgency="block")]))
    a = Agent(world, project)
    assert a.bash("ls") is None and a.edit(project / "x") == "Think."


ALWAYS = {"field": "tool_calls", "op": "gte", "value": 0}


@pytest.mark.parametrize("given", [["Edit"], {"include": ["Edit"]}])
def test_a_tool_filter_says_the_same(world, project, given):
    begin(world, project, "review", *metadata(rules=[rule(condition=ALWAYS, toolFilter=given, urgency="block")]))
    a = Agent(world, project)
    assert a.bash("ls") is None and a.edit(project / "x") == "Think."


@pytest.mark.parametrize("tool, given, allowed", [
    ("Bash", {"command": "git status"}, True), ("Bash", {"command": "git status -s src"}, True), ("Bash", {"command": "git push"}, False),
    ("Bash", {"command": "git status; make"}, False), ("Bash", {"command": "git status && make"}, False), ("Bash", {"command": "git status $(make)"}, False),
    ("Bash", {"command": "git status\nmake"}, False), ("Bash", {"command": "git status > x"}, False), ("Bash", {"command": "make t1"}, True),
    ("Bash", {"command": "make t12"}, False), ("Bash", {"command": "make t;"}, False), ("Read", {"file_path": "/p/x.c"}, True),
    ("Edit", {"file_path": "/p/docs/x.md"}, True), ("Edit", {"file_path": "/p/docs/x.c"}, False)])
def test_what_a_whitelist_names_is_left_alone(world, project, tool, given, allowed):
    begin(world, project, "review", *metadata(rules=[rule(condition=ALWAYS, urgency="block", whitelist=["Bash(git status*)", "Bash(make t?)", "Read", "Edit(*.md)"])]))
    assert Agent(world, project).call(tool, **given) == (None if allowed else "Think.")


def test_the_highest_priority_speaks_first(world, project):
    rules = [rule(ruleId=f"r{n}", condition=ALWAYS, urgency="block", payload=f"rule {n}", priority=p) for n, p in enumerate([0, 5, -1, 5])]
    begin(world, project, "review", *metadata(rules=rules))
    assert Agent(world, project).bash("ls").startswith("rule 1")
    a = world.rpc("hooks.preToolUse", sessionId="s2", cwd=str(project), toolName="Bash", toolInput={"command": "ls"}, toolUseId="t1")
    world.hookd("effort", "resume", cwd=project)
    a = world.rpc("hooks.preToolUse", sessionId="s3", cwd=str(project), toolName="Bash", toolInput={"command": "ls"}, toolUseId="t2")
    assert [f["ruleId"] for f in a["firedRules"]] == ["r1", "r3", "r0", "r2"]


def test_a_rule_may_have_files_read(world, project):
    (project / "docs").mkdir()
    (project / "docs/deploy.md").write_text("deploy words")
    begin(world, project, "review", *metadata(rules=[rule(
        condition={"field": "command", "op": "contains", "value": "deploy"}, inject="always", payload={"preload": ["docs/deploy.md"]})]))
    a = Agent(world, project)
    a.start()
    assert a.bash("ls") is None and "deploy words" not in "".join(a.texts)
    assert a.bash("./deploy") is None and "deploy words" in "".join(a.texts) and "Rule" not in "".join(a.texts)
    assert a.bash("./deploy") is None and "deploy words" not in "".join(a.texts)


@pytest.mark.parametrize("members, words", [
    ({"rules": [rule(whitelist="Read")]}, "whitelist is a list"),
    ({"rules": [rule(whitelist=["Bash(git"])]}, "whitelist is a list"),
    ({"rules": [rule(whitelist=["(git)"])]}, "whitelist is a list"),
    ({"rules": [rule(whitelist=["Read"] * 17)]}, "whitelist is a list"),
    ({"rules": [rule(payload={"preload": ["/etc/passwd"]})]}, "preload is a list"),
    ({"rules": [rule(payload={"preload": "x"})]}, "preload is a list"),
    ({"rules": [rule(priority="high")]}, "priority must be a whole number"),
    ({"gates": {"heartbeet": True}}, "did you mean 'heartbeat'"),
    ({"gates": {"zebra": True}}, "there is no gate 'zebra'"),
    ({"gates": {"heartbeat": "often"}}, "takes true, false, a number"),
    ({"gates": {"heartbeat": -1}}, "takes true, false, a number"),
    ({"gates": {"overflow": 101}}, "up to 100"),
    ({"gates": {"directives": 1}}, "takes true or false"),
    ({"gates": []}, "must be an object"),
    ({"rules": {}}, "must be a list"),
    ({"rules": [rule()] * 17}, "at most 16"),
    ({"rules": [{"condition": {}}]}, "needs a ruleId"),
    ({"rules": [rule(condition=None)]}, "needs a condition"),
    ({"rules": [rule(condition={"field": "hartbeat", "op": "gte", "value": 1})]}, "did you mean 'heartbeat'"),
    ({"rules": [rule(condition={"field": "heartbeat", "op": "about", "value": 1})]}, "'about' is not an operator"),
    ({"rules": [rule(condition={"field": "command", "op": "gte", "value": "x"})]}, "is not an operator for command"),
    ({"rules": [rule(condition={"field": "heartbeat", "op": "gte", "value": "x"})]}, "must be a whole number"),
    ({"rules": [rule(condition={"field": "command", "op": "matches", "value": "("})]}, "the pattern is not one"),
    ({"rules": [rule(urgency="maybe")]}, "'block' or 'allow'"),
    ({"rules": [rule(inject="twice")]}, "'once' or 'always'"),
])
def test_broken_metadata_is_refused_and_agents_go_on(world, project, members, words):
    assert words in begin(world, project, "review", "--metadata", json.dumps(members), ok=False)
    begin(world, project)
    said = effort(world, "metadata", json.dumps(members), cwd=project, ok=False)
    assert words in said and said.count("\n") == 1
    assert Agent(world, project).bash("ls") is None


def test_metadata_is_merged(world, project):
    begin(world, project, "review", *metadata(ticket="X-1", gates={"heartbeat": 5}))
    got = effort(world, "metadata", '{"owner":"me","gates":{"overflow":true}}', cwd=project)["metadata"]
    assert got == {"ticket": "X-1", "owner": "me", "gates": {"heartbeat": 5, "overflow": True}}
    assert effort(world, "metadata", '{"ticket":null}', cwd=project)["metadata"] == {"owner": "me", "gates": {"heartbeat": 5, "overflow": True}}


def test_what_gates_decide_is_recorded(world, project):
    begin(world, project, "review", *metadata(gates={"heartbeat": 1}, rules=[rule(condition={"field": "tool_calls", "op": "gte", "value": 0}, urgency="block")]))
    Agent(world, project).bash("ls")
    rows = {d["rule"]: d["decision"] for d in world.rpc("decisions")["decisions"]}
    assert rows == {"effort.heartbeat": "deny", "effort.rule.r1": "deny"}

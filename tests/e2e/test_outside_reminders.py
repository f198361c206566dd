"""Reminders, as an outsider expects them: tests from the documents alone."""
import json

from efforts import Agent
from outside_agents import here, project, refused


# -- reminders -----------------------------------------------------------------------------------------


def remind(world, words):
    world.start()
    world.hookd("config", "set", "remind", words)
    world.hookd("reload")
    a = Agent(world, project(world))
    a.start()
    return a


def fail(agent, n, sub=None):
    who = {"agent_id": sub, "agent_type": "Explore"} if sub else {}
    use = {"tool_name": "Bash", "tool_input": {"command": "make check"}, "tool_use_id": f"f{n}", **who}
    first = agent.say("PreToolUse", **use)
    second = agent.say("PostToolUseFailure", error="Exit code 2: no rule to make target 'check'", **use)
    return json.dumps([first, second]).replace("[{}, {}]", "")


def test_three_equal_failures_are_reminded_of_once_and_only_when_asked(world):
    a = remind(world, "errors")
    said = [fail(a, n) for n in range(5)]
    assert not said[0] and not said[1] and said[2] and not said[3], said


def test_nobody_is_reminded_unless_it_is_switched_on(world, here):
    a = Agent(world, here)
    a.start()
    assert not any(fail(a, n) for n in range(5))


def test_failures_of_a_subagent_are_not_said_to_it(world):
    a = remind(world, "errors")
    assert not any(fail(a, n, sub="s1") for n in range(5))


def test_five_looks_in_a_row_are_reminded_of_once_and_an_edit_begins_anew(world):
    a = remind(world, "looking")

    def look(n):
        a.read(a.cwd / f"f{n}")
        return any(a.texts)

    assert [look(n) for n in range(4)] == [False] * 4
    a.edit(a.cwd / "x")
    assert [look(n) for n in range(10, 14)] == [False] * 4
    assert [look(n) for n in range(14, 18)].count(True) == 1


def test_an_unknown_reminder_is_a_clear_error(world, here):
    assert "lunch" in refused(world, "config", "set", "remind", "errors lunch")


def test_files_that_were_changed_and_not_tried_have_the_turn_go_on_once(world):
    a = remind(world, "checkpoint")
    (a.cwd / "pay.c").write_text("int a;\n")
    a.prompt("change it")
    a.edit(a.cwd / "pay.c")
    first = json.dumps(a.say("Stop", stop_hook_active=False))
    assert "pay.c" in first
    assert "pay.c" not in json.dumps(a.say("Stop", stop_hook_active=True))


def test_files_that_were_tried_since_are_not_reminded_of(world):
    a = remind(world, "checkpoint")
    (a.cwd / "pay.c").write_text("int a;\n")
    a.prompt("change it")
    a.edit(a.cwd / "pay.c")
    a.bash("make test")
    assert "pay.c" not in json.dumps(a.say("Stop", stop_hook_active=False))


def test_what_is_left_on_the_list_of_tasks_is_said_at_the_end_of_a_turn(world):
    a = remind(world, "plan")
    a.prompt("go")
    a.call("TodoWrite", todos=[{"content": "READ-IT", "status": "completed"}, {"content": "JUDGE-IT", "status": "pending"}])
    said = json.dumps(a.say("Stop", stop_hook_active=False))
    assert "JUDGE-IT" in said and "READ-IT" not in said
    assert "JUDGE-IT" not in json.dumps(a.say("Stop", stop_hook_active=True))

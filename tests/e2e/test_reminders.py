"""Reminders: what an agent is told while it works, and at the end of its turn, if the user has switched that on."""
import json
import subprocess

import pytest

from efforts import Agent, context
from world import wait_for

ALL = "errors looking plan checkpoint"


def remind(world, names=ALL):
    world.dir.mkdir(mode=0o700, exist_ok=True)
    (world.dir / "config.json").write_text(json.dumps({"remind": names.split()}))


@pytest.fixture
def agent(world):
    remind(world)
    world.start()
    project = world.top / "p"
    project.mkdir()
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    one = Agent(world, project)
    one.start()
    one.prompt("make it work")
    return one


def fail(agent, error, tool="Bash", command="make x"):
    agent.n += 1
    use = {"tool_name": tool, "tool_input": {"command": command}, "tool_use_id": f"f{agent.n}"}
    said = [context(agent.say("PreToolUse", **use))]
    said.append(context(agent.say("PostToolUseFailure", error=error, **use)))
    return said


def stop(agent, **more):
    said = agent.say("Stop", **{"stop_hook_active": False, **more})
    return said.get("reason", "") if said.get("decision") == "block" else ""


def held(agent):
    """What holds the end of the turn. A stop that comes late on a busy machine is not held, so it may take another one."""
    return wait_for(lambda: stop(agent), 5, "a turn that is held")


def todos(agent, *statuses):
    agent.call("TodoWrite", todos=[{"content": f"step {n}", "status": s, "activeForm": "x"} for n, s in enumerate(statuses, 1)])
    return agent.texts


# -- nothing unasked ----------------------------------------------------------------------------------

def test_nothing_is_said_to_whoever_did_not_ask(world, project_of):
    world.start()
    agent = Agent(world, project_of)
    agent.start()
    agent.prompt("x")
    todos(agent, "pending", "in_progress")
    for n in range(8):
        agent.read(project_of / f"{n}.c")
        assert agent.texts == ["", ""]
    agent.edit(project_of / "a.c")
    assert [fail(agent, "no rule to make target") for _ in range(4)] == [["", ""]] * 4
    assert stop(agent) == ""


@pytest.fixture
def project_of(world):
    path = world.top / "q"
    path.mkdir()
    return path


def test_only_what_is_on_is_said(world, project_of):
    remind(world, "looking")
    world.start()
    agent = Agent(world, project_of)
    agent.start()
    agent.prompt("x")
    agent.edit(project_of / "a.c")
    assert all(fail(agent, "no rule") == ["", ""] for _ in range(3))
    assert stop(agent) == ""


def test_an_unknown_reminder_is_a_mistake_with_its_place(world):
    remind(world, "errors planing")
    said = world.hookd("config", "validate", ok=False)
    assert said.returncode == 1 and b"config.json:1" in said.stdout + said.stderr and b"planing" in said.stdout + said.stderr


def test_a_reload_switches_them(world, project_of):
    world.start()
    agent = Agent(world, project_of)
    agent.start()
    agent.prompt("x")
    agent.edit(project_of / "a.c")
    remind(world, "checkpoint")
    assert stop(agent) == ""
    world.hookd("reload")
    agent.prompt("y")
    agent.edit(project_of / "a.c")
    assert "a.c changed" in held(agent)
    remind(world, "")
    world.hookd("reload")
    agent.prompt("z")
    agent.edit(project_of / "a.c")
    assert stop(agent) == ""


# -- errors -------------------------------------------------------------------------------------------

def test_three_strikes(agent):
    """The same error, but for its numbers."""
    assert [fail(agent, f"parse.c:{n}: undefined reference")[1] for n in (1, 22)] == ["", ""]
    third = fail(agent, "parse.c:317: undefined reference")[1]
    assert "3 times" in third and "undefined reference" in third
    assert fail(agent, "parse.c:4: undefined reference")[1] == ""


def test_different_errors_are_no_strikes(agent):
    assert [fail(agent, e)[1] for e in ("one", "two", "three", "four")] == [""] * 4


def test_before_a_change_stands_what_failed(agent):
    todos(agent, "completed", "in_progress")
    fail(agent, "cannot find -lfoo")
    fail(agent, "permission denied: out")
    agent.edit("a.c")
    before = agent.texts[0]
    assert "cannot find -lfoo" in before and "permission denied" in before and "step 2" in before
    agent.edit("b.c")
    assert agent.texts[0] == ""


def test_a_new_prompt_forgets_what_failed(agent):
    fail(agent, "same")
    fail(agent, "same")
    agent.prompt("try it differently")
    assert fail(agent, "same")[1] == ""


def test_what_a_user_interrupted_has_not_failed(agent):
    for n in range(4):
        use = {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": f"i{n}", "error": "interrupted"}
        assert context(agent.say("PostToolUseFailure", is_interrupt=True, **use)) == ""


# -- looking ------------------------------------------------------------------------------------------

def test_five_views_without_writing(agent):
    said = []
    for n in range(7):
        agent.read(f"{n}.c")
        said.append(agent.texts[1])
    assert [bool(s) for s in said] == [False, False, False, False, True, False, False] and "5 calls" in said[4]
    agent.edit("a.c")
    for n in range(5):
        agent.read(f"{n}.c")
    assert "5 calls" in agent.texts[1]


# -- the list of tasks --------------------------------------------------------------------------------

def test_a_list_that_is_not_kept(agent):
    todos(agent, "in_progress", "pending")
    said = []
    for name in ("a.c", "b.c", "b.c", "c.c", "d.c"):
        agent.edit(name)
        said.append(agent.texts[1])
    assert [bool(s) for s in said] == [False, False, False, True, False] and "3 files" in said[3]
    todos(agent, "completed", "in_progress")
    agent.edit("e.c")
    assert agent.texts[1] == ""


def test_an_unfinished_list_holds_the_end_of_a_turn_once(agent):
    todos(agent, "completed", "in_progress", "pending", "pending", "pending")
    said = held(agent)
    assert "step 2; step 3; step 4; and 1 more" in said and "step 1" not in said
    assert stop(agent, stop_hook_active=True) == ""
    assert stop(agent) == "", "an agent that does not say so is held once as well"


def test_a_list_from_before_is_no_business_of_a_question(agent):
    todos(agent, "pending")
    stop(agent)
    agent.prompt("what is the capital of France?")
    assert stop(agent) == ""


def test_tasks_that_come_one_at_a_time(agent):
    """TaskCreate and TaskUpdate."""
    for n in (1, 2):
        agent.say("PostToolUse", tool_name="TaskCreate", tool_input={"subject": f"part {n}"}, tool_use_id=f"c{n}",
                  tool_response={"task": {"id": str(n), "subject": f"part {n}"}})
    agent.say("PostToolUse", tool_name="TaskUpdate", tool_input={"taskId": "1", "status": "completed"}, tool_use_id="u1",
              tool_response={"success": True})
    said = held(agent)
    assert "part 2" in said and "part 1" not in said


def test_a_finished_list_holds_nothing(agent):
    todos(agent, "completed", "completed")
    assert stop(agent) == ""


# -- the checkpoint -----------------------------------------------------------------------------------

def test_changed_code_wants_its_tests(agent):
    agent.edit(agent.cwd / "src/parse.c")
    agent.edit(agent.cwd / "src/lex.c")
    said = held(agent)
    assert "src/parse.c, src/lex.c changed" in said and "no tests" in said


def test_tests_after_the_last_change_are_evidence(agent):
    agent.edit("parse.c")
    agent.bash("make test 2>&1 | tail")
    assert stop(agent) == ""


def test_tests_before_the_last_change_are_none(agent):
    agent.edit("parse.c")
    agent.bash("make test")
    agent.edit("parse.c")
    assert "parse.c changed" in held(agent)


def test_tests_that_failed_are_none(agent):
    agent.edit("parse.c")
    fail(agent, "2 of 9 failed", command="make test")
    assert "the last check failed" in held(agent)


@pytest.mark.parametrize("path, evidence", [
    ("package.json", "npm install"), ("Cargo.toml", "cargo build"), ("pyproject.toml", "uv sync"),
    ("db/migrations/0007_users.sql", "sqlite3 test.db < db/migrations/0007_users.sql")])
def test_kinds_of_files_want_different_things(agent, path, evidence):
    agent.edit(path)
    agent.bash("git status")
    assert path in held(agent)
    agent.prompt("again")
    agent.edit(path)
    agent.bash(evidence)
    assert stop(agent) == ""


def test_documentation_wants_nothing(agent):
    agent.edit("README.md")
    agent.edit("docs/a.txt")
    assert stop(agent) == ""


def test_a_turn_that_changed_nothing_is_left_alone(agent):
    agent.bash("ls")
    assert stop(agent) == ""


def test_what_a_command_changed_is_found_on_the_disk(agent):
    file = agent.cwd / "gen.c"
    file.write_text("int a;\n")
    subprocess.run(["git", "-C", str(agent.cwd), "add", "gen.c"], check=True)
    agent.prompt("generate it again")
    file.write_text("int b;\n")
    agent.bash("./generate")
    assert "gen.c changed" in held(agent)  # once a worker has looked at the disk


def test_a_patch_names_its_files(world, agent):
    codex = Agent(world, agent.cwd, agent="codex")
    codex.start()
    codex.prompt("x")
    patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-a\n+b\n*** End Patch"
    codex.say("PostToolUse", tool_name="apply_patch", tool_input={"command": patch}, tool_use_id="p1", tool_response="ok",
              turn_id="t", transcript_path=None, model="m", permission_mode="default")
    said = codex.say("Stop", stop_hook_active=False, turn_id="t", last_assistant_message="done", transcript_path=None, model="m",
                     permission_mode="default")
    assert said.get("decision") == "block" and "src/a.rs" in said["reason"]


def test_subagents_are_not_reminded(agent):
    for n in range(6):
        agent.read(f"{n}.c", sub="s1")
        assert agent.texts == ["", ""]


def test_it_is_written_down_why_a_turn_went_on(world, agent):
    agent.edit("a.c")
    stop(agent)
    rows = json.loads(world.hookd("decisions", "--json").stdout)
    assert any(r["rule"] == "remind.checkpoint" for r in (rows if isinstance(rows, list) else rows["decisions"])), rows


def test_a_private_prompt_is_not_repeated(world, agent):
    private = Agent(world, agent.cwd)
    private.start()
    private.prompt("<private>all of this</private>")
    private.edit("a.c")
    assert stop(private) == ""

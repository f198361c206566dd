"""Efforts: begun, followed and finished by commands; kept like everything that was acknowledged."""
import json
import re

import pytest

from world import in_threads

PHASES = ["0: Setup", "1: Plan", "2: Build", "2.1: Draft", "3: Review"]


@pytest.fixture
def project(world):
    path = world.top / "project"
    (path / ".git").mkdir(parents=True)
    return path


def effort(world, *args, ok=True, **kw):
    """The answer of one `hookd effort …`, or what it says when it fails."""
    done = world.hookd("effort", *args, "--json", ok=ok, **kw)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.decode()


def start(world, project, skill="review", *args, phases=PHASES, **kw):
    return effort(world, "start", skill, *args, *[x for p in phases for x in ("--phase", p)], cwd=project, **kw)


def active(world, *args):
    return [e["effort"] for e in effort(world, "list", *args)["efforts"]]


def test_from_the_start_to_the_end(world, project):
    e = start(world, project, "code-review", "--goal", "No bug in the parser", "--mode", "deep")
    assert (e["ordinal"], e["task"], e["state"], e["skill"], e["mode"]) == (1, str(project), "active", "code-review", "deep")
    assert re.fullmatch(r"[0-9A-Z]{26}", e["effort"])
    assert effort(world, "phase", "0", cwd=project)["phase"] == "0: Setup"
    assert effort(world, "phase", "1: Plan", "--proof", '{"read":["a.c"]}', cwd=project)["step"] == "next"
    shown = effort(world, "show", cwd=project)
    assert shown["goal"] == "No bug in the parser" and shown["config"]["phases"] == PHASES
    assert [(h["n"], h["phase"], h.get("proof")) for h in shown["history"]] == [(2, "1: Plan", {"read": ["a.c"]}), (1, "0: Setup", None)]
    done = effort(world, "finish", "Nothing found", cwd=project)
    assert done["state"] == "finished" and active(world) == []
    shown = effort(world, "show", e["effort"])
    assert (shown["state"], shown["result"]) == ("finished", "Nothing found") and shown["finished_us"]


def test_people_read_it(world, project):
    text = world.hookd("effort", "start", "fix", "--phase", "1: Look", cwd=project).stdout.decode()
    assert "number 1 of " + str(project) in text
    assert world.hookd("effort", "phase", "1", cwd=project).stdout == b"phase 1: Look\n"
    assert world.hookd("effort", "phase", "1", cwd=project).stdout == b"the effort is in this phase already: 1: Look\n"
    assert b"fix" in world.hookd("effort", "list").stdout
    assert b"phase      1: Look" in world.hookd("effort", "show", cwd=project).stdout
    assert b"is finished" in world.hookd("effort", "finish", cwd=project).stdout
    assert b"no efforts here" in world.hookd("effort", "list").stdout
    assert b"finished" in world.hookd("effort", "list", "--all").stdout


def test_the_next_phase_only_unless_there_is_a_reason(world, project):
    start(world, project)
    assert "the next phase is '0: Setup'" in effort(world, "phase", "2", cwd=project, ok=False)
    effort(world, "phase", "0", cwd=project)
    assert "no phase '9'" in effort(world, "phase", "9", cwd=project, ok=False)
    assert "2: Name" in effort(world, "phase", "Plan", cwd=project, ok=False)
    assert effort(world, "phase", "2", "--reason", "the plan came with the task", cwd=project)["step"] == "skipped"
    assert effort(world, "phase", "2.4: Numbers", cwd=project)["step"] == "added"
    assert effort(world, "phase", "3", cwd=project)["step"] == "next"
    assert "going back needs a reason" in effort(world, "phase", "1", cwd=project, ok=False)
    assert effort(world, "phase", "1", "--reason", "it was wrong", cwd=project)["step"] == "back"
    history = effort(world, "show", cwd=project)["history"]
    assert [h["phase"] for h in history] == ["1: Plan", "3: Review", "2.4: Numbers", "2: Build", "0: Setup"]
    assert history[0]["reason"] == "it was wrong"
    # Entering the same phase changes nothing.
    assert effort(world, "phase", "1", cwd=project)["step"] == "same"
    assert len(effort(world, "show", cwd=project)["history"]) == 5


def test_efforts_of_a_task_are_numbered(world, project):
    task = project / "tasks" / "parser"
    task.mkdir(parents=True)
    assert [start(world, project)["ordinal"] for _ in range(3)] == [1, 2, 3]
    e = effort(world, "start", "fix", "--task", str(task), cwd=project)
    assert (e["ordinal"], e["task"]) == (1, str(task))
    # The deepest task around the directory; in the project itself the newest.
    assert effort(world, "show", cwd=task)["effort"] == e["effort"]
    assert effort(world, "show", cwd=project)["ordinal"] == 3
    assert effort(world, "show", "2", cwd=project)["ordinal"] == 2


def test_two_that_begin_at_once_get_two_numbers(world, project):
    world.start()
    got = []
    in_threads(12, lambda i: got.append(start(world, project, f"s{i}", phases=[])["ordinal"]))
    assert sorted(got) == list(range(1, 13))


def test_an_agent_has_its_own(world, project):
    mine = start(world, project, env={"AGENT_ID": "alice"})
    its = start(world, project, "fix", env={"AGENT_ID": "bob"})
    assert effort(world, "show", cwd=project, env={"AGENT_ID": "alice"})["effort"] == mine["effort"]
    assert effort(world, "show", cwd=project, env={"AGENT_ID": "bob"})["effort"] == its["effort"]
    assert active(world, "--as", "alice") == [mine["effort"]]
    # An agent that was started for an effort has its id.
    assert effort(world, "show", cwd="/", env={"AGENT_ID": mine["effort"]})["effort"] == mine["effort"]


@pytest.mark.parametrize("args, words", [
    (["start", "../x"], "'skill' cannot be"),
    (["start", "a b"], "'skill' cannot be"),
    (["start", "x", "--mode", "a/b"], "'mode' cannot be"),
    (["start", "x", "--task", "/no/such/place"], "cannot be read"),
    (["start", "x", "--phase", "Plan"], "is not a phase"),
    (["start", "x", "--goal", "y" * 5000], "at most 4000"),
    (["start", "x", "--metadata", "[1]"], "must be a JSON object"),
    (["start", "x", "--metadata", "{"], "is not JSON"),
    (["start", "x", "--metadata", json.dumps({"x": "y" * 20000})], "at most 16384"),
    (["phase", "1: A", "--proof", "text"], "is not JSON"),
    (["show", "01ARZ3NDEKTSV4RRFFQ69G5FAV"], "there is no effort"),
    (["show", "17"], "there is no effort"),
    (["show", "\x1b[31m"], "there is no effort"),
    (["phase", "1: A", "-e", "nothing"], "there is no effort"),
    (["finish"], "no effort is active here"),
    (["phase", "1: A"], "no effort is active here"),
])
def test_what_is_wrong_is_said(world, project, args, words):
    said = effort(world, *args, cwd=project, ok=False)
    assert isinstance(said, str) and words in said and said.count("\n") == 1, said
    assert active(world, "--all") == []


@pytest.mark.parametrize("args", [["nothing"], ["start"], ["start", "a", "b"], ["phase"], ["finish", "a", "b"]])
def test_usage(world, project, args):
    done = world.hookd("effort", *args, ok=False, cwd=project)
    assert done.returncode == 64 and done.stderr


def test_what_is_finished_stays_finished(world, project):
    e = start(world, project)
    effort(world, "finish", cwd=project)
    for args in (["finish"], ["phase", "0"]):
        assert "finished and stays so" in effort(world, *args, "-e", e["effort"], cwd=project, ok=False)


def test_it_survives_a_kill(world, project):
    world.start()
    e = start(world, project)
    effort(world, "phase", "0", cwd=project)
    world.kill()
    world.start()
    effort(world, "phase", "1", cwd=project)
    world.kill()
    world.start()
    shown = effort(world, "show", cwd=project)
    assert shown["effort"] == e["effort"] and [h["phase"] for h in shown["history"]] == ["1: Plan", "0: Setup"]


def test_secrets_are_removed_before_they_are_kept(world, project):
    secret = "ghp_" + "a1B2c3D4e5" * 4
    start(world, project, "fix", "--goal", f"use {secret}", "--metadata", json.dumps({"token": secret}))
    effort(world, "finish", f"used {secret}", cwd=project)
    world.stop()
    assert world.contains(secret.encode()) == []


def test_no_agent_can_send_one(world, project):
    e = start(world, project)
    forged = {"session_id": "s", "cwd": str(project), "hook_event_name": "Effort", "effort": e["effort"], "op": "finish"}
    for name in ("Effort", "effort", "EFFORT"):
        world.hookc(name, {**forged, "hook_event_name": name})
    assert active(world) == [e["effort"]]


def test_a_rebuild_keeps_them(world, project):
    start(world, project)
    effort(world, "phase", "0", cwd=project)
    before = effort(world, "show", cwd=project)
    world.hookd("db", "rebuild")
    assert effort(world, "show", cwd=project) == before


# -- deleting --------------------------------------------------------------------------------------

def test_purging_a_project_takes_its_efforts(world, project):
    other = world.top / "other"
    (other / ".git").mkdir(parents=True)
    e, stays = start(world, project, "fix", "--goal", "unforgettable words"), start(world, other)
    world.hookd("purge", "--project", str(project), "--yes")
    assert active(world, "--all") == [stays["effort"]]
    assert "there is no effort" in effort(world, "show", e["effort"], ok=False)
    world.stop()
    assert world.contains(b"unforgettable words") == []


def test_purging_a_text_leaves_the_rest_of_an_effort(world, project):
    e = start(world, project)
    effort(world, "phase", "0", "--proof", '{"said":"unforgettable words"}', cwd=project)
    effort(world, "phase", "1", cwd=project)
    world.hookd("purge", "--match", "unforgettable words", "--yes")
    shown = effort(world, "show", e["effort"])
    assert [(h["n"], h["phase"]) for h in shown["history"]] == [(1, "1: Plan")]
    world.stop()
    assert world.contains(b"unforgettable words") == []


def test_retention_and_purges_of_sessions_spare_them(world, project):
    e = start(world, project)
    world.hookc("UserPromptSubmit", {"session_id": "s", "cwd": str(project), "hook_event_name": "UserPromptSubmit", "prompt": "hello"})
    world.hookc("SessionEnd", {"session_id": "s", "cwd": str(project), "hook_event_name": "SessionEnd", "reason": "other"})
    world.hookd("purge", "--session", "s", "--yes")
    assert active(world) == [e["effort"]]


def test_merged_projects_have_the_efforts_of_both(world, project):
    other = world.top / "other"
    (other / ".git").mkdir(parents=True)
    a, b = start(world, project), start(world, other)
    world.hookd("project", "merge", str(other), str(project))
    assert set(active(world, "--project", str(project))) == {a["effort"], b["effort"]}

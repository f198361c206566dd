"""What was purged is gone, and stays gone."""
import json
import pathlib
import shutil

import pytest

from outside import DENY, FINE, decisions, send
from world import ROOT, wait_for

CAPTURE = ROOT / "tests/golden/transcripts/claude.jsonl"
ROLLOUT = ROOT / "tests/golden/transcripts/codex.jsonl"
SID = "b67da4fc-8416-4f95-b8e9-8e91b8e6a62f"


def work(world, session, word, n=1):
    world.hookc("UserPromptSubmit", {"session_id": session, "cwd": "/tmp", "prompt": f"look for {word}",
                                     "hook_event_name": "UserPromptSubmit", "prompt_id": f"{session}-{n}"})
    world.hookc("PostToolUse", {"session_id": session, "cwd": "/tmp", "hook_event_name": "PostToolUse",
                                "tool_name": "Bash", "tool_use_id": f"{session}-{n}",
                                "tool_input": {"command": f"grep {word} file"}, "tool_response": {"stdout": word}})


def ids(world):
    return {s["id"] for s in world.json("sessions", "--all", "--json", "-n", 1000)["sessions"]}


def transcript(world):
    path = world.home / ".claude/projects/-home-dev-proj" / (SID + ".jsonl")
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(CAPTURE, path)
    return path


def rollout(world):
    head = json.loads(ROLLOUT.read_text().splitlines()[0])
    thread = head["payload"].get("id") or head["payload"].get("session_id")
    path = world.home / f".codex/sessions/2026/11/15/rollout-2026-11-15T06-49-19-{thread}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROLLOUT, path)
    return path


def test_purge_takes_the_prefix_that_sessions_prints(world):
    world.start()
    work(world, "aaaaaaaa-1111-2222-3333-444444444444", "apricot")
    work(world, "bbbbbbbb-1111-2222-3333-444444444444", "banana")
    text = world.hookd("sessions").stdout.decode()
    printed = next(w for w in text.split() if w.startswith("aaaaaaaa"))
    world.hookd("purge", "--session", printed, "--yes")
    assert ids(world) == {"bbbbbbbb-1111-2222-3333-444444444444"}
    assert not world.contains(b"apricot") and world.contains(b"banana")


def test_purge_of_nothing_is_an_error(world):
    world.start()
    work(world, "cccccccc-1", "cherry")
    for args in (("--session", "zzzz"), ("--agent", "windsurf"), ("--project", "/no/such"), ("--match", "no-such-word"),
                 ("--before", "2001-01-01")):
        done = world.hookd("purge", *args, "--yes", ok=False)
        assert done.returncode == 1 and done.stderr.strip(), (args, done)
    assert ids(world) == {"cccccccc-1"}


def test_purge_without_a_selection_is_refused(world):
    world.start()
    work(world, "s1", "cherry")
    done = world.hookd("purge", "--yes", ok=False)
    assert done.returncode in (1, 64) and ids(world) == {"s1"}


def test_an_ambiguous_prefix_deletes_nothing(world):
    world.start()
    work(world, "dddd-1", "date")
    work(world, "dddd-2", "date")
    done = world.hookd("purge", "--session", "dddd", "--yes", ok=False)
    assert done.returncode == 1 and ids(world) == {"dddd-1", "dddd-2"}, done


def test_purge_twice(world):
    world.start()
    work(world, "eeee-1", "elder")
    world.hookd("purge", "--session", "eeee-1", "--yes")
    done = world.hookd("purge", "--session", "eeee-1", "--yes", ok=False)
    assert done.returncode == 1
    assert world.status() and not ids(world)


def test_several_sessions_one_of_which_is_unknown(world):
    world.start()
    work(world, "ffff-1", "fig")
    work(world, "gggg-1", "grape")
    done = world.hookd("purge", "--session", "ffff-1", "--session", "nope", "--yes", ok=False)
    assert done.returncode == 1 and b"nope" in done.stderr, done


def test_dry_run_deletes_nothing(world):
    world.start()
    work(world, "hhhh-1", "hazel")
    world.hookd("purge", "--session", "hhhh-1", "--dry-run")
    assert ids(world) == {"hhhh-1"}


def test_match_deletes_only_those_events(world):
    world.start()
    work(world, "iiii-1", "iris")
    work(world, "iiii-1", "juniper", n=2)
    world.hookd("purge", "--match", "iris", "--yes")
    assert not world.contains(b"iris") and world.contains(b"juniper")
    shown = world.json("show", "iiii-1", "--json")
    assert [b["prompt"] for b in shown["batches"]] == ["look for juniper"]
    assert not world.json("search", "iris", "--json")["hits"]


def test_purge_of_spooled_events(world):
    from outside import frozen
    world.start()
    with frozen(world):
        work(world, "kkkk-1", "kiwi")
    world.hookd("purge", "--session", "kkkk-1", "--yes")
    assert not world.contains(b"kiwi")


def test_purge_takes_decisions_along(world):
    world.start()
    send(world, "claude", DENY, session="llll-1")
    assert decisions(world)
    world.hookd("purge", "--session", "llll-1", "--yes")
    assert not decisions(world) and world.json("stats", "--json")["total"]["denied"] == 0


def test_import_after_purge_brings_nothing_back(world):
    path = transcript(world)
    world.start()
    assert world.json("import", path, "--json")["new"] > 0
    assert SID in ids(world)
    world.hookd("purge", "--session", SID[:8], "--yes")
    world.json("import", path, "--json")
    assert SID not in ids(world) and not world.contains(b"Say hello")


def test_import_after_purge_and_restart_brings_nothing_back(world):
    path = transcript(world)
    world.start()
    world.hookd("import", path)
    world.hookd("purge", "--session", SID, "--yes")
    world.hookd("restart")
    world.hookd("import", path)
    world.hookd("import", "claude", ok=False)
    world.hookd("import", ok=False)
    assert SID not in ids(world)


def test_import_of_a_grown_transcript_after_purge(world):
    """What is new since is new work; what was purged stays away."""
    path = transcript(world)
    world.start()
    world.hookd("import", path)
    world.hookd("purge", "--session", SID, "--yes")
    lines = [json.loads(x) for x in CAPTURE.read_text().splitlines()]
    user = next(x for x in lines if x["type"] == "user" and isinstance(x["message"]["content"], str))
    more = {**user, "uuid": "11111111-2222-3333-4444-555555555555", "promptId": "99999999-2222-3333-4444-555555555555",
            "timestamp": "2027-01-15T06:47:20.661Z", "message": {"role": "user", "content": "Something quite new"}}
    with open(path, "a") as f:
        f.write(json.dumps(more) + "\n")
    world.hookd("import", path)
    assert not world.contains(b"Say hello")
    assert not world.json("search", "hello", "--json")["hits"]


def test_import_after_purge_by_match(world):
    path = transcript(world)
    world.start()
    world.hookd("import", path)
    world.hookd("purge", "--match", "Say hello", "--yes")
    world.hookd("import", path)
    assert not world.contains(b"Say hello")


def test_import_after_purge_by_agent_and_rebuild(world):
    path = transcript(world)
    world.start()
    world.hookd("import", path)
    world.hookd("purge", "--agent", "claude", "--yes")
    world.hookd("db", "rebuild")
    world.hookd("import", path)
    assert not ids(world)


def test_codex_rollout_after_purge(world):
    path = rollout(world)
    world.start()
    assert world.json("import", path, "--json")["new"] > 0
    before = ids(world)
    assert before
    world.hookd("purge", "--agent", "codex", "--yes")
    world.hookd("import", path)
    assert not ids(world)


def test_live_captured_then_purged_then_imported(world):
    """Told live by hooks, purged, and then found in the agent's own log."""
    world.start()
    world.hookc("UserPromptSubmit", {"session_id": SID, "cwd": "/home/dev/proj", "prompt": "Say hello",
                                     "prompt_id": "5f58fa65-4a95-47f7-b602-7b25f5678e50",
                                     "hook_event_name": "UserPromptSubmit"})
    world.hookd("purge", "--session", SID, "--yes")
    world.hookd("import", transcript(world))
    assert SID not in ids(world) and not world.contains(b"Say hello")


def test_new_live_work_in_a_purged_session_is_kept(world):
    world.start()
    work(world, "mmmm-1", "mango")
    world.hookd("purge", "--session", "mmmm-1", "--yes")
    work(world, "mmmm-1", "nectarine", n=2)
    assert ids(world) == {"mmmm-1"}
    assert [b["prompt"] for b in world.json("show", "mmmm-1", "--json")["batches"]] == ["look for nectarine"]


def test_import_twice_is_once(world):
    path = transcript(world)
    world.start()
    first = world.json("import", path, "--json")
    again = world.json("import", path, "--json")
    assert first["new"] > 0 and again["new"] == 0
    assert len(ids(world)) == 1


def test_other_sessions_are_untouched_by_purge_and_rebuild(world):
    world.start()
    work(world, "nnnn-1", "nutmeg")
    work(world, "oooo-1", "olive")
    before = world.json("show", "oooo-1", "--json")["stats"]
    world.hookd("purge", "--session", "nnnn-1", "--yes")
    world.hookd("db", "rebuild")
    assert world.json("show", "oooo-1", "--json")["stats"] == before
    assert world.json("db", "check", "--json")


def test_purged_by_project_and_before(world):
    world.start()
    proj = world.top / "shop"
    proj.mkdir()
    world.hookc("UserPromptSubmit", {"session_id": "pp-1", "cwd": str(proj), "prompt": "papaya",
                                     "hook_event_name": "UserPromptSubmit"})
    work(world, "qq-1", "quince")
    world.hookd("purge", "--project", "shop", "--yes")
    assert ids(world) == {"qq-1"} and not world.contains(b"papaya")


def test_purge_says_what_went(world):
    world.start()
    work(world, "rr-1", "rhubarb")
    got = world.json("purge", "--session", "rr-1", "--yes", "--json")
    assert got.get("sessions") == 1 and got.get("events", 0) >= 2, got

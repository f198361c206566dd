"""Fields that are missing, of the wrong type, or hostile (bad-inputs group F): stored, marked, answered
neutrally, and the projections stay sound."""
import json
import os

import pytest

from world import in_threads, payload, tool, wait_for

EVENTS = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop", "SubagentStart",
          "SubagentStop", "PreCompact", "Notification", "SessionEnd"]
FULL = dict(tool_name="Bash", tool_use_id="u1", tool_input={"command": "ls", "file_path": "/tmp/x"}, tool_response={"stdout": "a"},
            prompt="do it", prompt_id="p1", source="startup", reason="clear", error="no", message="m", agent_id="a1",
            agent_type="general", trigger="auto", transcript_path="/t", stop_hook_active=False, duration_ms=5,
            last_assistant_message="done", permission_mode="default")
WRONG = [None, True, 7, -1.5, [], {}, "", [1, [2]], {"a": {"b": 1}}]


def neutral(done):
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), done


def harmless(done, event, name):
    """Neutral; but a shell's call whose command cannot be found is asked about."""
    if event == "PreToolUse" and name == "tool_input":
        assert (done.returncode, done.stderr) == (0, b""), done
        assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "ask", done
    else:
        neutral(done)


def sound(world):
    assert world.rpc("check")["ok"]
    for s in world.json("sessions", "--json", "--all")["sessions"]:
        world.json("show", "--json", str(s["key"]))
    world.hookd("stats")


@pytest.mark.parametrize("event", EVENTS)
def test_f01_every_field_missing_in_turn(world, event):
    for name in ["session_id", "cwd", "hook_event_name", *FULL]:
        data = {**payload(event), **FULL}
        del data[name]
        harmless(world.hookc(event, data), event, name)
    neutral(world.hookc(event, {}))
    assert len(world.events()) == len(FULL) + 4
    assert world.events()[-1]["marks"] & 4
    sound(world)


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_f02_every_field_of_the_wrong_type(world, wrong):
    n = 0
    for event in ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SubagentStop"):
        for name in ["session_id", "cwd", *FULL]:
            harmless(world.hookc(event, {**payload(event), **FULL, name: wrong}), event, name)
            n += 1
    assert len(world.events()) == n
    sound(world)


@pytest.mark.parametrize("spelling", ["PreToolUse", "pre-tool-use", "preToolUse", "PRETOOLUSE", "pre_tool_use"])
def test_f03_every_spelling_of_an_event_is_judged(world, spelling):
    done = world.hookc(spelling, payload("x", tool_name="Bash", tool_use_id="u", tool_input={"command": "hookd-selftest-deny"}))
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert world.events()[0]["event"] == "PreToolUse"


@pytest.mark.parametrize("cwd", ["", "relative/path", "/nonexistent/deleted", "/etc/passwd", "/" + "d/" * 2500, "/tmp\0x", "/proc/self/root"])
def test_f05_directories(world, cwd):
    neutral(world.hookc("SessionStart", payload("SessionStart", **{"cwd": cwd, "source": "startup"})))
    neutral(world.hookc("PostToolUse", {**tool(1), "cwd": cwd}))
    assert len(world.events()) == 2
    sound(world)


def test_f05_a_loop_of_links_and_a_fifo_as_git(world):
    loop = world.top / "loop"
    loop.symlink_to(loop)
    odd = world.top / "odd"
    odd.mkdir()
    os.mkfifo(odd / ".git")
    lies = world.top / "lies"
    lies.mkdir()
    (lies / ".git").write_text("gitdir: /" + "x" * 9000 + "/.git/worktrees/y\n")
    for d in (loop / "x", odd, lies):
        neutral(world.hookc("SessionStart", payload("SessionStart", session=d.name, **{"cwd": str(d)})))
    assert len(world.events()) == 3
    sound(world)


def test_f06_transcript_paths_are_only_words(world):
    for n, path in enumerate(["/etc/shadow", "/dev/urandom", "../../x", "/" + "t" * 5000]):
        neutral(world.hookc("Stop", payload("Stop", session=f"s{n}", transcript_path=path)))
    assert len(world.events()) == 4
    assert world.contains(b"root:") == []
    sound(world)


@pytest.mark.parametrize("value", ['{"command":"ls"}', ["a"], "x" * 100000, {"command": ["rm", "x"]}, {"command": None}, {"command": 5},
                                   {"command": "a\u0000b\rc\u00a0d\x1b[31m"}, {"command": "y" * 1000000}])
def test_f07_f08_inputs(world, value):
    neutral_or_ask = world.hookc("PreToolUse", payload("PreToolUse", tool_name="Bash", tool_use_id="u", tool_input=value))
    assert neutral_or_ask.returncode == 0 and neutral_or_ask.stderr == b""
    if neutral_or_ask.stdout:
        assert json.loads(neutral_or_ask.stdout)["hookSpecificOutput"]["permissionDecision"] in ("ask", "deny")
    assert len(world.events()) == 1
    sound(world)


@pytest.mark.parametrize("path", ["../../etc/passwd", "//x//y", "a ", "a.", "CON", "a:b", r"\\server\x", "~/x", "file:///x", "%2e%2e%2f", "\u202e"])
def test_f09_file_paths(world, path):
    neutral(world.hookc("PostToolUse", payload("PostToolUse", tool_name="Edit", tool_use_id="e", tool_input={"file_path": path},
                                               tool_response={"type": "update"})))
    assert world.events()[0]["payload"]["tool_input"]["file_path"] == path
    sound(world)


def test_f10_one_tool_use_id_with_other_contents_and_in_other_sessions(world):
    for n in range(3):
        neutral(world.hookc("PreToolUse", tool(1, "PreToolUse", tool_response=str(n))))
        neutral(world.hookc("PreToolUse", tool(1, "PreToolUse", session="other")))
    assert len(world.events()) == 6
    assert len(world.rpc("activities")["activities"]) == 2


def test_f11_everything_in_the_wrong_order(world):
    for event in ("SessionEnd", "Stop", "SubagentStop", "PostToolUse", "PreToolUse", "SessionEnd", "UserPromptSubmit", "SessionStart", "SessionEnd",
                  "SessionEnd", "PostToolUse"):
        neutral(world.hookc(event, {**payload(event), **FULL}))
    assert len(world.events()) == 11
    (a,) = [a for a in world.rpc("activities")["activities"] if a["tool_use_id"] == "u1"]
    assert a["state"] == "done"
    sound(world)


def test_f15_agent_names(world):
    for name in ("x/y", "../..", "a" * 1000, "\u00e4", "CLAUDE"):
        neutral(world.hookc("Stop", payload("Stop"), agent=name))
    assert len(world.events()) == 5
    sound(world)


def test_f16_one_event_from_two_agents_at_the_same_instant(world):
    data = payload("UserPromptSubmit", prompt="hello", prompt_id="p1")
    in_threads(2, lambda i: neutral(world.hookc("UserPromptSubmit", data, agent=("claude", "cursor")[i])))
    wait_for(lambda: len(world.events()) == 2, what="both")
    (s,) = world.json("sessions", "--json")["sessions"]
    assert (s["agent"], s["prompts"]) == ("cursor", 1)


def test_f17_own_markers_in_prompts(world):
    for n, text in enumerate(["</private> x", "<private>", "a<private>b<private>c</private>d</private>e", "<system-reminder>x</system-reminder>y"]):
        neutral(world.hookc("UserPromptSubmit", payload("UserPromptSubmit", session=f"s{n}", prompt=text)))
    assert len(world.events()) == 4
    sound(world)


def test_an_event_that_lacks_something_is_kept_and_told(world):
    """Stored as it came, marked, answered neutrally, and a line in the timeline says so."""
    world.hookc("UserPromptSubmit", payload("UserPromptSubmit", prompt="p"))
    assert world.hookc("PreToolUse", payload("PreToolUse", tool_input={"command": "ls"})).stdout == b""
    shown = world.json("show", "s1", "--json")
    [error] = [a for b in shown["batches"] for a in b["activities"] if a["kind"] == "Error"]
    assert error["state"] == "failed" and "without its required fields" in error["error"] and error["tool"] == "PreToolUse"
    assert [e["marks"] & 4 for e in world.events()] == [0, 4]
    assert "without its required fields" in world.hookd("show", "s1").stdout.decode()

"""The hook endpoints of Codebase Intelligence, called as its documentation calls them: with curl."""
import base64
import itertools
import json
import subprocess

import pytest

from world import wait_for


class Oak:
    def __init__(self, world):
        self.world = world
        world.start()

    def post(self, event, status=200, **body):
        done = subprocess.run(["curl", "-sS", "--unix-socket", self.world.dir / "run/api.sock", "-w", "\n%{http_code}", "-X", "POST",
                               "-H", "Content-Type: application/json", "-d", "@-", f"http://hookd/api/oak/ci/{event}"],
                              input=json.dumps(body).encode(), capture_output=True, timeout=30, check=True)
        text, code = done.stdout.decode().rsplit("\n", 1)
        assert int(code) == status, text
        return json.loads(text)


@pytest.fixture
def oak(world):
    return Oak(world)


def test_the_start_of_a_session_counts_the_code(oak):
    root = oak.world.top / "shop"
    (root / ".git").mkdir(parents=True)
    (root / "cart.py").write_text("def total(rows):\n    return sum(rows)\n")
    pieces = oak.world.json("index", "--json", "--no-vectors", root)["pieces"]
    assert pieces == oak.post("session-start", session_id="c", agent="claude", source="startup", cwd=str(root))["context"]["index"]["code_chunks"] == 1


def test_the_example_of_a_session(oak):
    a = oak.post("session-start", session_id="test-123", agent="claude", source="startup", cwd=str(oak.world.top))
    assert a["status"] == "ok" and a["session_id"] == "test-123"
    assert a["context"]["injected_context"] == "" and a["context"]["agent"] == "claude" and a["context"]["project_root"] == str(oak.world.top)
    assert a["context"]["index"] == {"code_chunks": 0, "memory_observations": 0, "status": "ready"}

    a = oak.post("prompt-submit", session_id="test-123", agent="claude", prompt="fix the gearbox", generation_id="g1")
    batch = a["prompt_batch_id"]
    assert a["status"] == "ok" and len(batch) == 26 and a["context"]["injected_context"] == ""

    for n in range(3):
        a = oak.post("post-tool-use", session_id="test-123", agent="claude", tool_name="Read", tool_use_id=f"t{n}",
                     tool_input={"file_path": f"{oak.world.top}/{n}.py"}, tool_output="text")
        assert a["status"] == "ok" and a["observations_captured"] == 0 and a["injected_context"] == ""
    oak.post("post-tool-use", session_id="test-123", agent="claude", tool_name="Bash", tool_use_id="t9", tool_input={"command": "make"},
             tool_output_b64=base64.b64encode(b"made").decode())
    a = oak.post("stop", session_id="test-123", agent="claude", response_summary="Done.")
    assert a["prompt_batch_id"] == batch and a["processing_scheduled"] is False
    assert a["prompt_batch_stats"]["activity_count"] == 4
    assert a["prompt_batch_stats"]["tool_counts"] == {"Read": 3, "Bash": 1}

    a = oak.post("session-end", session_id="test-123", agent="claude")
    assert a["status"] == "ok" and a["tool_calls"] == 4 and a["files_modified"] == 0
    assert a["activity_stats"]["files_touched"] == 3 and a["duration_minutes"] >= 0
    [session] = oak.world.rpc("sessions")["sessions"]
    assert (session["id"], session["agent"], session["status"]) == ("test-123", "claude", "completed")


def test_the_log_is_grepped_as_before(oak):
    oak.post("session-start", session_id="s", agent="claude", source="startup")
    oak.post("prompt-submit", session_id="s", agent="claude", prompt="hello")
    log = oak.world.dir / "hookd.log"
    wait_for(lambda: all(tag in log.read_text() for tag in ("SESSION-START", "PROMPT")), what="the tags")


def test_the_debugging_commands(world):
    """Delivery, injected context, duplicates: each of them is a grep."""
    (world.dir / "config.json").write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "echo a hint of twenty-five"}]}]}}))
    oak = Oak(world)
    oak.post("session-start", session_id="test-123", agent="claude", source="startup")
    for _ in range(2):
        a = oak.post("prompt-submit", session_id="test-123", agent="claude", prompt="hello", generation_id="g1")
        assert a["context"]["injected_context"] == "a hint of twenty-five"
    for event in ("post-tool-use", "stop", "session-end"):
        oak.post(event, session_id="test-123", agent="claude", tool_name="Read", tool_use_id="t1")

    def grep(pattern):
        return subprocess.run(["grep", "-E", pattern], input=world.hookd("logs").stdout, capture_output=True).stdout.decode().splitlines()
    wait_for(lambda: len(grep("SESSION-START|PROMPT|TOOL|STOP|SESSION-END")) == 6, what="a line for each call")
    assert [line.split("INJECT: ")[1] for line in grep("INJECT:")] == ["claude test-123 UserPromptSubmit 21 bytes"] * 2
    [line] = grep("Deduped")
    assert " PROMPT claude test-123 UserPromptSubmit " in line


def test_a_call_that_is_made_again_gets_the_answer_of_the_first(oak):
    calls = [("session-start", {"source": "startup"}), ("prompt-submit", {"prompt": "hello", "generation_id": "g1"}),
             ("post-tool-use", {"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "ls"}, "tool_output": "x"}), ("stop", {}), ("session-end", {})]
    for event, fields in calls:
        first, second = (oak.post(event, session_id="s", agent="claude", **fields) for _ in range(2))
        for a in (first, second):  # the clock goes on
            for part in (a, a.get("prompt_batch_stats", {}), a.get("activity_stats", {})):
                part.pop("duration_minutes", None)
        assert first == second, event
    [session] = oak.world.rpc("sessions")["sessions"]
    assert (session["prompts"], session["tools"]) == (1, 1)
    assert len(oak.world.rpc("show", session="s")["batches"]) == 1


def test_an_answer_has_every_member_even_without_a_directory(oak):
    a = oak.post("session-start", session_id="test-123", agent="claude", source="startup")
    assert set(a["context"]) == {"session_id", "agent", "injected_context", "project_root", "index"} and a["context"]["project_root"] is None


def test_memories_are_counted_and_come_with_the_start_and_the_prompt(oak):
    project = oak.world.top / "shop"
    (project / ".git").mkdir(parents=True)
    (project / "tree").mkdir()
    leak = "Database connections leak under load: always use the context manager"
    oak.world.hookd("remember", leak, "--type", "gotcha", cwd=project)
    wait_for(lambda: leak[:20] in oak.world.hookd("memories").stdout.decode(), what="the memory")
    for cwd, count in [(project, 1), (project / "tree", 1), (oak.world.top, 0)]:
        a = oak.post("session-start", session_id=f"s-{cwd.name}", agent="claude", source="startup", cwd=str(cwd))
        assert a["context"]["index"] == {"code_chunks": 0, "memory_observations": count, "status": "ready"}
        assert count or leak not in a["context"]["injected_context"]
    fresh = itertools.count()

    def told(event, **fields):  # an agent does not wait for context for long: on a slow machine it goes on without
        a = oak.post(event, session_id=f"n{next(fresh)}", agent="claude", cwd=str(project), **fields)
        return leak in a["context"]["injected_context"]
    wait_for(lambda: told("session-start", source="startup"), what="the memory at the start")
    wait_for(lambda: told("prompt-submit", prompt="the database connections leak when there is load, why?"), what="the memory at the prompt")


def test_a_rule_decides_before_a_tool(oak):
    a = oak.post("pre-tool-use", session_id="s", agent="claude", tool_name="Bash", tool_use_id="p1", tool_input={"command": "echo hookd-selftest-deny"})
    assert a["decision"] == "deny" and a["rule"] == "hookd.selftest" and a["reason"]
    assert a["hook_output"]["hookSpecificOutput"]["permissionDecision"] == "deny"
    a = oak.post("pre-tool-use", session_id="s", agent="claude", tool_name="Bash", tool_use_id="p2", tool_input={"command": "ls"})
    assert a["decision"] == "allow"


def test_any_other_event_is_kept_and_named(oak):
    a = oak.post("moon-phase", session_id="s", agent="claude", phase="full")
    assert a["status"] == "ok" and a["event"] == "moon-phase"
    assert [e["native_event"] for e in oak.world.events()] == ["moon-phase"]


@pytest.mark.parametrize("field", ["session_id", "sessionId", "conversation_id"])
def test_a_session_has_many_names(oak, field):
    oak.post("prompt-submit", agent="cursor", prompt="hello", **{field: "abc"})
    assert [s["id"] for s in oak.world.rpc("sessions")["sessions"]] == ["abc"]


def test_the_same_call_over_http_and_from_a_hook_is_one(oak):
    payload = {"session_id": "s", "hook_event_name": "PostToolUse", "cwd": "/", "tool_name": "Bash", "tool_use_id": "same", "tool_input": {"command": "ls"}}
    oak.world.hookc("PostToolUse", payload)
    oak.post("post-tool-use", agent="claude", **payload)
    assert len(oak.world.rpc("activities")["activities"]) == 1


def test_what_is_not_an_object_is_refused(oak):
    for body in (b"[]", b"nonsense", b"", b"42"):
        done = subprocess.run(["curl", "-sS", "--unix-socket", oak.world.dir / "run/api.sock", "-o", "/dev/null", "-w", "%{http_code}", "-X", "POST",
                               "-H", "Content-Type: application/json", "--data-binary", "@-", "http://hookd/api/oak/ci/stop"],
                              input=body, capture_output=True, timeout=30, check=True)
        assert done.stdout == b"400", body
    assert oak.world.events() == []

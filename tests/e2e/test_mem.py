"""The worker's endpoints of claude-mem, called as its hook scripts call them."""
import json
import subprocess

import pytest


class Worker:
    def __init__(self, world):
        self.world = world
        world.start()

    def call(self, method, path, body=None):
        data = ["-H", "Content-Type: application/json", "-d", "@-"] if body is not None else []
        done = subprocess.run(["curl", "-sS", "--unix-socket", self.world.dir / "run/api.sock", "-w", "\n%{http_code}", "-X", method, *data,
                               f"http://hookd{path}"], input=json.dumps(body).encode(), capture_output=True, timeout=30, check=True)
        text, code = done.stdout.decode().rsplit("\n", 1)
        return int(code), text

    def post(self, path, **body):
        code, text = self.call("POST", path, body)
        assert code == 200, (path, code, text)
        return json.loads(text)


@pytest.fixture
def worker(world):
    return Worker(world)


def test_a_session_as_the_five_hooks_tell_it(worker):
    assert worker.call("GET", "/api/health") == (200, '{"status":"ok"}')
    assert worker.call("GET", "/api/context/inject?project=shop")[0] == 200
    a = worker.post("/api/sessions/init", contentSessionId="c1", project="shop", prompt="mend the till")
    assert a["sessionDbId"] == "c1" and a["skipped"] is False
    assert worker.post("/sessions/c1/init", userPrompt="mend the till", promptNumber=1)["status"] == "initialized"
    for n in range(2):
        assert worker.post("/api/sessions/observations", claudeSessionId="c1", tool_name="Bash", tool_use_id=f"t{n}", tool_input={"command": "ls"},
                           tool_response={"stdout": "x"}, cwd="/") == {"status": "queued"}
    assert worker.post("/api/sessions/summarize", claudeSessionId="c1", last_user_message="mend the till",
                       last_assistant_message="Mended.") == {"status": "queued"}
    assert worker.post("/api/processing", isProcessing=False) == {"status": "ok", "isProcessing": False}
    assert worker.post("/api/sessions/complete", claudeSessionId="c1", reason="exit")["success"] is True
    [session] = worker.world.rpc("sessions")["sessions"]
    assert (session["id"], session["prompts"], session["tools"], session["status"]) == ("c1", 1, 2, "completed")
    shown = worker.world.rpc("show", session="c1")
    assert shown["batches"][0]["prompt"] == "mend the till" and shown["batches"][0]["response"] == "Mended."


@pytest.mark.parametrize("tool", ["ListMcpResourcesTool", "SlashCommand", "Skill", "TodoWrite", "AskUserQuestion"])
def test_the_skip_list_skips_observations_not_events(worker, tool):
    a = worker.post("/api/sessions/observations", contentSessionId="c1", tool_name=tool, tool_use_id="t", tool_input={}, tool_response="x", cwd="/")
    assert a == {"status": "skipped", "reason": "tool_excluded"}
    assert [e["tool"] for e in worker.world.events()] == [tool]


def test_a_session_nobody_knows_can_be_completed(worker):
    assert worker.post("/api/sessions/complete", contentSessionId="nobody", reason="other")["success"] is True


@pytest.mark.parametrize("path", ["/api/sessions/init", "/api/sessions/observations", "/api/sessions/summarize", "/api/sessions/complete"])
def test_without_a_session_nothing_is_stored(worker, path):
    assert worker.call("POST", path, {})[0] == 400
    assert worker.call("POST", path, [])[0] == 400
    assert worker.world.events() == []


def test_addresses(worker):
    assert worker.call("GET", "/api/context/inject")[0] == 400
    assert worker.call("POST", "/sessions/c1/other", {})[0] == 404
    assert worker.call("GET", "/api/sessions/init")[0] == 405

"""The worker's endpoints of claude-mem, called as its hook scripts call them."""
import json
import socket
import subprocess
import urllib.parse

import pytest

from world import wait_for


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
    assert a["sessionDbId"] == "c1" and a["skipped"] is False and a["promptNumber"] == 1
    assert worker.post("/sessions/c1/init", userPrompt="mend the till", promptNumber=1) == a
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


def test_context_is_what_a_session_would_be_told(worker):
    """By the name of the project, as the scripts send it, or by its directory; nothing about a project that nobody knows."""
    project = worker.world.top / "my shop"
    (project / ".git").mkdir(parents=True)
    leak = "Database connections leak under load: always use the context manager"
    worker.world.hookd("remember", leak, "--type", "gotcha", cwd=project)
    wait_for(lambda: leak[:20] in worker.world.hookd("memories").stdout.decode(), what="the memory")
    worker.post("/api/sessions/init", contentSessionId="c1", project="my shop", prompt="mend the till", cwd=str(project))
    for name in ("my%20shop", "my+shop", urllib.parse.quote(str(project), safe="")):
        code, text = worker.call("GET", f"/api/context/inject?project={name}")
        assert code == 200 and leak in text and "mend the till" in text, name
    assert worker.call("GET", "/api/context/inject?project=other") == (200, "")
    assert worker.call("GET", "/api/context/inject?project=") == (200, "")


def test_prompts_are_numbered_and_each_address_is_enough(worker):
    """The older scripts name the session in the path and tell the prompt only there."""
    for n, prompt in enumerate(["one", "two", "three"], 1):
        a = worker.post("/sessions/c1/init", userPrompt=prompt, project="shop")
        assert (a["status"], a["sessionDbId"], a["promptNumber"]) == ("initialized", "c1", n)
    assert worker.post("/api/sessions/init", contentSessionId="c1", prompt="four")["promptNumber"] == 4
    assert worker.post("/sessions/c1/init") == {"status": "initialized"}
    assert [b["prompt"] for b in worker.world.rpc("show", session="c1")["batches"]] == ["one", "two", "three", "four"]


@pytest.mark.parametrize("prompt", ["<private>all of it</private>", "<claude-mem-context>old</claude-mem-context>", "  <private>a</private> \n<system-reminder>b</system-reminder>", " \n"])
def test_a_prompt_of_which_nothing_is_left_is_skipped(worker, prompt):
    a = worker.post("/api/sessions/init", contentSessionId="c1", prompt=prompt, cwd="/")
    assert (a["skipped"], a["reason"]) == (True, "private")
    assert worker.post("/api/sessions/init", contentSessionId="c1", prompt="<private>a</private>left", cwd="/")["skipped"] is False


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


def test_the_skip_list_is_the_users_to_change(world):
    (world.dir / "config.json").write_text(json.dumps({"extract": {"skip_tools": ["Read", "mcp__notes__add"]}}))
    worker = Worker(world)
    for n, (tool, status) in enumerate([("Read", "skipped"), ("mcp__notes__add", "skipped"), ("Skill", "queued"), ("Bash", "queued")]):
        a = worker.post("/api/sessions/observations", contentSessionId="c1", tool_name=tool, tool_use_id=f"t{n}", tool_input={}, tool_response="x", cwd="/")
        assert a["status"] == status
    assert len(world.events()) == 4


PATTERNS = ["~/private", "/srv/*/secret", "**/scratch-*", "/opt/my?dir/", "/data/**/inner"]
DIRECTORIES = {  # below the home, or from the root: whether nothing is learned there
    "~/private": True, "~/private/deep/er": True, "~/private2": False, "~/x/private": False, "~": False,
    "/srv/a/secret": True, "/srv/a/secret/b": True, "/srv/a/b/secret": False, "/srv/secret": False,
    "/any/where/scratch-1/src": True, "/scratch": False, "/opt/my dir": True, "/opt/my/dir": False,
    "/data/x/y/inner/z": True, "/data/inners": False, "/": False, "": False,
}


def test_an_excluded_project_is_stored_and_teaches_nothing(world):
    (world.dir / "config.json").write_text(json.dumps({"extract": {"exclude_projects": PATTERNS}}))
    worker = Worker(world)
    got = {}
    for n, directory in enumerate(DIRECTORIES):
        cwd = str(world.home) + directory[1:] if directory.startswith("~") else directory
        a = worker.post("/api/sessions/observations", contentSessionId=f"c{n}", tool_name="Bash", tool_use_id=f"t{n}", tool_input={"command": "ls"},
                        tool_response="x", cwd=cwd)
        got[directory] = a == {"status": "skipped", "reason": "project_excluded"}
        assert got[directory] or a == {"status": "queued"}
    assert got == DIRECTORIES
    assert len(world.events()) == len(DIRECTORIES)
    cwd = str(world.home / "private")
    a = worker.post("/api/sessions/init", contentSessionId="p", prompt="mend it", cwd=cwd)
    assert (a["skipped"], a["reason"]) == (True, "project_excluded")
    assert worker.post("/api/sessions/summarize", contentSessionId="p", last_assistant_message="Mended.", cwd=cwd)["reason"] == "project_excluded"
    batch = world.rpc("show", session="p")["batches"][0]
    assert (batch["prompt"], batch["response"]) == ("mend it", "Mended.")


def test_a_private_prompt_teaches_nothing_and_is_not_kept(worker):
    a = worker.post("/api/sessions/init", contentSessionId="c1", prompt="<private>the word is xyzzy</private>", cwd="/")
    assert (a["skipped"], a["reason"]) == (True, "private")
    a = worker.post("/api/sessions/observations", contentSessionId="c1", tool_name="Bash", tool_use_id="t", tool_input={"command": "echo xyzzy"},
                    tool_response="xyzzy", cwd="/")
    assert a == {"status": "skipped", "reason": "private"}
    worker.world.events()
    assert worker.world.contains(b"xyzzy") == []
    a = worker.post("/api/sessions/init", contentSessionId="c1", prompt="now in public", cwd="/")
    assert a["skipped"] is False and "reason" not in a
    assert worker.post("/api/sessions/observations", contentSessionId="c1", tool_name="Bash", tool_use_id="t2", tool_input={"command": "ls"},
                       tool_response="x", cwd="/") == {"status": "queued"}


def test_the_busy_flag_is_seen_in_events(worker):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(30)
        s.connect(str(worker.world.dir / "run/api.sock"))
        s.sendall(b"GET /events HTTP/1.1\r\nHost: hookd\r\n\r\n")
        lines = s.makefile("rb")
        while lines.readline() != b"\r\n":
            pass
        for busy in (True, False):
            assert worker.post("/api/processing", isProcessing=busy) == {"status": "ok", "isProcessing": busy}
            seen = b""
            while b"processing_status" not in seen:
                seen = lines.readline()
            assert json.loads(lines.readline().removeprefix(b"data: ")) == {"isProcessing": busy, "queueDepth": 0}
    assert worker.post("/api/processing") == {"status": "ok", "isProcessing": False}

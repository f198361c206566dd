"""Operations know their parameters: what is wrong is refused with what would be right, before anything runs."""
import json
import subprocess
import sys

import pytest

from world import ROOT, payload

BAD_PARAMS, NO_METHOD = -32602, -32601


def ask(world, method, params=None):
    """The whole answer, with its error."""
    line = {"jsonrpc": "2.0", "id": 7, "method": method} | ({} if params is None else {"params": params})
    with world.connect() as s:
        s.sendall(json.dumps(line).encode() + b"\n")
        got = b""
        while not got.endswith(b"\n"):
            got += s.recv(65536)
    return json.loads(got)


@pytest.fixture
def told(world):
    world.start()
    world.hookc("UserPromptSubmit", payload("UserPromptSubmit", session="abcdef-1", prompt="hello"))
    return world


@pytest.mark.parametrize("method, params, words", [
    ("sessions", {"limt": 5}, "did you mean 'limit'"),
    ("sessions", {"zebra": 5}, "takes no 'zebra'"),
    ("sessions", {"limit": "many"}, "'limit' must be a number"),
    ("sessions", {"limit": 0}, "'limit' must be from 1 to 10000"),
    ("sessions", {"limit": 10**9}, "'limit' must be from 1 to 10000"),
    ("sessions", {"all": "yes"}, "'all' must be true or false"),
    ("sessions", {"status": "activ"}, "did you mean 'active'"),
    ("sessions", {"since": "the other day"}, "'since' must be a time"),
    ("sessions", {"agent": 5}, "'agent' must be a text"),
    ("sessions", [1], "must be an object"),
    ("usage", {"by": "fortnight"}, "valid values: day, week"),
    ("show", {}, "'show' needs 'session'"),
    ("show", {"session": ""}, "'session' must be a session's id"),
    ("event", {"id": ["x"]}, "'id' must be a text"),
    ("purge", {"sessions": "abc"}, "'sessions' must be a list"),
    ("purge", {"sessions": [True]}, "'sessions' must be a list"),
    ("trigger", {"type": "Stop", "payload": "x"}, "'payload' must be an object"),
])
def test_a_wrong_parameter_is_refused_with_what_would_be_right(told, method, params, words):
    error = ask(told, method, params)["error"]
    assert error["code"] == BAD_PARAMS and words in error["message"], error


def test_a_wrong_method_is_refused_with_the_nearest_one(told):
    error = ask(told, "session")["error"]
    assert error["code"] == NO_METHOD and "did you mean 'sessions'" in error["message"]


def test_parameters_are_converted_before_the_operation_runs(told):
    assert ask(told, "show", {"session": "abc"})["result"]["session"]["id"] == "abcdef-1"
    key = ask(told, "sessions")["result"]["sessions"][0]["key"]
    assert ask(told, "show", {"session": key, "limit": None})["result"]["session"]["id"] == "abcdef-1"
    for since, found in (("1h", 1), ("2099-01-01", 0), (0, 1)):
        assert len(ask(told, "sessions", {"since": since})["result"]["sessions"]) == found
    assert len(ask(told, "sessions", {"limit": "5", "status": "ACTIVE"})["result"]["sessions"]) == 1
    assert "no session" in ask(told, "show", {"session": "nothing"})["error"]["message"]
    # What other programs send along is let through where the row says so.
    assert "result" in ask(told, "trigger", {"type": "Stop", "sessionId": "x", "extra": 1})


def test_every_operation_tells_its_schema(told):
    listed = {o["name"]: o for o in ask(told, "ops")["result"]["ops"]}
    for name, op in listed.items():
        schema = op["params"]
        assert schema["type"] == "object" and set(schema["required"]) <= set(schema["properties"]), name
        assert all(p["description"] and p["type"] for p in schema["properties"].values()), name
        assert op["flags"] and op["scope"] in ("owner", "agent", "viewer"), name
    assert listed["purge"]["flags"] == ["destroy"] and listed["purge"]["scope"] == "owner"
    assert told.json("rpc", "--schema", "sessions") == listed["sessions"]["params"]
    assert set(told.json("rpc", "--schema")) == set(listed)
    assert told.hookd("rpc", "--schema", "nothing", ok=False).returncode == 1


def test_the_reference_is_what_the_program_says(told):
    made = subprocess.run([sys.executable, str(ROOT / "tools/reference.py"), str(told.build / "hookd")], env=told.env,
                          capture_output=True, text=True, check=True, timeout=60).stdout
    assert made == (ROOT / "docs/reference.md").read_text(), "run: tools/reference.py build/hookd > docs/reference.md"

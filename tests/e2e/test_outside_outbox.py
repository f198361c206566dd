"""What goes out and what comes in, as an outsider expects it: tests from the documents alone."""
import hashlib
import hmac
import http.client
import json
import subprocess
import time
import urllib.parse

import pytest

from efforts import Agent
from outside_agents import call, configure, each, here, project, secret, soon
from receiver import Receiver
from world import wait_for


# -- what goes out -------------------------------------------------------------------------------------


@pytest.fixture
def receiver():
    r = Receiver()
    yield r
    r.close()


def send_all(world, receiver, **more):
    configure(world, sinks=[receiver.sink(**more)])
    world.start()
    return project(world)


MAPPING = [("claude", "SessionStart", {"source": "startup"}, "session_start"), ("claude", "UserPromptSubmit", {"prompt": "HELLO"}, "prompt"),
           ("claude", "Stop", {"stop_hook_active": False}, "stop"), ("claude", "Notification", {"message": "m",
                   "notification_type": "idle_prompt"}, "notification"),
           ("claude", "SessionEnd", {"reason": "other"}, "session_end"), ("gemini", "SessionStart", {"source": "startup"}, "session_start"),
           ("gemini", "BeforeAgent", {"prompt": "HELLO"}, "prompt"), ("gemini", "AfterAgent", {"prompt": "HELLO", "prompt_response": "y"},
                   "stop"),
           ("gemini", "Notification", {"message": "m", "notification_type": "ToolPermission", "details": {}}, "notification"),
           ("gemini", "SessionEnd", {"reason": "exit"}, "session_end"), ("claude", "UserPromptSubmit", {"user_prompt": "HELLO"}, "prompt")]


def test_each_event_is_sent_as_the_type_that_seed_003_maps_it_to(world, receiver):
    cwd = send_all(world, receiver)
    for n, (agent, event, fields, kind) in enumerate(MAPPING):
        world.hookc(event, {"session_id": f"m{n}", "cwd": str(cwd), "hook_event_name": event, "transcript_path": "/nowhere/t", **fields},
                agent=agent)
    got = lambda: {b["data"]["session_id"]: b for b in receiver.bodies()}  # noqa
    soon(lambda: len(got()) == len(MAPPING), f"all of them, not {sorted(got())}")
    assert [got()[f"m{n}"]["event_type"] for n in range(len(MAPPING))] == [m[3] for m in MAPPING]
    assert all(b["data"]["prompt"] == "HELLO" for b in receiver.bodies("prompt"))
    assert all(b["session_id"] != b["data"]["session_id"] for b in receiver.bodies())


def test_codex_notify_is_a_stop_with_the_last_prompt(world, receiver):
    send_all(world, receiver)
    told = {"type": "agent-turn-complete", "thread-id": "cx1", "turn-id": "1", "cwd": "/tmp", "input-messages": ["first", "LAST"],
            "last-assistant-message": "DONE"}
    done = subprocess.run([str(world.build / "hookc"), "codex", "notify", json.dumps(told)], env=world.env, capture_output=True,
            stdin=subprocess.DEVNULL)
    assert done.returncode == 0
    body = soon(lambda: receiver.bodies("stop"), "the stop")[0]
    assert body["data"]["session_id"] == "cx1" and body["data"]["prompt"] == "LAST" and body["data"]["answer"] == "DONE"


@each("agent,event,lacks", [("claude", "SessionStart", "transcript_path"), ("gemini", "SessionStart", "transcript_path"),
                                               ("claude", "UserPromptSubmit", "prompt"), ("gemini", "BeforeAgent", "prompt")])
def test_an_event_without_what_it_must_bring_is_sent_as_error(world, receiver, agent, event, lacks):
    cwd = send_all(world, receiver)
    world.hookc(event, {"session_id": "m1", "cwd": str(cwd), "hook_event_name": event, "source": "startup"}, agent=agent)
    body = soon(lambda: receiver.bodies("error"), "the error")[0]
    assert lacks in json.dumps(body["data"]["missing"]) and body["data"]["meant"] in ("session_start", "prompt")


def test_everything_arrives_in_order_though_the_daemon_is_killed_and_the_receiver_is_flaky(world):
    receiver = Receiver("flaky", seed=7)
    try:
        cwd = send_all(world, receiver, events=["prompt"])
        for n in range(12):
            world.hookc("UserPromptSubmit", {"session_id": "s1", "cwd": str(cwd), "hook_event_name": "UserPromptSubmit", "prompt": f"p{n}"})
            if n % 4 == 3:
                world.kill()
                world.start()
        receiver.how = "ok"
        got = lambda: [b["data"]["prompt"] for b in receiver.bodies("prompt")]  # noqa
        wait_for(lambda: len(set(got())) == 12, 30, "all of them")
        assert got() == [f"p{n}" for n in range(12)]
        keys = {}
        for g in receiver.got:
            assert keys.setdefault(g["headers"]["Idempotency-Key"], g["raw"]) == g["raw"]
        assert len(keys) == 12
    finally:
        receiver.close()


def test_a_webhook_is_signed_as_documented(world, receiver):
    cwd = send_all(world, receiver, secret_file=secret(world))
    world.hookc("Stop", {"session_id": "s1", "cwd": str(cwd), "hook_event_name": "Stop"})
    g = soon(lambda: receiver.got, "the stop")[0]
    expected = hmac.new(b"very-private-word", g["headers"]["X-Hookd-Timestamp"].encode() + b"." + g["raw"], hashlib.sha256).hexdigest()
    assert g["headers"]["X-Hookd-Signature"] == "sha256=" + expected and g["headers"]["X-Hookd-Event"] == "stop"


def test_a_refused_delivery_is_dead_at_once_and_can_be_sent_again(world, receiver):
    receiver.how = "refuses"
    cwd = send_all(world, receiver)
    world.hookc("Stop", {"session_id": "s1", "cwd": str(cwd), "hook_event_name": "Stop"})
    soon(lambda: [d for d in world.json("outbox", "--json")["deliveries"] if d["state"] == "dead"], "the dead letter")
    receiver.how = "ok"
    world.hookd("outbox", "retry")
    soon(lambda: receiver.bodies("stop"), "the stop")
    soon(lambda: world.json("outbox", "--json")["deliveries"] == [], "an empty outbox")


@each("wrong", [{"url": "http://example.com/x"}, {"url": "ftp://127.0.0.1/"}, {"url": ""}, {"name": "UPPER"}, {"name": "../x"}, {"ttl_s": 0},
                                   {"ttl_s": "long"}, {"events": "stop"}, {"when": 5}, {"no_such": 1}, {"secret_file": "relative"}])
def test_a_contract_that_is_wrong_is_refused(world, here, wrong):
    params = {"name": "dash", "url": "http://127.0.0.1:9/hook", **wrong}
    token = (world.dir / "owner.token").read_text().strip()
    answer = call(world, "contracts_add", params, token=token)
    assert answer.get("error", {}).get("message"), answer
    assert world.json("sinks", "--json")["sinks"] == []


def test_a_contract_needs_the_owner_and_ends(world, here, receiver):
    params = {"name": "dash", "url": receiver.url, "events": ["stop"], "ttl_s": 3600}
    assert call(world, "contracts_add", params)["error"]["code"] == -32001
    world.rpc("contracts_add", **params)
    world.hookc("Stop", {"session_id": "s1", "cwd": str(here), "hook_event_name": "Stop"})
    soon(lambda: receiver.bodies("stop"), "the stop")
    world.rpc("contracts_remove", name="dash")
    world.hookc("Stop", {"session_id": "s2", "cwd": str(here), "hook_event_name": "Stop"})
    time.sleep(0.5)
    assert len(receiver.got) == 1


def test_a_turn_that_is_reported_twice_is_sent_once(world, receiver):
    cwd = send_all(world, receiver, events=["stop", "session_end"])
    turn = {"session_id": "s1", "cwd": str(cwd), "turn_id": "1"}
    world.hookc("UserPromptSubmit", {**turn, "hook_event_name": "UserPromptSubmit", "prompt": "a"}, agent="codex")
    for _ in range(2):
        world.hookc("Stop", {**turn, "hook_event_name": "Stop", "last_assistant_message": "x"}, agent="codex")
    told = {"type": "agent-turn-complete", "thread-id": "s1", "turn-id": "1", "cwd": str(cwd), "input-messages": ["a"],
            "last-assistant-message": "x"}
    subprocess.run([str(world.build / "hookc"), "codex", "notify", json.dumps(told)], env=world.env, capture_output=True,
            stdin=subprocess.DEVNULL)
    world.hookc("SessionEnd", {"session_id": "s1", "cwd": str(cwd), "hook_event_name": "SessionEnd", "reason": "other"}, agent="codex")
    soon(lambda: receiver.bodies("session_end"), "the end")
    assert len(receiver.bodies("stop")) == 1


def test_what_subagents_say_is_no_stop_and_no_prompt(world, receiver):
    cwd = send_all(world, receiver)
    a = Agent(world, cwd)
    a.start(transcript_path="/nowhere")
    a.say("SubagentStart", agent_id="s1", agent_type="Explore")
    a.say("SubagentStop", agent_id="s1", agent_type="Explore", last_assistant_message="x", stop_hook_active=False)
    a.say("Stop", stop_hook_active=False, agent_id="s1", agent_type="Explore")
    a.end()
    soon(lambda: receiver.bodies("session_end"), "the end")
    assert [b["event_type"] for b in receiver.bodies()] == ["session_start", "session_end"]


def test_a_sink_gets_only_what_fits_its_criteria(world, receiver):
    cwd = send_all(world, receiver, when={"type": "notification", "agent": ["claude"], "project": "pro*",
            "properties": {"notification_type": "permission*", "heading": False}})
    for session, kind, more in (("yes", "permission_prompt", {}), ("kind", "idle_prompt", {}), ("head", "permission_prompt",
            {"title": "T"}), ("last", "permission_prompt", {})):
        world.hookc("Notification", {"session_id": session, "cwd": str(cwd), "hook_event_name": "Notification", "message": "m",
                "notification_type": kind, **more})
    world.hookc("Notification", {"session_id": "gem", "cwd": str(cwd), "hook_event_name": "Notification", "message": "m",
            "notification_type": "permission_x"}, agent="gemini")
    soon(lambda: len(receiver.bodies()) >= 2, "those that fit")
    time.sleep(0.3)
    assert sorted(b["data"]["session_id"] for b in receiver.bodies()) == ["last", "yes"]


def test_a_file_sink_is_private_and_follows_no_link(world):
    plain, link, target = world.home / "a.jsonl", world.home / "b.jsonl", world.home / "target"
    target.write_text("mine\n")
    link.symlink_to(target)
    configure(world, sinks=[{"name": "a", "type": "file", "path": str(plain)}, {"name": "b", "type": "file", "path": str(link)}])
    world.start()
    world.hookc("Stop", {"session_id": "s1", "cwd": str(project(world)), "hook_event_name": "Stop"})
    soon(lambda: plain.exists() and plain.read_text(), "the line")
    assert json.loads(plain.read_text())["event_type"] == "stop" and plain.stat().st_mode & 0o777 == 0o600
    assert target.read_text() == "mine\n"


@each("code,tries,state", [(0, 1, None), (75, 2, "waiting"), (3, 1, "dead")])
def test_a_program_says_by_its_exit_code_what_becomes_of_a_delivery(world, code, tries, state):
    file, out = world.home / "sink.sh", world.home / "out"
    file.write_text(f"#!/bin/sh\ncat >> {out}\necho \" $HOOKD_SINK $HOOKD_EVENT $SECRET_OF_MINE\" >> {out}\nexit {code}\n")
    file.chmod(0o700)
    configure(world, sinks=[{"name": "p", "type": "exec", "command": [str(file)], "events": ["stop"]}])
    world.start(env={"SECRET_OF_MINE": "leaked"})
    world.hookc("Stop", {"session_id": "s1", "cwd": str(project(world)), "hook_event_name": "Stop"})
    soon(lambda: out.exists() and out.read_text().count(" p stop") >= tries, "the tries")
    assert '"event_type"' in out.read_text() and "leaked" not in out.read_text()
    soon(lambda: [d["state"] for d in world.json("outbox", "--json")["deliveries"]] == ([state] if state else []), state or "delivered")


def test_private_words_and_secrets_go_to_no_sink(world, receiver):
    cwd = send_all(world, receiver)
    word = "ghp_" + "Zb3k9QxW7mN2vT5rY8cL1dF4gH6jK0pS2aEu"
    a = Agent(world, cwd)
    a.prompt(f"use {word} and <private>MY-DIARY</private> now")
    body = soon(lambda: receiver.bodies("prompt"), "the prompt")[0]
    assert word not in json.dumps(body) and "MY-DIARY" not in json.dumps(body) and "now" in body["data"]["prompt"]


def test_validate_names_the_line_of_a_wrong_sink(world):
    (world.dir / "config.json").write_text('{\n  "sinks": [\n    {"name": "a", "type": "webhok", "url": "https://x.example/"}\n  ]\n}\n')
    done = world.hookd("config", "validate", ok=False)
    assert done.returncode == 1 and b"3:" in done.stdout + done.stderr and b"webhok" in done.stdout + done.stderr


# -- what comes in -------------------------------------------------------------------------------------


def inbound(world, **more):
    configure(world, http={"enabled": True}, inbound=[{"name": "ci", "type": "generic", "secret_file": secret(world), **more},
                                                      {"name": "hub", "type": "github", "secret_file": secret(world, "hub.secret", "hub-word")}])
    world.start()
    place = urllib.parse.urlparse(world.json("url", "--json")["address"])
    return place.hostname, place.port


def post(address, body, headers, name="ci", method="POST"):
    connection = http.client.HTTPConnection(*address, timeout=20)
    try:
        connection.request(method, f"/hooks/inbound/{name}", body=body, headers={"Content-Type": "application/json", **headers})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def signed(body, word=b"very-private-word", when=None, **more):
    when = str(int(time.time()) if when is None else when)
    return {"X-Hookd-Timestamp": when, "X-Hookd-Signature": "sha256=" + hmac.new(word, when.encode() + b"." + body,
            hashlib.sha256).hexdigest(), **more}


def arrived(world):
    return [e for e in world.events() if e["event"] == "Inbound"]


BUILD_FAILED = json.dumps({"type": "build.failed", "properties": {"branch": "main", "名": "ü"}}).encode()


@each("wrong", ["none", "other word", "empty", "no prefix", "upper prefix", "short", "other body", "no time", "old", "future", "odd time",
        "sha1"])
def test_a_wrong_signature_is_refused_like_an_unknown_name(world, wrong):
    address = inbound(world)
    good = signed(BUILD_FAILED)
    now = int(time.time())
    headers = {"none": {}, "other word": signed(BUILD_FAILED, b"another"), "empty": {**good, "X-Hookd-Signature": ""},
               "no prefix": {**good, "X-Hookd-Signature": good["X-Hookd-Signature"][7:]}, "upper prefix": {**good,
                       "X-Hookd-Signature": "sha512=" + "0" * 128},
               "short": {**good, "X-Hookd-Signature": good["X-Hookd-Signature"][:-1]}, "other body": signed(BUILD_FAILED + b" "),
               "no time": {"X-Hookd-Signature": good["X-Hookd-Signature"]}, "old": signed(BUILD_FAILED, when=now - 400),
               "future": signed(BUILD_FAILED, when=now + 400), "odd time": signed(BUILD_FAILED, when="soon"),
               "sha1": {**good, "X-Hookd-Signature": "sha1=" + "0" * 40}}[wrong]
    answer = post(address, BUILD_FAILED, headers)
    assert 400 <= answer[0] < 500 and arrived(world) == []
    if wrong not in ("old", "future", "odd time"):  # whoever signs rightly may hear that his clock is wrong
        assert answer == post(address, BUILD_FAILED, headers, name="no-such")


def test_a_wrong_time_and_a_wrong_signature_do_not_tell_that_a_name_is_known(world):
    address = inbound(world)
    headers = signed(BUILD_FAILED, b"another", when=int(time.time()) - 999)
    assert post(address, BUILD_FAILED, headers) == post(address, BUILD_FAILED, headers, name="no-such")


def test_what_comes_in_is_kept_once_however_often_it_is_sent(world):
    address = inbound(world)
    time.sleep(1.1)  # nothing older than the daemon is taken, and the time has whole seconds
    headers = signed(BUILD_FAILED)
    answers = [post(address, BUILD_FAILED, headers) for _ in range(3)]
    assert answers[0][0] == 202 and json.loads(answers[0][1])["id"]
    assert all(a[0] in (200, 202) for a in answers)
    soon(lambda: arrived(world), "the event")
    world.kill()
    world.start()
    assert len(arrived(world)) == 1


@each("method", ["GET", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"])
def test_another_method_brings_nothing_in(world, method):
    address = inbound(world)
    time.sleep(1.1)
    assert 400 <= post(address, BUILD_FAILED, signed(BUILD_FAILED), method=method)[0] < 500
    assert arrived(world) == []


@each("body", [b"", b"[]", b"null", b"17", b'"x"', b"{", b'{"type":', b"\xff\xfe", b'{"a":' * 5000, b'{"type": 5}', b'{"type": "x"} trailing',
                                  b'{"type": "x", "properties": []}', b"{" + b" " * 1_200_000 + b"}"])
def test_odd_json_that_is_signed_is_a_clear_error_or_kept_whole(world, body):
    address = inbound(world)
    time.sleep(1.1)
    status, text = post(address, body, signed(body))
    assert status in (200, 202, 400, 413), (status, text)
    if len(body) > 1 << 20:
        assert status == 413
    if body in (b"", b"[]", b"null", b"17", b'"x"', b"{", b'{"type":', b"\xff\xfe", b'{"type": "x"} trailing'):
        assert status == 400 and arrived(world) == []
    assert world.rpc("hello")


def test_an_agent_is_told_once_what_came_in_and_secrets_are_removed(world):
    cwd = project(world)
    address = inbound(world, to={"project": "*/proj"})
    a = Agent(world, cwd)
    a.start()
    time.sleep(1.1)
    word = "ghp_" + "Zb3k9QxW7mN2vT5rY8cL1dF4gH6jK0pS2aEu"
    body = json.dumps({"type": "build.failed", "properties": {"log": "BUILD-IS-RED", "token": word}}).encode()
    assert post(address, body, signed(body))[0] == 202
    told = [a.prompt() for _ in range(3)]
    assert sum("BUILD-IS-RED" in t for t in told) == 1, told
    assert word not in "".join(told) and world.contains(word.encode()) == []


def test_what_does_not_fit_is_answered_with_200_and_forgotten(world):
    address = inbound(world, events=["build.*"], when={"properties": {"branch": ["main", "release-*"]}})
    time.sleep(1.1)
    for given, status in (({"type": "deploy.done", "properties": {"branch": "main"}}, 200), ({"type": "build.ok",
            "properties": {"branch": "x"}}, 200),
                          ({"type": "build.ok", "branch": "release-2"}, 202)):
        body = json.dumps(given).encode()
        assert post(address, body, signed(body))[0] == status, given
    soon(lambda: len(arrived(world)) == 1, "the event that fits")


def test_github_is_known_by_its_own_signature(world):
    address = inbound(world)
    body = json.dumps({"action": "opened", "number": 5, "pull_request": {"title": "T", "html_url": "https://x/5"},
            "repository": {"full_name": "a/b"},
                       "sender": {"login": "me"}}).encode()
    sign = lambda w: {"X-Hub-Signature-256": "sha256=" + hmac.new(w, body, hashlib.sha256).hexdigest(), "X-GitHub-Event": "pull_request"}  # noqa
    assert post(address, body, sign(b"hub-word"), name="hub")[0] == 202
    assert post(address, body, sign(b"hub-word"), name="ci")[0] >= 400
    assert post(address, body, sign(b"wrong"), name="hub")[0] >= 400
    event = soon(lambda: arrived(world), "the event")[0]
    assert "pull_request.opened" in json.dumps(event) and "a/b" in json.dumps(event)

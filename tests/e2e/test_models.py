"""The model that hookd may ask: every way in which one can misbehave, and what it may cost."""
import json
import os
import pathlib
import threading
import time

import pytest

from models import Model
from world import alive, payload, wait_for

KEY = "sk-test-" + "q7" * 16


@pytest.fixture
def model():
    m = Model()
    yield m
    m.close()


def configure(world, model, provider="compatible", **more):
    (world.dir / "config.json").write_text(json.dumps(model.options(provider, **more)))


def ask(world, seconds=60):
    done = world.hookd("model", "test", "--json", ok=False, seconds=seconds)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def health(world):
    return world.status()["model"]


def log(world):
    return (world.dir / "hookd.log").read_text()


# -- off, unless somebody says so ------------------------------------------------------------------

def test_no_model_is_asked_unless_configured(world):
    world.start()
    assert health(world) == {"state": "off", "provider": "none"}
    told = ask(world)
    assert not told["ok"] and told["result"] == "off" and "llm.provider" in told["trouble"]
    assert not (world.dir / "llm.budget").exists()


def test_a_project_cannot_switch_it_on(world, model):
    project = world.top / "p"
    (project / ".hookd").mkdir(parents=True)
    (project / ".git").mkdir()
    (project / ".hookd/config.json").write_text(json.dumps(model.options()))
    world.start()
    world.hookc("SessionStart", payload("SessionStart", source="startup") | {"cwd": str(project)})
    assert health(world)["state"] == "off" and ask(world)["result"] == "off" and not model.asked
    said = world.hookd("hooks", "validate", cwd=project, ok=False)
    assert b"'llm' is ignored in a project" in said.stdout + said.stderr, said


@pytest.mark.parametrize("url", ["http://example.com/v1", "ftp://127.0.0.1/", "http://127.0.0.1.example.com/v1",
                                 "http://user:pw@127.0.0.1/v1", "https://", "file:///etc/passwd",
                                 "http://localhost@example.com/", "http://127.0.0.1\\@example.com/"])
def test_only_https_or_this_machine(world, model, url):
    done = world.hookd("config", "set", "llm.url", url, ok=False)
    assert done.returncode != 0 and b"llm.url" in done.stderr
    configure(world, model, url=url)
    world.start()
    assert not ask(world)["ok"] and not model.asked
    assert world.status()["config_problems"] == 1


def test_what_is_missing_is_said(world):
    (world.dir / "config.json").write_text(json.dumps({"llm": {"provider": "compatible", "model": "m"}}))
    world.start()
    assert health(world)["state"] == "off" and "llm.url" in health(world)["trouble"]
    assert "llm.url" in ask(world)["trouble"]


# -- the protocols ---------------------------------------------------------------------------------

@pytest.mark.parametrize("provider, path, limit", [("compatible", "/v1/chat/completions", "max_tokens"),
                                                   ("openai", "/v1/chat/completions", "max_completion_tokens"),
                                                   ("anthropic", "/v1/messages", "max_tokens")])
def test_asking(world, model, provider, path, limit):
    configure(world, model, provider)
    world.start()
    world.hookd("model", "key", input=KEY.encode() + b"\n")
    told = ask(world)
    assert told["ok"] and told["answer"] == "ALLOW" and told["tokens"] == 55, told
    asked = model.asked[0]
    assert asked["path"] == path and asked["body"]["model"] == "test-model" and asked["body"][limit] == 64
    assert asked["headers"].get("x-api-key" if provider == "anthropic" else "Authorization").endswith(KEY)
    assert ("anthropic-version" in asked["headers"]) == (provider == "anthropic")
    h = health(world)
    assert (h["state"], h["calls"], h["failures"], h["tokens_today"]) == ("ok", 1, 0, 55)
    assert "ASK test " + provider in log(world)


def test_the_key_is_nowhere_but_in_its_file(world, model):
    configure(world, model, "anthropic")
    model.how = "silent"
    world.start()
    world.hookd("model", "key", input=KEY.encode())
    assert (world.dir / "llm.key").stat().st_mode & 0o777 == 0o600
    asking = threading.Thread(target=ask, args=(world,))
    asking.start()
    wait_for(lambda: model.asked, what="the question")
    seen = [b""]
    for p in pathlib.Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            try:
                seen.append((p / name).read_bytes())
            except OSError:
                pass
    assert any(b"curl" in s for s in seen) and not any(KEY.encode() in s for s in seen)
    world.stop()
    asking.join()
    model.how = "refuses"  # and its message holds the key
    world.start()
    told = ask(world)
    assert told["result"] == "refused" and KEY not in json.dumps(told)
    assert [p.name for p in world.contains(KEY.encode())] == ["llm.key"]
    assert KEY not in json.dumps(world.status())


def test_a_key_that_others_can_read_is_not_used(world, model):
    key = world.top / "key"
    key.write_text(KEY)
    key.chmod(0o644)
    configure(world, model, key_file=str(key))
    world.start()
    told = ask(world)
    assert told["result"] == "off" and "chmod 600" in told["trouble"] and not model.asked
    key.chmod(0o600)
    assert ask(world)["ok"]


def test_a_missing_key_is_said_before_anything_is_sent(world):
    (world.dir / "config.json").write_text(json.dumps({"llm": {"provider": "anthropic", "model": "m"}}))
    world.start()
    told = ask(world)
    assert told["result"] == "off" and "hookd model key" in told["trouble"]


# -- wrong answers ---------------------------------------------------------------------------------

@pytest.mark.parametrize("provider", ["compatible", "anthropic"])
@pytest.mark.parametrize("how, result", [("garbage", "garbled"), ("other_schema", "garbled"), ("huge", "garbled"),
                                         ("cut", "cut off"), ("refuses", "refused"), ("floods", "garbled"),
                                         ("floods_headers", "garbled"), ("redirects", "failed"),
                                         ("busy_for_long", "failed")])
def test_wrong_answers(world, model, provider, how, result):
    configure(world, model, provider)
    model.how = how
    world.start()
    told = ask(world)
    assert not told["ok"] and told["result"] == result and "answer" not in told, told
    assert len(model.asked) == 1
    h = health(world)
    assert h["calls"] == 1 and h["failures"] == (how != "cut")
    assert h["state"] == {"cut": "ok", "refuses": "paused", "busy_for_long": "paused"}.get(how, "failing")


def test_a_silent_model_ends_with_the_time(world, model):
    configure(world, model, timeout_s=1)
    model.how = "silent"
    world.start()
    told = ask(world)
    assert told["result"] == "timeout" and len(model.asked) == 1
    assert health(world)["tokens_today"] > 0  # it may have worked all the same


def test_nobody_there(world, model):
    configure(world, model, timeout_s=5)
    model.close()
    world.start()
    told = ask(world)
    assert told["result"] == "unreachable" and "curl" in told["trouble"]
    assert health(world)["tokens_today"] == 0
    model.__init__()


def test_errors_that_pass_are_tried_again(world, model):
    configure(world, model)
    model.how = "busy"
    world.start()
    threading.Timer(1, setattr, (model, "how", "good")).start()
    began = time.monotonic()
    assert ask(world)["ok"]
    assert len(model.asked) == 2 and time.monotonic() - began >= 2  # Retry-After


def test_after_failures_the_model_is_left_alone(world, model):
    configure(world, model)
    model.how = "garbage"
    world.start()
    results = [ask(world)["result"] for _ in range(8)]
    assert results == ["garbled"] * 5 + ["paused"] * 3 and len(model.asked) == 5
    assert health(world)["state"] == "paused" and health(world)["paused_us"] > 0
    assert "the model is not asked for" in log(world)
    shown = world.hookd("status").stdout.decode()
    assert "TROUBLE      the model (test-model) is not asked for another" in shown and "is not JSON" in shown


# -- money -----------------------------------------------------------------------------------------

def spent(world):
    return json.loads((world.dir / "llm.budget").read_text())["tokens"]


def test_never_more_than_the_budget(world, model):
    configure(world, model, budget=1000, max_tokens=64)
    world.start()
    results = [ask(world)["result"] for _ in range(16)]
    assert results.count("answered") == len(model.asked) and set(results) == {"answered", "no budget"}
    assert spent(world) == 55 * len(model.asked) <= 1000
    asked = len(model.asked)
    world.stop()
    world.start()
    assert ask(world)["result"] == "no budget" and len(model.asked) == asked


@pytest.mark.parametrize("how", ["broken", "hangs_up", "refuses", "silent", "garbage"])
def test_failures_come_to_the_end_of_the_budget_too(world, model, how):
    configure(world, model, budget=900, max_tokens=16, timeout_s=1)
    model.how = how
    for _ in range(12):  # a new daemon has forgotten that it was to wait
        world.start()
        if ask(world)["result"] == "no budget":
            break
        world.kill()
    else:
        raise AssertionError("the budget never ends")
    asked = len(model.asked)
    assert 0 < asked <= 12 and 0 < spent(world) <= 900
    ask(world)
    assert len(model.asked) == asked


def test_killed_in_the_middle_of_a_call(world, model):
    """What a call could cost stays spent, and no more calls are made than the budget has room for."""
    configure(world, model, budget=2000, max_tokens=64, timeout_s=30)
    model.how = "silent"
    before = 0
    for n in range(1, 30):
        world.start()
        asking = threading.Thread(target=lambda: world.hookd("model", "test", ok=False))
        asking.start()
        wait_for(lambda: len(model.asked) == n or "no budget" in log(world) or not asking.is_alive(),
                 what="the question")
        world.kill()
        asking.join()
        if len(model.asked) < n:
            break
        assert spent(world) > before
        before = spent(world)
    assert 2 <= len(model.asked) < 12 and spent(world) <= 2000
    wait_for(lambda: model.in_flight == 0, what="curl to end with the daemon")


def children(pid):
    """Of all threads of the daemon that are curl, or about to be."""
    found = []
    for p in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            for child in p.read_text().split():
                words = pathlib.Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
                found += [child] * (b"curl" in words[:1])
        except OSError:
            pass
    return found


@pytest.mark.parametrize("text", ["", "{", "[]", '{"day": 5, "tokens": 1}', '{"day": "2026-01-01", "tokens": -1}'])
def test_a_broken_budget_spends_nothing(world, model, text):
    configure(world, model)
    (world.dir / "llm.budget").write_text(text)
    world.start()
    told = ask(world)
    assert told["result"] == "no budget" and "llm.budget" in told["trouble"] and not model.asked


def test_a_new_day_begins_with_nothing_spent(world, model):
    configure(world, model, budget=2000)
    (world.dir / "llm.budget").write_text('{"day": "2026-01-01", "tokens": 1999}')
    world.start()
    assert ask(world)["ok"] and spent(world) == 55


# -- what it costs the others ----------------------------------------------------------------------

@pytest.mark.parametrize("how", ["silent", "floods"])
def test_two_at_once_and_a_bounded_queue(world, model, how):
    configure(world, model, timeout_s=20)
    model.how = how
    hooks = {"PreToolUse": [{"hooks": [{"type": "prompt", "prompt": "fine? $COMMAND", "timeout": 6}]}]}
    told = json.loads((world.dir / "config.json").read_text())
    (world.dir / "config.json").write_text(json.dumps({**told, "hooks": hooks}))
    world.start()

    def call(n):
        done = world.hookc("PreToolUse", payload("PreToolUse", f"s{n}", tool_name="Bash", tool_use_id=f"t{n}",
                                                 tool_input={"command": f"ls {n}"}))
        assert done.returncode == 0, done

    threads = [threading.Thread(target=call, args=(n,)) for n in range(80)]
    for t in threads:
        t.start()
    if how == "silent":  # those that are flooded are over too soon to be seen
        wait_for(lambda: health(world)["in_flight"] == 2, what="two calls")
    assert health(world)["waiting"] <= 64
    most = 0
    while any(t.is_alive() for t in threads):
        most = max(most, len(children(world.pid())))
        time.sleep(0.02)
    for t in threads:
        t.join()
    assert 0 < most <= 2
    assert len(world.events()) == 80
    wait_for(lambda: health(world)["waiting"] == 0, what="the queue to be empty")


def test_the_daemon_stops_at_once(world, model):
    configure(world, model, timeout_s=300)
    model.how = "silent"
    pid = world.start()
    asking = threading.Thread(target=lambda: world.hookd("model", "test", ok=False))
    asking.start()
    wait_for(lambda: model.asked, what="the question")
    world.hookd("stop", seconds=10)
    asking.join()
    wait_for(lambda: not alive(pid), 5, what="the daemon to end")


def test_secrets_do_not_leave(world, model):
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    told = model.options()
    told["hooks"] = {"PreToolUse": [{"hooks": [{"type": "prompt", "prompt": "fine? $COMMAND"}]}]}
    (world.dir / "config.json").write_text(json.dumps(told))
    world.start()
    world.hookc("PreToolUse", payload("PreToolUse", tool_name="Bash", tool_use_id="t1",
                                      tool_input={"command": f"curl -H 'Authorization: token {secret}' x"}))
    assert model.asked and secret not in json.dumps(model.asked) and "[redacted:" in model.last()[1]

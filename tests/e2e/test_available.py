"""Which agents' models cannot be reached, as the ends of their turns tell: shown in status, never acted on."""
import time

import pytest

from world import payload

SESSION = "0f8e6a52-77a1-4c59-8d0e-9f2f31c0a001"


def tell(world, event, agent="claude", **more):
    assert world.hookc(event, payload(event, SESSION, **more), agent=agent).returncode == 0


def state(world, agent="claude"):
    return next(a for a in world.status()["agents"] if a["agent"] == agent)


@pytest.mark.parametrize("error,said,available,why", [
    ("rate_limit", "API Error: Request rejected (429)", "unavailable", "rate_limit"),
    ("billing_error", "", "unavailable", "billing_error"),
    ("authentication_failed", "Not logged in", "unavailable", "authentication_failed"),
    ("overloaded", "", "degraded", "overloaded"),
    ("server_error", "API Error: 529", "degraded", "server_error"),
    ("unknown", "You've hit your session limit", "unavailable", "rate_limit"),
    ("invalid_request", "Prompt is too long", "available", None),
    ("max_output_tokens", "", "available", None),
    ("sk-ant-whatever", "", "available", None),
])
def test_a_turn_that_failed_says_what_is_wrong(world, error, said, available, why):
    tell(world, "UserPromptSubmit", prompt="hello")
    assert state(world)["available"] == "available"
    tell(world, "StopFailure", error=error, last_assistant_message=said)
    a = state(world)
    assert (a["available"], a.get("why")) == (available, why)
    assert (b"is " + available.encode() in world.hookd("status").stdout) == (why is not None)


def test_it_is_of_one_agent_and_ends_with_a_turn_that_does_not_fail(world):
    tell(world, "StopFailure", error="rate_limit")
    tell(world, "StopFailure", error="rate_limit")
    since = state(world)["since_us"]
    tell(world, "Stop", agent="codex", last_assistant_message="done")
    assert state(world)["available"] == "unavailable" and state(world, "codex")["available"] == "available"
    tell(world, "PreToolUse", tool_name="Read", tool_use_id="t", tool_input={"file_path": "/x"})
    assert state(world)["since_us"] == since
    tell(world, "Stop", last_assistant_message="done")
    assert state(world)["available"] == "available" and "since_us" not in state(world)


def test_an_end_that_was_named_is_shown_and_passes(world):
    until = int(time.time()) + 3600
    tell(world, "Stop", last_assistant_message=f"Claude AI usage limit reached|{until}")
    a = state(world)
    assert (a["available"], a["until_us"]) == ("unavailable", until * 1000000)
    tell(world, "Stop", last_assistant_message=f"Claude AI usage limit reached|{int(time.time()) - 1}")
    assert state(world)["available"] == "available"


def test_nothing_waits_for_it(world):
    tell(world, "StopFailure", error="rate_limit")
    done = world.hookc("UserPromptSubmit", payload("UserPromptSubmit", SESSION, prompt="again"))
    assert (done.returncode, done.stderr) == (0, b"") and b"block" not in done.stdout

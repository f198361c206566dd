"""Secrets never reach the disk, in whatever form; what is private reaches only what comes after it."""
import base64
import json

import pytest

from outside import FINE, frozen, says
from world import payload, tool, wait_for

TOKEN = "ghp_" + "Zq7Xw2Lp9Rt4Vb6Nm1Kc8Hd3Fg5Js0Ya2TeU"
AWS = "AKIA" + "Q3EGRZ7WXYZ5PLMN"
STRIPE = "sk_live_" + "51HxQw9ZrTyUiOpAsDfGhJkLz"
ANTH = "sk-ant-api03-" + "a8Kd" * 23 + "x1AA"


def gone(world, *needles):
    world.events()
    shown = world.hookd("tail", "--json", "-n", 1000).stdout
    for needle in needles:
        needle = needle if isinstance(needle, bytes) else str(needle).encode()
        assert not world.contains(needle), (needle[:60], world.contains(needle))
        assert needle not in shown, needle[:60]


def post(world, value, n=1, session="sec"):
    return world.hookc("PostToolUse", payload("PostToolUse", session, tool_name="Http", tool_use_id=f"h{n}",
                                              tool_input=value, tool_response={"ok": True}))


@pytest.mark.parametrize("name", ["password", "api_key", "secret", "pin_token", "PASSWORD", "apiKey", "client_secret"])
def test_a_number_as_secret(world, name):
    world.start()
    post(world, {name: 918273645546372, "port": 5432})
    gone(world, "918273645546372")
    assert world.contains(b"5432") or "5432" in json.dumps(world.events())


def test_a_number_as_secret_in_odd_spellings(world):
    world.start()
    post(world, {"auth": {"password": 918273645.5463}, "db": [{"passwd": -918273645111}]})
    gone(world, "918273645.5463", "918273645111")


@pytest.mark.parametrize("token", [TOKEN, AWS, STRIPE, ANTH])
def test_a_token_as_key(world, token):
    world.start()
    post(world, {token: "x", "deep": {"headers": {token: 1}}})
    gone(world, token)


@pytest.mark.parametrize("token", [TOKEN, STRIPE, ANTH])
@pytest.mark.parametrize("how", ["plain", "header", "url", "inside"])
def test_base64_of_a_token(world, token, how):
    world.start()
    text = {"plain": token, "header": "user:" + token, "url": token, "inside": "export T=" + token + "\n"}[how]
    coded = (base64.urlsafe_b64encode if how == "url" else base64.b64encode)(text.encode()).decode()
    post(world, {"text": f"Authorization: Basic {coded}" if how == "header" else f"echo {coded} | base64 -d"})
    gone(world, coded, token)


def test_base64_without_padding_and_in_lines(world):
    world.start()
    coded = base64.b64encode(("x" + TOKEN).encode()).decode().rstrip("=")
    post(world, {"text": coded})
    gone(world, coded)


def test_secrets_in_every_place_of_an_event(world):
    world.start()
    world.hookc("UserPromptSubmit", payload("UserPromptSubmit", prompt="use " + TOKEN))
    world.hookc("PostToolUse", tool(1, tool_response={"stdout": TOKEN}))
    world.hookc("PostToolUseFailure", tool(2, "PostToolUseFailure", error="bad " + TOKEN))
    world.hookc("Stop", payload("Stop", last_assistant_message="it is " + TOKEN, stop_hook_active=False))
    world.hookc("Notification", payload("Notification", message=TOKEN, title=TOKEN))
    world.hookc("Frob", payload("Frob", **{"x": [TOKEN, {"y": TOKEN}]}))
    gone(world, TOKEN)


def test_secrets_in_ids_cwd_and_names(world):
    world.start()
    world.hookc("PostToolUse", payload("PostToolUse", session="s-" + TOKEN, tool_name="T " + TOKEN, tool_use_id=TOKEN,
                                       tool_input={}, transcript_path="/tmp/" + TOKEN))
    gone(world, TOKEN)


def test_secrets_through_the_spool(world):
    world.start()
    with frozen(world):
        post(world, {"password": 918273645546372, TOKEN: 1, "b": base64.b64encode(TOKEN.encode()).decode()})
        gone_now = [p for p in world.files() if TOKEN.encode() in p.read_bytes()]
        assert not gone_now
    wait_for(lambda: world.events(), what="the spooled event")
    gone(world, TOKEN, "918273645546372", base64.b64encode(TOKEN.encode()))


def test_secrets_escaped_in_json(world):
    world.start()
    raw = json.dumps(payload("UserPromptSubmit", prompt="PLACE")).replace(
        "PLACE", "".join(f"\\u{ord(c):04x}" for c in TOKEN)).encode()
    world.hookc("UserPromptSubmit", raw)
    gone(world, TOKEN)


def test_secrets_in_json_within_a_string(world):
    world.start()
    post(world, {"body": json.dumps({"password": 918273645546372, "token": "hunter2-hunter2-hunter2"})})
    gone(world, "918273645546372", "hunter2-hunter2")


def test_secrets_in_what_is_not_json(world):
    world.start()
    world.hookc("PostToolUse", b"not json " + TOKEN.encode())
    gone(world, TOKEN)


def test_secrets_in_a_denied_command_and_its_audit(world):
    world.start()
    assert says(world, "claude", f"echo hookd-selftest-deny --token {TOKEN}") == "deny"
    world.hookd("decisions")
    gone(world, TOKEN)


def test_private_key_block(world):
    world.start()
    block = "-----BEGIN OPENSSH PRIVATE KEY-----\n" + "b3BlbnNzaC1rZXktdjEAAAAABG5vbmU\n" * 5 + \
        "-----END OPENSSH PRIVATE KEY-----"
    post(world, {"content": "before\n" + block + "\nafter"})
    gone(world, "b3BlbnNzaC1rZXktdjEAAAAABG5vbmU")


def test_env_file_contents(world):
    world.start()
    world.hookc("PostToolUse", payload("PostToolUse", tool_name="Read", tool_use_id="e", tool_input={
        "file_path": "/p/.env"}, tool_response={"file": {"filePath": "/p/.env", "content": "COLOR=ultramarine77\nX=1\n"}}))
    gone(world, "ultramarine77")


def test_the_private_part_is_removed_and_the_rest_kept(world):
    world.start()
    world.hookc("UserPromptSubmit", payload("UserPromptSubmit", "pr", prompt="left <private>pelican</private> right"))
    gone(world, "pelican")
    text = json.dumps(world.events())
    assert "left" in text and "right" in text


@pytest.mark.parametrize("text", ["<private>pelican", "a <PRIVATE>pelican</PRIVATE> b",
                                  "<private>x <private>pelican</private> y</private>",
                                  "<private>a</private> b <private>pelican</private>",
                                  "<private>pelican</private", "<private\n>pelican</private>"])
def test_odd_private_marks(world, text):
    world.start()
    world.hookc("UserPromptSubmit", payload("UserPromptSubmit", "pr", prompt=text))
    gone(world, "pelican")


def test_private_in_tool_data(world):
    world.start()
    post(world, {"text": "a <private>pelican</private> b", "list": ["<private>pelican</private>"]})
    world.hookc("PostToolUse", tool(3, tool_response="<private>pelican</private>"))
    gone(world, "pelican")


def test_a_private_prompt_in_the_spool(world):
    world.start()
    with frozen(world):
        world.hookc("UserPromptSubmit", payload("UserPromptSubmit", "pr", prompt="<private>pelican</private>"))
        gone_files = [p for p in world.files() if b"pelican" in p.read_bytes()]
        assert not gone_files
    wait_for(lambda: world.events(), what="the spooled prompt")
    gone(world, "pelican")


def test_private_does_not_reach_back(world):
    """Told before the private prompt, but spooled and picked up after it."""
    world.start()
    with frozen(world):
        world.hookc("UserPromptSubmit", payload("UserPromptSubmit", "pr", prompt="open heron", prompt_id="1"))
        world.hookc("PostToolUse", tool(1, session="pr", tool_response={"stdout": "open-ibis"}))
        world.hookc("Stop", payload("Stop", "pr", last_assistant_message="open-jackdaw", stop_hook_active=False))
        world.hookc("UserPromptSubmit", payload("UserPromptSubmit", "pr", prompt="<private>pelican</private>",
                                                prompt_id="2"))
    wait_for(lambda: len(world.events()) == 4, what="the spooled events")
    text = json.dumps(world.events())
    assert "open heron" in text and "open-ibis" in text and "open-jackdaw" in text
    gone(world, "pelican")


def test_a_private_prompt_mutes_its_turn_and_not_the_next(world):
    """conflicts.md 34: a private prompt mutes its tools and summary."""
    world.start()
    world.hookc("UserPromptSubmit", payload("UserPromptSubmit", "pr", prompt="<private>pelican</private>", prompt_id="1"))
    world.hookc("PostToolUse", tool(1, session="pr", tool_response={"stdout": "quiet-osprey"}))
    world.hookc("Stop", payload("Stop", "pr", last_assistant_message="quiet-raven", stop_hook_active=False))
    world.hookc("UserPromptSubmit", payload("UserPromptSubmit", "pr", prompt="open swan", prompt_id="2"))
    world.hookc("PostToolUse", tool(2, session="pr", tool_response={"stdout": "open-teal"}))
    gone(world, "pelican", "quiet-osprey", "quiet-raven")
    text = json.dumps(world.events())
    assert "open swan" in text and "open-teal" in text


def test_muted_also_while_the_daemon_is_frozen(world):
    world.start()
    world.hookc("UserPromptSubmit", payload("UserPromptSubmit", "pr", prompt="<private>pelican</private>", prompt_id="1"))
    with frozen(world):
        world.hookc("PostToolUse", tool(1, session="pr", tool_response={"stdout": "quiet-osprey"}))
    wait_for(lambda: len(world.events()) == 2, what="both")
    gone(world, "quiet-osprey")


def test_a_private_session_is_still_guarded(world):
    world.start()
    world.hookc("UserPromptSubmit", payload("UserPromptSubmit", "s-1", prompt="<private>pelican</private>"))
    assert says(world, "claude", "echo hookd-selftest-deny") == "deny"


def test_ordinary_numbers_and_words_stay(world):
    world.start()
    post(world, {"count": 918273645546372, "line": 17, "text": "aGVsbG8gd29ybGQgb2YgYmFzZTY0"})
    text = json.dumps(world.events())
    assert "918273645546372" in text and "aGVsbG8gd29ybGQgb2YgYmFzZTY0" in text

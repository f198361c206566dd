"""A thousand made-up secrets, and not one byte of them on any disk: journal, spool, store, WAL and log.

The values are made here from a fixed seed, by other hands than the patterns' own samples, so this is a
check from outside. None of them ever was a real one."""
import json
import os
import random
import signal
import string
import time

import pytest

from world import payload, wait_for

ALNUM = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"
B64 = ALNUM + "+/"
URL64 = ALNUM + "-_"


def word(rng, letters, n):
    # At least one digit: a token without any is a rarity of its own.
    return "".join(rng.choice(letters) for _ in range(n - 1)) + rng.choice("0123456789")


# name, how to make one; what stands outside {} is how it is met.
FORMATS = {
    "aws key id": lambda r: "AKIA" + word(r, UPPER, 16),
    "aws session key id": lambda r: "ASIA" + word(r, UPPER, 16),
    "aws secret": lambda r: "aws_secret_access_key=" + word(r, B64, 40),
    "github classic": lambda r: "ghp_" + word(r, ALNUM, 36),
    "github oauth": lambda r: "gho_" + word(r, ALNUM, 36),
    "github server": lambda r: "ghs_" + word(r, ALNUM, 36),
    "github fine": lambda r: "github_pat_" + word(r, ALNUM, 22) + "_" + word(r, ALNUM, 59),
    "gitlab": lambda r: "glpat-" + word(r, URL64, 20),
    "openai": lambda r: "sk-proj-" + word(r, URL64, 48),
    "openai old": lambda r: "sk-" + word(r, ALNUM, 20) + "T3BlbkFJ" + word(r, ALNUM, 20),
    "anthropic": lambda r: "sk-ant-api03-" + word(r, URL64, 93) + "AA",
    "google api": lambda r: "AIza" + word(r, URL64, 35),
    "google oauth": lambda r: "ya29." + word(r, URL64, 60),
    "slack bot": lambda r: "xoxb-" + word(r, string.digits, 12) + "-" + word(r, string.digits, 12) + "-" + word(r, ALNUM, 24),
    "slack hook": lambda r: "https://hooks.slack.com/services/T" + word(r, UPPER, 8) + "/B" + word(r, UPPER, 8) + "/" + word(r, ALNUM, 24),
    "stripe": lambda r: "sk_live_" + word(r, ALNUM, 24),
    "stripe restricted": lambda r: "rk_live_" + word(r, ALNUM, 24),
    "stripe hook": lambda r: "whsec_" + word(r, ALNUM, 32),
    "sendgrid": lambda r: "SG." + word(r, URL64, 22) + "." + word(r, URL64, 43),
    "npm": lambda r: "npm_" + word(r, ALNUM, 36),
    "pypi": lambda r: "pypi-AgEIcHlwaS5vcmc" + word(r, URL64, 70),
    "docker": lambda r: "dckr_pat_" + word(r, URL64, 27),
    "vault": lambda r: "hvs." + word(r, URL64, 90),
    "digitalocean": lambda r: "dop_v1_" + word(r, HEX, 64),
    "shopify": lambda r: "shpat_" + word(r, HEX, 32),
    "telegram": lambda r: word(r, string.digits, 10) + ":AA" + word(r, URL64, 33),
    "databricks": lambda r: "dapi" + word(r, HEX, 32),
    "hugging face": lambda r: "hf_" + word(r, string.ascii_letters, 34),
    "linear": lambda r: "lin_api_" + word(r, ALNUM, 40),
    "figma": lambda r: "figd_" + word(r, URL64, 40),
    "atlassian": lambda r: "ATATT3xFfGF0" + word(r, URL64, 180),
    "planetscale": lambda r: "pscale_tkn_" + word(r, URL64, 43),
    "supabase": lambda r: "sbp_" + word(r, HEX, 40),
    "grafana": lambda r: "glsa_" + word(r, ALNUM, 32) + "_" + word(r, HEX, 8),
    "new relic": lambda r: "NRAK-" + word(r, UPPER, 27),
    "groq": lambda r: "gsk_" + word(r, ALNUM, 52),
    "replicate": lambda r: "r8_" + word(r, ALNUM, 37),
    "age": lambda r: "AGE-SECRET-KEY-1" + word(r, UPPER, 58),
    "jwt": lambda r: "eyJ" + word(r, URL64, 33) + ".eyJ" + word(r, URL64, 80) + "." + word(r, URL64, 43),
    "bearer": lambda r: "Authorization: Bearer " + word(r, URL64, 40),
    "basic": lambda r: "authorization: basic " + word(r, ALNUM, 32) + "==",
    "url password": lambda r: "postgres://app:" + word(r, ALNUM, 18) + "@db.internal:5432/x",
    "env password": lambda r: "DB_PASSWORD=" + word(r, ALNUM + "!#%", 16),
    "yaml secret": lambda r: "client_secret: " + word(r, ALNUM, 28),
    "json token": lambda r: '"access_token": "' + word(r, ALNUM, 40) + '"',
    "flag": lambda r: "--password " + word(r, ALNUM, 14),
    "export": lambda r: "export API_KEY='" + word(r, ALNUM, 32) + "'",
    "pem": lambda r: "-----BEGIN RSA PRIVATE KEY-----\n" + "\n".join(word(r, B64, 64) for _ in range(4)) + "\n-----END RSA PRIVATE KEY-----",
}

# The part that must not survive: everything of it that is not the name it hides behind.
VISIBLE = ("aws_secret_access_key=", "Authorization: Bearer ", "authorization: basic ", "postgres://app:", "DB_PASSWORD=",
           "client_secret: ", '"access_token": "', "--password ", "export API_KEY='", "https://hooks.slack.com/services/")


def core(text):
    for head in VISIBLE:
        if text.startswith(head):
            text = text[len(head):]
    text = text.split("@db.internal")[0].rstrip("\"'=")
    if text.startswith("-----BEGIN"):
        text = text.splitlines()[2]
    return text


CONTEXTS = [
    ("UserPromptSubmit", lambda t: {"prompt": f"please use {t} for the deployment"}),
    ("UserPromptSubmit", lambda t: {"prompt": t}),
    ("PreToolUse", lambda t: {"tool_name": "Bash", "tool_input": {"command": f"run {t} && true"}}),
    ("PostToolUse", lambda t: {"tool_name": "Bash", "tool_input": {"command": "env"}, "tool_response": {"stdout": f"a\n{t}\nb\n"}}),
    ("PostToolUse", lambda t: {"tool_name": "Read", "tool_input": {"file_path": "/p/config.yml"},
                               "tool_response": {"file": {"filePath": "/p/config.yml", "content": f"x: 1\n{t}\ny: 2\n"}}}),
    ("PreToolUse", lambda t: {"tool_name": "Write", "tool_input": {"file_path": "/p/a.sh", "content": f"#!/bin/sh\n{t}\n"}}),
    ("Stop", lambda t: {"last_assistant_message": f"I found {t} in the file"}),
    ("Notification", lambda t: {"message": t}),
    ("BrandNew", lambda t: {"deep": [{"er": {t[:120]: t}}]}),
]


def made(n, seed=42):
    rng = random.Random(seed)
    names = list(FORMATS)
    for i in range(n):
        yield FORMATS[names[i % len(names)]](rng), names[i % len(names)], CONTEXTS[rng.randrange(len(CONTEXTS))]


def test_a_thousand_secrets_are_on_no_disk(world):
    pid = world.start()
    secrets = []
    for i, (text, name, (event, wrap)) in enumerate(made(1000)):
        if i == 700:
            os.kill(pid, signal.SIGSTOP)  # some of them take the way of the spool
        if i == 710:
            os.kill(pid, signal.SIGCONT)
        world.hookc(event, payload(event, **wrap(text)))
        secrets.append((name, core(text)))
    # What hookd injected meanwhile is an event of its own.
    wait_for(lambda: sum(e["event"] != "Injection" for e in world.events()) == 1000, what="all events")
    world.stop()
    data = b"".join(p.read_bytes() for p in world.files())
    found = [(name, s) for name, s in secrets if s.encode() in data or json.dumps(s)[1:-1].encode() in data]
    print(f"{1000 - len(found)} of 1000 secrets gone; left: {sorted({n for n, _ in found})}")
    assert len(found) <= 10, found
    # And nothing but the secrets went: what stands around them is there.
    assert data.count(b"for the deployment") > 50


@pytest.mark.parametrize("name", [".env", ".env.production", "id_rsa", "server.pem", ".netrc"])
def test_contents_of_secret_files_are_kept_as_name_and_size(world, name):
    text = "zebra-one\nzebra-two\n"
    world.hookc("PostToolUse", payload("PostToolUse", tool_name="Read", tool_use_id="r", tool_input={"file_path": f"/p/{name}"},
                                       tool_response={"type": "text", "file": {"filePath": f"/p/{name}", "content": text}}))
    world.hookc("PreToolUse", payload("PreToolUse", tool_name="Write", tool_use_id="w",
                                      tool_input={"file_path": f"/p/{name}", "content": text}))
    world.hookc("PostToolUse", payload("PostToolUse", tool_name="Bash", tool_use_id="b", tool_input={"command": f"cat /p/{name}"},
                                       tool_response={"stdout": text, "stderr": ""}))
    assert len(world.events()) == 3
    assert world.contains(b"zebra") == []
    assert all(name in json.dumps(e["payload"]) for e in world.events())


def test_private_tags_everywhere(world):
    for i, text in enumerate(["a <private>zebra</private> b", "a <PRIVATE reason='x'>zebra</PRIVATE> b", "a <private>zebra",
                              "a <private>ze<private>bra</private>zebra</private> b", "<system-reminder>zebra</system-reminder> a b"]):
        world.hookc("UserPromptSubmit", payload("UserPromptSubmit", prompt=text))
        world.hookc("PreToolUse", payload("PreToolUse", tool_name="Bash", tool_use_id=f"a{i}", tool_input={"command": text}))
        world.hookc("PostToolUse", payload("PostToolUse", tool_name="Bash", tool_use_id=f"a{i}", tool_input={},
                                           tool_response={"stdout": text}))
    assert len(world.events()) == 15
    assert world.contains(b"zebra") == []


# -- private: what comes after the prompt, whenever it arrives ------------------------------------------------


def arrives(world, at_ms, event, **more):
    """An event that happened at a moment and arrives now, as after a hang."""
    from world import DONE, hook, read_done
    with world.connect() as s:
        s.sendall(hook(json.dumps(payload(event, **more)).encode(), event=event.encode(), at_ms=at_ms))
        assert read_done(s)[:2] == (DONE, 1)


def test_private_reaches_only_what_happened_after_it(world):
    world.start()
    now = int(time.time() * 1000)
    arrives(world, now - 4000, "UserPromptSubmit", prompt="<private>zebra</private>")
    arrives(world, now - 5000, "PostToolUse", tool_name="Read", tool_use_id="t1", tool_response="giraffe one")
    arrives(world, now - 3000, "PostToolUse", tool_name="Read", tool_use_id="t2", tool_response="zebra two")
    arrives(world, now - 2000, "UserPromptSubmit", prompt="giraffe three")
    arrives(world, now - 2500, "PostToolUse", tool_name="Read", tool_use_id="t4", tool_response="zebra four")
    arrives(world, now - 1000, "PostToolUse", tool_name="Read", tool_use_id="t5", tool_response="giraffe five")
    assert len(world.events()) == 6
    assert world.contains(b"zebra") == []
    kept = json.dumps([e["payload"] for e in world.events()])
    assert all(f"giraffe {n}" in kept for n in ("one", "three", "five"))


def test_private_in_the_spool_follows_the_order_of_happening(world):
    pid = world.start()
    os.kill(pid, signal.SIGSTOP)
    try:
        world.hookc("PostToolUse", payload("PostToolUse", tool_name="Read", tool_use_id="t1", tool_response="giraffe one"))
        world.hookc("UserPromptSubmit", payload("UserPromptSubmit", prompt="<private>zebra</private>"))
        world.hookc("PostToolUse", payload("PostToolUse", tool_name="Read", tool_use_id="t2", tool_response="zebra two"))
        for p in (world.dir / "spool").glob("*.j"):  # whatever order they are picked up in
            os.utime(p, (time.time() - hash(p.name) % 100, time.time() - hash(p.name) % 100))
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_for(lambda: len(world.events()) == 3, what="the events")
    assert world.contains(b"zebra") == []
    assert "giraffe one" in json.dumps([e["payload"] for e in world.events()])


@pytest.mark.parametrize("folder", ("kept", "removed"))
def test_a_session_muted_by_another_process(world, folder):
    """The daemon has seen that no session is private, and was asleep when one became so."""
    pid = world.start()
    wait_for((world.dir / "run/muted").is_dir, what="the folder of markers")
    world.hookc("PostToolUse", payload("PostToolUse", tool_name="Read", tool_use_id="t0", tool_response="giraffe"))
    if folder == "removed":
        (world.dir / "run/muted").rmdir()
    os.kill(pid, signal.SIGSTOP)
    try:
        world.hookc("UserPromptSubmit", payload("UserPromptSubmit", prompt="<private>zebra</private>"))
    finally:
        os.kill(pid, signal.SIGCONT)
    world.hookc("PostToolUse", payload("PostToolUse", tool_name="Read", tool_use_id="t1", tool_response="zebra one"))
    wait_for(lambda: len(world.events()) == 3, what="the events")
    assert world.contains(b"zebra") == []


def test_a_marker_that_cannot_be_written_is_trouble(world):
    world.start()
    wait_for((world.dir / "run/muted").is_dir, what="the folder of markers")
    (world.dir / "run/muted").rmdir()
    (world.dir / "run/muted").write_text("a file in the way")
    world.hookc("UserPromptSubmit", payload("UserPromptSubmit", prompt="<private>zebra</private>"))
    world.hookc("PostToolUse", payload("PostToolUse", tool_name="Read", tool_use_id="t1", tool_response="zebra two"))
    assert world.status()["privacy"]["unwritten_markers"] == 1
    text = world.hookd("status").stdout.decode()
    assert "TROUBLE" in text and "cannot be marked" in text
    assert "cannot be marked as private" in world.hookd("logs").stdout.decode()
    assert world.contains(b"zebra") == []
    (world.dir / "run/muted").unlink()
    world.hookc("PostToolUse", payload("PostToolUse", tool_name="Read", tool_use_id="t3", tool_response="zebra three"))
    assert world.status()["privacy"]["unwritten_markers"] == 0 and world.contains(b"zebra") == []


def test_numbers_keys_and_base64_are_not_kept(world):
    import base64
    token = "ghp_" + "A1b2C3d4" * 4 + "Z9y8"
    coded = base64.b64encode(f"machine github token {token}".encode()).decode()
    world.hookc("PostToolUse", payload("PostToolUse", tool_name="Read", tool_use_id="t1", tool_input={
        "password": 8675309123, "pin": 90210, "secrets": {"9f8a7b6c5d4e3f2a1b": "x"}, "manifest": f"data: {coded}"}))
    assert len(world.events()) == 1
    world.hookd("stop")
    for needle in (b"8675309123", b"90210", b"9f8a7b6c5d4e3f2a1b", coded.encode()):
        assert world.contains(needle) == [], needle

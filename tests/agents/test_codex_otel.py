"""Codex's telemetry, as the real CLI exports it: alone, with notify, and beside hooks that tell the same."""

import json
import socket

import pytest

from codex_cli import BYPASS
from model import say, use, use_text
from rig import wait_for

PROMPT = "Please prepare the greeting: naïve “quotes”."
PATCH = "*** Begin Patch\n*** Add File: greeting.txt\n+hello\n*** End Patch\n"
CALLS = {"call_otel_1": "Bash", "call_otel_2": "apply_patch", "call_otel_3": "Bash"}


def work():
    return [
        say("I look first.", use("exec_command", "call_otel_1", cmd="echo out-of-shell")),
        say("", use_text("apply_patch", PATCH, "call_otel_2")),
        say("One fails.", use("exec_command", "call_otel_3", cmd="echo to-stderr >&2; exit 3")),
        say("The greeting is ready."),
    ]


@pytest.fixture
def exporting(codex, hookd):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    hookd.set_option("http.port", port)
    hookd.init("codex", "--otel")
    return hookd


def counted(hookd):
    """The counters of telemetry."""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(10)
        s.connect(json.loads(hookd.call("url", "--json").ok().out)["unix"])
        s.sendall(b"GET /metrics HTTP/1.0\r\nHost: x\r\n\r\n")
        text = b""
        while piece := s.recv(65536):
            text += piece
    lines = [line.split() for line in text.decode().splitlines() if line.startswith("hookd_otlp_")]
    return {name.removeprefix("hookd_otlp_").removesuffix("_total"): int(n) for name, n in lines}


def tools_of(shown):
    return {a["tool_use_id"]: a for b in shown["batches"] for a in b["activities"] if a["kind"] == "tool"}


def check_tools(shown):
    tools = tools_of(shown)
    assert {k: t["tool"] for k, t in tools.items()} == CALLS
    assert sum(len(b["activities"]) for b in shown["batches"]) == 3
    assert "echo out-of-shell" in json.dumps(tools["call_otel_1"]["input"])
    assert "out-of-shell" in tools["call_otel_1"]["output"]
    assert {t["state"] for t in tools.values()} <= {"done", "failed"}


def tokens(hookd):
    """Answers of the model, and what they cost."""
    [day] = json.loads(hookd.call("usage", "--json").ok().out)["rows"]
    return day["answers"], day["input"], day["output"]


def test_hooks_notify_and_telemetry_make_one_story(rig, codex, exporting, model):
    m = model(work())
    codex.ask(m, PROMPT, BYPASS).ok()
    assert (rig.project / "greeting.txt").read_text() == "hello\n"
    exporting.wait_for_event("SessionEnd")
    exporting.wait_for_event("TurnComplete")
    seen = wait_for("telemetry", lambda: (c if (c := counted(exporting))["events"] >= 8 else None), 20, 0.2)
    assert seen["refused"] == seen["postponed"] == 0 and seen["records"] > seen["events"]
    [session] = exporting.sessions()
    shown = exporting.show(session.id)
    [batch] = shown["batches"]
    assert (batch["prompt"], batch["response"]) == (PROMPT, "The greeting is ready.")
    check_tools(shown)
    assert not shown["outside"] and shown["session"]["cwd"] == str(rig.project)
    assert tokens(exporting) == (4, 480, 120)  # which its own log tells as well


def test_telemetry_alone_tells_prompts_tools_and_tokens(rig, codex, exporting, model):
    """Nobody has trusted the hooks, and notify is taken out."""
    codex.config.write_bytes(b"".join(
        line for line in codex.config.read_bytes().splitlines(True) if not line.startswith(b"notify")))
    codex.ask(model(work()), PROMPT).ok()
    wait_for("telemetry", lambda: counted(exporting)["events"] >= 8, 20, 0.2)
    [session] = exporting.sessions()
    shown = exporting.show(session.id)
    [batch] = shown["batches"]
    assert batch["prompt"] == PROMPT
    check_tools(shown)
    assert tools_of(shown)["call_otel_3"]["state"] == "failed"
    assert tokens(exporting) == (4, 480, 120)


def test_a_stopped_hookd_does_not_disturb_codex(codex, exporting, model):
    exporting.call("stop").ok()
    codex.config.write_bytes(b"".join(
        line for line in codex.config.read_bytes().splitlines(True) if not line.startswith(b"notify")))
    assert "The greeting is ready." in codex.ask(model(work()), PROMPT).ok().out


def test_both_files_come_back(codex, hookd, model):
    before = codex.config.read_bytes()
    hookd.init("codex", "--otel")
    first = codex.config.read_bytes()
    assert b"/v1/logs" in first
    codex.ask(model([say("Nothing to do.")]), "hello", BYPASS).ok()
    assert codex.config.read_bytes() == first
    hookd.uninstall()
    assert codex.config.read_bytes() == before

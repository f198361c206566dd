"""A prompt hook asks another model than the agent's own, and its objection holds under all three real agents."""

import json
import pathlib
import sys

import pytest

from model import say
from test_hooks import agent, cli, connect, shell  # noqa: the first two are fixtures

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
from models import Model  # noqa: a judge on loopback, as the end-to-end tests have it


@pytest.fixture
def judge():
    m = Model()
    m.answer_of = lambda path: answer(m, path)
    yield m
    m.close()


def answer(judge, path):
    """It objects to one word, wherever the data has it."""
    judge.text = "BLOCK: nothing is touched on a Friday" if "touch" in judge.last()[1] else "ALLOW"
    return Model.answer_of(judge, path)


def test_an_objection_stops_every_agent(rig, agent, cli, hookd, model, judge):
    rig.hookd_dir.mkdir(mode=0o700, exist_ok=True)
    (rig.hookd_dir / "config.json").write_text(json.dumps({**judge.options(), "hooks": {"PreToolUse": [
        {"matcher": "Bash", "hooks": [{"type": "prompt", "prompt": "May this run? $COMMAND", "name": "friday",
                                       "on_failure": "deny"}]}]}}))
    connect(agent, cli, hookd)
    m = model([say("", shell(agent, "call_deny", "touch ran")),
               say("", shell(agent, "call_fine", "echo fine")),
               say("Understood.")])
    assert "Understood." in cli.ask(m, "try both").ok().out
    assert not (rig.project / "ran").exists()
    assert "nothing is touched on a Friday" in m.results()["call_deny"][0]
    assert "fine" in m.results()["call_fine"][0]
    assert sorted(json.loads(a["body"]["messages"][-1]["content"])["COMMAND"] for a in judge.asked) == ["echo fine", "touch ran"]
    [d] = [d for d in json.loads(hookd.call("decisions", "--json").ok().out)["decisions"] if d["prevailed"]]
    assert (d["rule"], d["decision"]) == ("hook:friday", "deny")

"""A day with hookd, under all three real agents: a denial is seen everywhere, a rule is switched off and on again while
the daemon runs, what was purged stays purged, and a record that cannot be folded costs nothing but itself."""

import json
import pathlib
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
import test_aside as aside  # noqa: E402  (how a record lies in the spool)
from model import say
from rig import wait_for
from test_hooks import AGENTS, connect, shell


@pytest.fixture(params=AGENTS)
def agent(request):
    return request.param


@pytest.fixture
def cli(request, agent, hookd):
    return request.getfixturevalue(agent)


def try_it(rig, agent, cli, model, n):
    """Asks for a command that a rule denies; was it left to the agent, which may still ask its own user?"""
    m = model([say("", shell(agent, f"call_{n}", f"touch ran-{n}; uname -o")), say("Tried.")])
    assert "Tried." in cli.ask(m, f"try number {n}").ok().out
    stopped = "no-uname" in str(m.results())
    assert not (stopped and (rig.project / f"ran-{n}").exists())
    return not stopped


def test_a_day(rig, agent, cli, hookd, model):
    rule = {"name": "no-uname", "program": "uname", "decision": "deny", "message": "not here"}
    (rig.hookd_dir / "config.json").write_text(json.dumps({"guard": {"rules": [rule]}}))
    connect(agent, cli, hookd)
    owner = ["--token-file", str(rig.hookd_dir / "owner.token")]
    pid = hookd.pid()

    # Denied, and visible in every reader.
    assert not try_it(rig, agent, cli, model, 1)
    [decision] = wait_for("the decision", lambda: json.loads(hookd.call("decisions", "--json").out)["decisions"])
    rule, session = decision["rule"], hookd.sessions()[0].id
    assert decision["decision"] == "deny"
    for reader in (["show", session], ["tail", "-n", "100"], ["stats"], ["export", session], ["decisions"]):
        assert "den" in hookd.call(*reader).ok().out.lower(), reader

    # Off and on again, in force at once, with the same daemon.
    hookd.call("rules", "disable", rule, *owner).ok()
    assert try_it(rig, agent, cli, model, 2)
    hookd.call("rules", "enable", rule, *owner).ok()
    assert not try_it(rig, agent, cli, model, 3)
    assert hookd.pid() == pid

    # Purged, and not brought back by what the agent kept itself.
    before = len(hookd.sessions())
    hookd.call("purge", "--session", session[:12], "--yes", *owner).ok()
    hookd.call("import", "--yes", seconds=60)
    assert session not in [s.id for s in hookd.sessions()]
    assert len(hookd.sessions()) >= before - 1

    # A record that cannot be folded, beside an ordinary session.
    key, body = aside.record(b"Decision", aside.POISON, session=b"poisoned")
    spool = rig.hookd_dir / "spool"
    spool.mkdir(mode=0o700, exist_ok=True)
    (spool / "poison.tmp").write_bytes(aside.segment([body]))
    (spool / "poison.tmp").rename(spool / "01HF7YAT6CAM00000000000000.j")
    assert "Done." in cli.ask(model([say("Done.")]), "a harmless prompt").ok().out
    wait_for("the harmless prompt", lambda: [e for e in hookd.events() if "harmless" in str(e.payload.get("prompt"))])
    wait_for("status to say so", lambda: json.loads(hookd.call("status", "--json").out)["store"]["unfolded"])

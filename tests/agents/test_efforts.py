"""An effort begun in a real Claude Code survives its context window: compaction gives it back, a new session goes on with
it, and so does another vendor's agent."""

import json

import pytest

from codex_cli import BYPASS
from model import say, use

SUMMARY = "<analysis>short</analysis><summary>What was done so far.</summary>"
NEXT = "write the tests of the lexer"
OTHERS = {"codex": [BYPASS], "gemini": [], "copilot": [], "qwen": [], "opencode": []}


def efforts(hookd):
    return json.loads(hookd.call("effort", "list", "--all", "--json").ok().out)["efforts"]


def saw_after(m, words, n):
    """The words are in the model's n-th request, or in a later one, and not before."""
    seen = [words in json.dumps(r) for r in m.asked()]
    return not any(seen[:n]) and any(seen[n:])


def steps_of_beginning(hookd):
    """What the agent does first: it begins an effort and writes down where it stands."""
    return [say("I begin.", use("Bash", "toolu_begin", command=f"{hookd.program} effort start implement --goal 'Port the parser' "
                                                               "--phase '1: Read' --phase '2: Write'")),
            say("", use("Bash", "toolu_phase", command=f"{hookd.program} effort phase '1: Read'"))]


def checkpoint(hookd, **more):
    # Words that only hookd can bring back: nothing the agent said has them in this order.
    return say("", use("Bash", "toolu_stand", command=f"{hookd.program} effort checkpoint --next \"$(cat next.txt)\" --done 'the lexer'"),
               **more)


@pytest.fixture
def begun(claude, hookd, model, rig):
    """A session of Claude Code that has begun an effort."""
    (rig.project / "next.txt").write_text(NEXT)
    hookd.init("claude")
    hookd.start()
    m = model([*steps_of_beginning(hookd), checkpoint(hookd), say("That is all for today.")])
    claude.ask(m, "port the parser", "--dangerously-skip-permissions", env={"IS_SANDBOX": "1"}).ok()
    assert m.main.left == 0 and not any(error for _, error in m.results().values()), m.results()
    [one] = efforts(hookd)
    assert (one["skill"], one["phase"], one["state"]) == ("implement", "1: Read", "active")
    assert not m.saw(NEXT), "the model wrote the words itself"
    return hookd


def test_compaction_gives_it_back(claude, hookd, model, rig):
    (rig.project / "next.txt").write_text(NEXT)
    hookd.init("claude")
    hookd.start()
    begin = steps_of_beginning(hookd)
    m = model([*begin, checkpoint(hookd, tokens=990_000), say(SUMMARY), say("I go on.")])
    claude.ask(m, "port the parser", "--dangerously-skip-permissions", env={"IS_SANDBOX": "1"}).ok()
    assert m.main.left == 0
    kinds = [e.event for e in hookd.events()]
    assert kinds.count("PreCompact") == kinds.count("PostCompact") == 1
    assert saw_after(m, NEXT, len(begin) + 2), "what was written down did not come back after the compaction"
    [one] = efforts(hookd)
    windows = json.loads(hookd.call("effort", "show", one["effort"], "--json").ok().out)["windows"]
    assert len(windows) == 2 and windows[0]["previous"] == windows[1]["window"], windows


def test_a_new_session_goes_on_with_it(claude, begun, model):
    m = model([say("I know where we are.")])
    claude.ask(m, "go on").ok()
    assert saw_after(m, NEXT, 0) and m.saw("Port the parser")


def test_watch_starts_it_again_when_its_context_is_full(claude, hookd, model, rig):
    """The overflow story with the real program: its context is full, it would compact, the supervisor ends it and starts
    it again, and the new window begins with the checkpoint instead of a summary."""
    (rig.project / "next.txt").write_text(NEXT)
    hookd.init("claude")
    hookd.start()
    begin = steps_of_beginning(hookd)
    # The first may have asked for a summary before it is ended: then the second step is the second window's.
    know = say("I know where we are.", wait=1)
    m = model([*begin, checkpoint(hookd, tokens=990_000), know, know])
    done = rig.run([hookd.program, "watch", "--", claude.program, "--dangerously-skip-permissions", "-p", "port the parser"],
                   env={**claude.env(m), "IS_SANDBOX": "1"}).ok()
    assert "the context was full; going on with effort" in done.err and "I know where we are." in done.out
    assert saw_after(m, NEXT, len(begin) + 1), "the checkpoint did not reach the model of the second window"
    [one] = efforts(hookd)
    show = json.loads(hookd.call("effort", "show", one["effort"], "--json").ok().out)
    assert one["state"] == "active" and len({w["session"] for w in show["windows"]}) == 2
    assert [w["end_reason"] for w in show["windows"]][1:] == ["overflow"], show["windows"]


@pytest.mark.parametrize("other", list(OTHERS))
def test_another_vendors_agent_goes_on_with_it(request, other, begun, model):
    agent = request.getfixturevalue(other)
    begun.init(other)
    [one] = efforts(begun)
    said = begun.call("effort", "resume", one["effort"], "--agent", other).ok().out
    assert f"AGENT_ID={one['effort']}" in said
    m = model([say("I know where we are.")])
    done = agent.ask(m, "go on", *OTHERS[other], env={"AGENT_ID": one["effort"]}).ok()
    assert "I know where we are." in done.out
    assert m.saw(NEXT), "the checkpoint did not reach the model"
    windows = json.loads(begun.call("effort", "show", one["effort"], "--json").ok().out)["windows"]
    assert windows[0]["agent"] == other

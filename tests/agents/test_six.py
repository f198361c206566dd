"""Six real agents as a new user has them: all in one home and one project, connected once, seen side by side, and
gone without a trace when hookd is uninstalled."""

import json
import subprocess

from codex_cli import BYPASS
from model import say, use
from rig import wait_for

WORD = {"claude": "aardvark", "codex": "bumblebee", "gemini": "caterpillar", "copilot": "dragonfly", "qwen": "earwig",
        "opencode": "firefly"}
MORE = {"claude": ["--allowedTools", "Bash"], "codex": [BYPASS]}


def shell(agent, command):
    """A call of the agent's own shell tool."""
    if agent == "codex":
        return use("exec_command", f"call_{agent}", cmd=command)
    name = {"claude": "Bash", "copilot": "bash", "opencode": "bash"}.get(agent, "run_shell_command")
    background = {"is_background": False} if agent == "qwen" else {}
    return use(name, f"call_{agent}", command=command, description="a test", **background)


def home_files(rig):
    """Everything in the home that names hookd, but for what the agents wrote down of their own sessions."""
    return sorted(str(p.relative_to(rig.home)) for p in rig.home.rglob("*")
                  if p.is_file() and b"hookc" in p.read_bytes() and "sessions" not in p.parts
                  and p.suffix not in (".jsonl", ".log", ".db", ".db-wal"))


def ask_mcp(rig, program, *requests):
    """The answers of `hookd mcp`, by request id."""
    lines = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        *({"jsonrpc": "2.0", "id": n, **r} for n, r in enumerate(requests, 1))]
    p = subprocess.Popen([program, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=rig.env(),
                         cwd=rig.project, text=True)
    try:
        p.stdin.write("".join(json.dumps(line) + "\n" for line in lines))
        p.stdin.flush()
        answers = {}
        while len(answers) < len(requests) + 1:
            answer = json.loads(p.stdout.readline())
            answers[answer["id"]] = answer
        return answers
    finally:
        p.stdin.close()
        p.wait(10)


def test_six_agents_in_one_home(rig, claude, codex, gemini, copilot, qwen, opencode, hookd, model):
    six = {a.name: a for a in (claude, codex, gemini, copilot, qwen, opencode)}
    assert set(six) == set(WORD)
    before = home_files(rig)
    hookd.call("init", "--yes", "--mcp", *(x for name in six for x in ("--agent", name))).ok()
    hookd.start()

    for name, agent in six.items():
        m = model([say("I do it.", shell(name, f"echo {WORD[name]} >> seen.txt")), say(f"{name} is done.")])
        done = agent.ask(m, f"Please write down {WORD[name]}.", *MORE.get(name, [])).ok()
        assert f"{name} is done." in done.out
    assert sorted((rig.project / "seen.txt").read_text().split()) == sorted(WORD.values())

    # One session each, with one call each, all of one project.
    sessions = wait_for("six sessions", lambda: s if len(s := hookd.sessions()) == 6 else None, 20, 0.2)
    assert sorted(s.agent for s in sessions) == sorted(WORD)
    for s in sessions:
        [batch] = hookd.show(s.id)["batches"]
        calls = [a for a in batch["activities"] if a["kind"] == "tool"]
        assert len(calls) == 1 and WORD[s.agent] in json.dumps(calls), (s.agent, calls)
    [project] = json.loads(hookd.call("rpc", "projects").ok().out)["projects"]
    assert project["sessions"] == 6
    for name, word in WORD.items():
        hits = json.loads(hookd.call("search", word, "--json").ok().out)
        assert name in json.dumps(hits), (name, hits)

    # Whoever speaks MCP finds them too.
    answers = ask_mcp(rig, hookd.program, {"method": "tools/list"},
                      {"method": "tools/call", "params": {"name": "sessions", "arguments": {"limit": 10}}})
    tools = [t["name"] for t in answers[1]["result"]["tools"]]
    assert {"search", "sessions", "show"} <= set(tools)
    text = json.dumps(answers[2]["result"])
    assert not answers[2]["result"].get("isError") and all(name in text for name in WORD)

    hookd.call("stop").ok()
    hookd.uninstall()
    assert home_files(rig) == before

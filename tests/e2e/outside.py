"""What the outsider's tests share: each agent's call in its own words, and what its answer means to it."""
import contextlib
import json
import os
import signal

WORD = "hookd-selftest-deny"
DENY = "echo " + WORD
ASK = "printenv"
FINE = "echo fine"


def call(agent, command, session="s-1", n=1, cwd="/tmp", **more):
    """(event argument, payload) of a shell call about to run, as this agent sends it."""
    if agent in ("claude", "codex", "qwen", "generic"):
        name = {"qwen": "run_shell_command"}.get(agent, "Bash")
        return "PreToolUse", {"session_id": session, "hook_event_name": "PreToolUse", "cwd": cwd, "tool_name": name,
                              "tool_input": {"command": command}, "tool_use_id": f"call_{n}", **more}
    if agent == "gemini":
        return "BeforeTool", {"session_id": session, "hook_event_name": "BeforeTool", "cwd": cwd,
                              "transcript_path": "", "timestamp": "2026-11-15T06:47:41.202Z",
                              "tool_name": "run_shell_command", "tool_input": {"command": command}, **more}
    if agent == "cursor":
        return "preToolUse", {"conversation_id": session, "generation_id": f"g{n}", "hook_event_name": "preToolUse",
                              "workspace_roots": [cwd], "cwd": cwd, "tool_name": "Shell",
                              "tool_input": {"command": command}, "tool_use_id": f"call_{n}", **more}
    if agent == "copilot":
        return "preToolUse", {"sessionId": session, "timestamp": 1794725694835, "cwd": cwd, "toolName": "bash",
                              "toolArgs": {"command": command, "description": "x", "mode": "sync"}, **more}
    if agent == "opencode":
        return "tool.execute.before", {"input": {"tool": "bash", "sessionID": session, "callID": f"call_{n}"},
                                       "output": {"args": {"command": command}}, **more}
    if agent == "windsurf":
        return "pre_run_command", {"agent_action_name": "pre_run_command", "trajectory_id": session,
                                   "execution_id": f"call_{n}", "timestamp": "2026-11-15T06:47:41Z",
                                   "tool_info": {"command_line": command, "cwd": cwd}, **more}
    raise AssertionError(agent)


AGENTS = ["claude", "codex", "gemini", "cursor", "copilot", "qwen", "opencode", "windsurf", "generic"]


def shell_before(command, session="s-1", n=1, cwd="/tmp"):
    """Cursor's second event of the same shell call."""
    return "beforeShellExecution", {"conversation_id": session, "generation_id": f"g{n}",
                                    "hook_event_name": "beforeShellExecution", "workspace_roots": [cwd],
                                    "command": command, "cwd": cwd, "sandbox": False}


def meaning(agent, done, event=None):
    """deny, ask, allow or none, as the agent itself would take this answer; and the reason it would read."""
    code, out, err = done.returncode, done.stdout.decode(), done.stderr.decode()
    try:
        said = json.loads(out) if out.strip() else {}
    except ValueError:
        said = {}
    own = said.get("hookSpecificOutput") or {}
    if agent == "windsurf":
        return ("deny", err) if code == 2 else ("none", "")
    if agent == "codex":
        if code == 2:
            return ("deny", err) if err.strip() else ("none", "")
        if set(said) - {"systemMessage", "hookSpecificOutput", "decision", "reason"}:
            return "void", out
        if set(own) - {"hookEventName", "permissionDecision", "permissionDecisionReason", "updatedInput",
                       "additionalContext"}:
            return "void", out
        word = own.get("permissionDecision")
        if word == "ask" or (word == "deny" and not own.get("permissionDecisionReason")):
            return "void", out
        return word or {"block": "deny"}.get(said.get("decision"), "none"), own.get("permissionDecisionReason", "")
    if agent == "gemini":
        if said:
            word = said.get("decision", "none")
            return {"block": "deny", "approve": "allow"}.get(word, word), said.get("reason", "")
        return ("deny", out or err) if code not in (0, 1) and (out or err).strip() else ("none", "")
    if agent == "cursor":
        if code == 2:
            return "deny", (said.get("user_message") or said.get("agent_message") or err)
        word = said.get("permission") or own.get("permissionDecision") or "none"
        return word, said.get("user_message") or said.get("agent_message") or ""
    if agent == "copilot":
        word = said.get("permissionDecision") or own.get("permissionDecision")
        reason = said.get("permissionDecisionReason") or own.get("permissionDecisionReason") or ""
        if code != 0:
            return "deny", reason
        return word or "none", reason
    # claude, qwen, generic, opencode (a plugin of ours reads either form)
    if code == 2:
        return ("deny", err) if err.strip() else ("none", "")
    word = own.get("permissionDecision") or said.get("permission") or \
        {"block": "deny", "deny": "deny", "ask": "ask"}.get(said.get("decision"), "none")
    return word, own.get("permissionDecisionReason") or said.get("reason") or ""


def send(world, agent, command, **kw):
    named = kw.pop("named", True)
    event, body = call(agent, command, **kw)
    return world.hookc(event if named else None, body, agent)


def says(world, agent, command, **kw):
    return meaning(agent, send(world, agent, command, **kw))[0]


def pre(world, tool_name, tool_input, agent="claude", session="s-1", n=1, **more):
    done = world.hookc("PreToolUse", {"session_id": session, "hook_event_name": "PreToolUse", "cwd": "/tmp",
                                      "tool_name": tool_name, "tool_input": tool_input, "tool_use_id": f"t{n}",
                                      **more}, agent)
    return meaning(agent, done)[0]


@contextlib.contextmanager
def frozen(world):
    pid = world.pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGCONT)


def configure(world, options):
    world.dir.mkdir(mode=0o700, exist_ok=True)
    path = world.dir / "config.json"
    path.write_text(options if isinstance(options, str) else json.dumps(options, indent=2))
    path.chmod(0o600)
    return path


def script(world, name, text):
    path = world.top / name
    path.write_text("#!/bin/sh\n" + text + "\n")
    path.chmod(0o755)
    return path


def counting(world, then="", event="PreToolUse", matcher="*", **more):
    """A hook that leaves a line per run; the file with the lines."""
    mark = world.top / "ran.txt"
    path = script(world, "hook.sh", f"cat > /dev/null\necho x >> {mark}\n{then}")
    configure(world, {"hooks": {event: [{"matcher": matcher, "hooks": [
        {"type": "command", "command": str(path), "timeout": 10, **more}]}]}})
    return lambda: len(mark.read_text().splitlines()) if mark.exists() else 0


def decisions(world, **kw):
    return world.rpc("decisions", limit=1000, **kw)["decisions"]

"""The user's own hooks through the real path: hookc, daemon, real scripts, the agent's answer."""
import http.server
import itertools
import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import time

import pytest

from world import ROOT, alive, payload, wait_for

HOME_CLAUDE = ".claude/settings.json"
KINDS = re.findall(r"\[EVENT_\w+\] = \{ \"(\w+)\"", (ROOT / "src/common/event/kinds.c").read_text())[1:]


def script(path, text, mode=0o755):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def configure(world, hooks, **more):
    world.dir.mkdir(mode=0o700, exist_ok=True)
    (world.dir / "config.json").write_text(json.dumps({"hooks": hooks, **more}))


def one(event, command, matcher=None, **more):
    group = {"hooks": [{"type": "command", "command": str(command), **more}]}
    if matcher is not None:
        group["matcher"] = matcher
    return {event: [group]}


CALLS = itertools.count()


def bash(command="ls", event="PreToolUse", session="s1", **more):
    """A call of its own: the same id twice would be one call told twice."""
    more.setdefault("tool_use_id", f"t{next(CALLS)}")
    return payload(event, session, tool_name="Bash", tool_input={"command": command}, **more)


def answer(done):
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return json.loads(done.stdout) if done.stdout else {}


def specific(done):
    return answer(done).get("hookSpecificOutput", {})


@pytest.fixture
def world(world):
    """A daemon is there before each call: how hookc does without one is another file's business."""
    call = world.hookc

    def hookc(*args, **kw):
        if not alive(world.pid()):
            world.start()
        return call(*args, **kw)
    world.hookc = hookc
    return world


@pytest.fixture
def project(world):
    path = world.top / "proj"
    path.mkdir(mode=0o755)
    (path / ".git").mkdir()
    return path


# -- decisions -------------------------------------------------------------------------------------

def test_exit_2_denies_with_stderr(world):
    hook = script(world.top / "no.sh", "#!/bin/sh\ncat >/dev/null\necho not this one >&2\nexit 2\n")
    configure(world, one("PreToolUse", hook, "Bash", name="no"))
    got = specific(world.hookc("PreToolUse", bash("rm x")))
    assert got["permissionDecision"] == "deny"
    assert got["permissionDecisionReason"] == "not this one"
    assert answer(world.hookc("PreToolUse", payload("PreToolUse", tool_name="Read", tool_input={}))) == {}
    history = world.rpc("hooks_history")["runs"]
    assert len(history) == 1 and history[0]["exitCode"] == 2 and history[0]["decision"] == "deny"


def test_ask_context_message_and_changed_input(world):
    say = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask",
                                  "permissionDecisionReason": "sure?", "additionalContext": "mind the gap",
                                  "updatedInput": {"command": "ls -l"}}, "systemMessage": "hello person"}
    hook = script(world.top / "ask.sh", f"#!/bin/sh\ncat <<'E'\n{json.dumps(say)}\nE\n")
    configure(world, one("PreToolUse", hook))
    done = world.hookc("PreToolUse", bash())
    got = specific(done)
    assert (got["permissionDecision"], got["permissionDecisionReason"]) == ("ask", "sure?")
    assert got["updatedInput"] == {"command": "ls -l"}
    assert "mind the gap" in got["additionalContext"]
    assert answer(done)["systemMessage"] == "hello person"


def test_the_strictest_wins_whatever_the_order(world):
    allow = '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'
    hooks = [{"type": "command", "command": f"sleep 0.05; echo '{allow}'"},
             {"type": "command", "command": "echo no >&2; exit 2"},
             {"type": "command", "command": f"echo '{allow}' # again"}]
    for n, order in enumerate((hooks, hooks[::-1])):
        configure(world, {"PreToolUse": [{"hooks": order}]})
        assert specific(world.hookc("PreToolUse", bash(session=f"o{n}")))["permissionDecision"] == "deny"


def test_plain_stdout_is_context_at_start_and_prompt_only(world):
    configure(world, {e: [{"hooks": [{"type": "command", "command": "echo remember me"}]}]
                      for e in ("SessionStart", "UserPromptSubmit", "PostToolUse")})
    assert "remember me" in specific(world.hookc("SessionStart", payload("SessionStart", source="startup")))["additionalContext"]
    assert "remember me" in specific(world.hookc("UserPromptSubmit", payload("UserPromptSubmit", prompt="x")))["additionalContext"]
    assert answer(world.hookc("PostToolUse", bash(event="PostToolUse", tool_response={}))) == {}


def test_stop_can_be_made_to_go_on(world):
    configure(world, one("Stop", "echo run the tests first >&2; exit 2"))
    got = answer(world.hookc("Stop", payload("Stop", stop_hook_active=False)))
    assert got["decision"] == "block" and got["reason"] == "run the tests first"


@pytest.mark.parametrize("command", ["exit 1", "kill -9 $$", "kill -SEGV $$", "/nonexistent/hook", "echo '{broken'",
                                     "echo '{\"decision\":\"perhaps\"}'", "sleep 20", "exit 255",
                                     "echo '{\"hookSpecificOutput\":{\"hookEventName\":\"Stop\"}}'"])
def test_failure_is_what_on_failure_says(world, command):
    for n, (policy, want) in enumerate((("allow", None), ("ask", "ask"), ("deny", "deny"), (None, None))):
        more = {"on_failure": policy} if policy else {}
        configure(world, one("PreToolUse", command, timeout=0.2, **more))
        got = specific(world.hookc("PreToolUse", bash(session=f"f{n}")))
        assert got.get("permissionDecision") == want, (command, policy)


def test_code_agent_dialect(world):
    def ask(command, n):
        configure(world, one("PreToolUse", command, exit_dialect="code-agent", timeout=5000))
        return specific(world.hookc("PreToolUse", bash(session=f"c{n}")))
    assert ask("echo BLOCKED >&2; exit 1", 0)["permissionDecisionReason"] == "BLOCKED"
    assert ask("echo because; exit 3", 1)["permissionDecision"] == "deny"
    assert ask("echo fine", 2) == {}
    assert ask("""echo '{"action":"block","message":"no"}'""", 3)["permissionDecisionReason"] == "no"
    assert ask("""echo '{"action":"continue","modifiedInput":{"command":"true"}}'""", 4)["updatedInput"] == {"command": "true"}
    assert ask("nonexistent-program", 5) == {}


# -- seed 001's scripts, configured once, fired for three agents -----------------------------------

VALIDATE = """#!/bin/bash
echo "Tool: $TOOL_NAME"
if [ "$TOOL_NAME" = "Bash" ]; then
  COMMAND=$(echo "$TOOL_INPUT" | python3 -c 'import json,sys; print(json.load(sys.stdin)["command"])')
  if [[ "$COMMAND" =~ "rm -rf /" ]]; then
    echo "BLOCKED: Dangerous command" >&2
    exit 1
  fi
fi
exit 0
"""
LOG = """#!/bin/bash
mkdir -p "$HOME/.code-agent"
echo "$SESSION_ID | $TOOL_NAME | $TOOL_INPUT" >> "$HOME/.code-agent/tool-usage.log"
exit 0
"""


def test_one_configuration_three_agents(world):
    validate = script(world.top / "scripts/validate-command.sh", VALIDATE)
    log = script(world.top / "scripts/log-tool-usage.sh", LOG)
    configure(world, {"exit_dialect": "code-agent",
                      "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": str(validate), "timeout": 5000}]}],
                      "PostToolUse": [{"matcher": ".*", "hooks": [{"type": "command", "command": str(log)}]}]})
    calls = {"claude": ("PreToolUse", "PostToolUse", "Bash"), "codex": ("PreToolUse", "PostToolUse", "Bash"),
             "gemini": ("BeforeTool", "AfterTool", "run_shell_command")}
    for agent, (before, after, name) in calls.items():
        bad = payload(before, f"s-{agent}", tool_name=name, tool_input={"command": "echo rm -rf /"})
        done = world.hookc(before, bad, agent=agent)
        assert b"BLOCKED: Dangerous command" in done.stdout, (agent, done)
        good = payload(before, f"s-{agent}", tool_name=name, tool_input={"command": "ls"})
        assert world.hookc(before, good, agent=agent).stdout == b""
        world.hookc(after, {**good, "hook_event_name": after, "tool_response": {}}, agent=agent)
    lines = (world.home / ".code-agent/tool-usage.log").read_text().splitlines()
    assert lines == [f's-{a} | Bash | {{"command":"ls"}}' for a in calls]


def test_settings_of_claude_code_are_borrowed(world):
    path = world.home / HOME_CLAUDE
    path.parent.mkdir()
    path.write_text(json.dumps({"model": "x", "hooks": {"PreToolUse": [{"matcher": "Write|Edit", "hooks": [
        {"type": "command", "command": "echo no writing >&2; exit 2"},
        {"type": "command", "command": f"{world.build}/hookc claude PreToolUse"}]}]}}))
    patch = payload("PreToolUse", "b1", tool_name="apply_patch", tool_input={"command": "*** Begin Patch\n*** Add File: x\n"})
    assert b"no writing" in world.hookc("PreToolUse", patch, agent="codex").stdout
    replace = payload("BeforeTool", "b2", tool_name="replace", tool_input={"file_path": "/x"})
    assert b"no writing" in world.hookc("BeforeTool", replace, agent="gemini").stdout
    write = payload("PreToolUse", "b3", tool_name="Write", tool_input={"file_path": "/x"})
    assert world.hookc("PreToolUse", write).stdout == b""  # Claude Code runs them itself
    assert len(world.rpc("hooks_history")["runs"]) == 2
    states = {h["command"]: h["state"] for h in world.rpc("hooks", agent="codex")["hooks"]}
    assert states[f"{world.build}/hookc claude PreToolUse"] == "hookd itself"


def test_a_patch_of_many_files_is_a_call_for_each(world):
    guard = script(world.top / "guard.py", "#!/usr/bin/python3\nimport json,sys\nd=json.load(sys.stdin)\n"
                   f"open({str(world.top / 'seen')!r},'a').write(d['tool_name']+' '+d['tool_input']['file_path']+chr(10))\n"
                   "if d['tool_input']['file_path'].endswith('.env'):\n  print('hands off', file=sys.stderr); sys.exit(2)\n")
    path = world.home / HOME_CLAUDE
    path.parent.mkdir()
    path.write_text(json.dumps({"hooks": one("PreToolUse", guard, "Write|Edit")}))
    def patch(text, session):
        return world.hookc("PreToolUse", payload("PreToolUse", session, tool_name="apply_patch", tool_input={
            "command": f"*** Begin Patch\n{text}*** End Patch\n"}), agent="codex").stdout
    assert patch("*** Add File: a.txt\n+x\n*** Update File: /tmp/b.c\n", "p1") == b""
    assert sorted((world.top / "seen").read_text().splitlines()) == ["Edit /tmp/b.c", "Write /tmp/a.txt"]
    assert b"hands off" in patch("*** Update File: a.txt\n+x\n*** Delete File: sub/.env\n", "p2")
    assert b"hands off" in patch("*** Update File: a.txt\n*** Move to: .env\n", "p3")
    many = "".join(f"*** Add File: f{n}\n+x\n" for n in range(40))
    # Not through hookc: 32 programs at once on a loaded machine are a matter of its patience.
    got = world.rpc("trigger", type="PreToolUse", agent="codex", sessionId="p4", cwd="/tmp", payload={
        "toolName": "apply_patch", "input": {"command": f"*** Begin Patch\n{many}*** End Patch\n"}})
    assert got["decision"] == "ask" and "more files than" in got["reason"] and len(got["results"]) == 32


def test_recorded_payloads_reach_hooks_in_one_language(world):
    out = world.top / "out"
    events = {name: [{"hooks": [{"type": "command", "command": f"cat > {out}"}]}] for name in KINDS}
    configure(world, events)
    native = {"apply_patch", "view_image", "run_shell_command", "write_file", "replace", "read_file", "list_directory",
              "glob", "grep_search", "web_fetch", "google_web_search", "invoke_agent", "write_todos"}
    count = 0
    for agent in ("claude", "codex", "gemini"):
        for path in sorted((ROOT / "tests/golden" / agent).glob("*.json")):
            if path.name.endswith((".answers.json", ".event.json")):
                continue
            event = path.name.split(".")[0]
            world.hookc(event, path.read_bytes(), agent=agent)
            if not out.exists():
                continue  # an event of a moment that no hook file has a name for
            got = json.loads(out.read_text())
            out.unlink()
            count += 1
            assert got["hook_event_name"] in KINDS, (path, got)
            if "tool_name" in got:
                assert got["tool_name"] not in native and not re.match("mcp_[^_]", got["tool_name"]), (path, got)
                assert isinstance(got["tool_input"], dict)
    assert count > 60, count


# -- what a hook gets ------------------------------------------------------------------------------

def test_environment_is_exactly_this(world):
    out = world.top / "env"
    configure(world, one("PreToolUse", f"env > {out}", env=["EXTRA_VALUE"]))
    world.start(env={"EXTRA_VALUE": "yes", "SECRET_TOKEN": "no", "LD_LIBRARY_PATH": "/x", "GIT_DIR": "/x"})
    world.hookc("PreToolUse", bash("ls"), env={"TERM": "dumb"})
    got = dict(line.split("=", 1) for line in out.read_text().splitlines())
    for shell in ("PWD", "OLDPWD", "SHLVL", "_"):
        got.pop(shell, None)
    assert got.pop("HOOKD_HOOK")
    assert got == {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(world.home), "TERM": "dumb", "HOOKD_AGENT": "claude",
                   "TOOL_NAME": "Bash", "HOOK_TOOL_NAME": "Bash", "TOOL_INPUT": '{"command":"ls"}',
                   "HOOK_TOOL_INPUT": '{"command":"ls"}', "HOOKD_NATIVE_TOOL": "Bash", "SESSION_ID": "s1",
                   "HOOK_SESSION_ID": "s1", "COMMAND": "ls", "HOOK_EVENT": "PreToolUse", "HOOK_WORKING_DIR": "/tmp"}


def test_stdin_speaks_claude_codes_language(world):
    out = world.top / "in"
    configure(world, one("PreToolUse", f"cat > {out}; echo $HOOKD_NATIVE_TOOL >> {out}", "Read"))
    world.hookc("BeforeTool", payload("BeforeTool", tool_name="read_file", tool_input={"absolute_path": "/a b"},
                                      timestamp="now"), agent="gemini")
    text, native = out.read_text().splitlines()
    got = json.loads(text)
    assert (got["hook_event_name"], got["tool_name"], native) == ("PreToolUse", "Read", "read_file")
    assert got["tool_input"] == {"absolute_path": "/a b", "file_path": "/a b"}
    assert (got["session_id"], got["cwd"], got["timestamp"]) == ("s1", "/tmp", "now")


HOSTILE = ["a\nb", "$(touch pwned)", "`touch pwned`", "; touch pwned #", "' ; touch pwned '", '" ; touch pwned "', "-rf",
           "--", "\\", "*", "~", "${IFS}", "x" * 200000, "\u202e", "a\tb", "\x01", "&&", "|", "\x00", "é" * 100000]


def test_hostile_values_never_reach_a_shell(world, project):
    seen = world.top / "argv"
    dump = script(world.top / "dump.py", "#!/usr/bin/python3\nimport json,os,sys\n"
                  f"open({str(seen)!r},'w').write(json.dumps([sys.argv[1:], os.environ['COMMAND'], json.load(sys.stdin)['tool_input']]))\n")
    args = ["a b", "$(touch pwned)", "--x=*", "", "`id`"]
    configure(world, {"PreToolUse": [{"hooks": [{"type": "command", "command": str(dump), "args": args}]}]})
    for n, value in enumerate(HOSTILE):
        assert world.hookc("PreToolUse", bash(value, cwd=str(project))).returncode == 0
        got_args, command, given = json.loads(seen.read_text())
        assert got_args == args
        assert given["command"] == value
        plain = value.replace("\0", "\ufffd")
        if len(plain.encode()) < 100000:
            assert command == plain
        else:
            assert command.endswith("[truncated]") and plain.startswith(command[:-11]) and len(command.encode()) < 128 << 10
        seen.unlink()
    assert not (project / "pwned").exists()


def test_cwd_is_the_root_of_the_project(world, project):
    (project / "deep/er").mkdir(parents=True)
    configure(world, one("PreToolUse", f"pwd > {world.top}/cwd; echo $CLAUDE_PROJECT_DIR >> {world.top}/cwd"))
    world.hookc("PreToolUse", bash(cwd=str(project / "deep/er")))
    assert (world.top / "cwd").read_text().split() == [str(project)] * 2


# -- children that misbehave -----------------------------------------------------------------------

def pids_in(path):
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def test_timeout_kills_the_whole_group(world):
    pids = world.top / "pids"
    hook = script(world.top / "slow.sh", f"#!/bin/sh\ntrap '' TERM\necho $$ >> {pids}\n(trap '' TERM; sleep 60 & echo $! >> {pids}; wait) &\nsleep 60\n")
    configure(world, one("PreToolUse", hook, timeout=0.3, on_failure="deny"))
    began = time.monotonic()
    got = specific(world.hookc("PreToolUse", bash()))
    assert "took longer than 300 ms" in got["permissionDecisionReason"]
    assert time.monotonic() - began < 10
    wait_for(lambda: not any(alive(p) for p in pids_in(pids)), 5, "the group to be gone")
    assert len(pids_in(pids)) == 2
    assert world.rpc("hooks_history")["runs"][0]["timedOut"] is True


def test_flood_is_drained_and_counted(world):
    configure(world, one("PreToolUse", "head -c 30000000 /dev/zero | tr '\\0' x; head -c 3000000 /dev/zero >&2; exit 0"))
    assert answer(world.hookc("PreToolUse", bash())) == {}
    run = world.rpc("hooks_history")["runs"][0]
    assert run["exitCode"] == 0 and len(run["stdout"]) <= 4096


def test_a_descendant_that_holds_the_pipes_holds_nobody_up(world):
    pids = world.top / "pids"
    configure(world, one("PreToolUse", f"sleep 30 & echo $! > {pids}; echo no >&2; exit 2"))
    began = time.monotonic()
    assert specific(world.hookc("PreToolUse", bash()))["permissionDecision"] == "deny"
    assert time.monotonic() - began < 5
    wait_for(lambda: not any(alive(p) for p in pids_in(pids)), 5, "what is left of the group to be gone")


def test_a_daemonising_child_is_let_go(world):
    pids = world.top / "pids"
    configure(world, one("PreToolUse", f"setsid sh -c 'echo $$ > {pids}; exec sleep 30' & sleep 0.3; exit 0"))
    began = time.monotonic()
    assert answer(world.hookc("PreToolUse", bash())) == {}
    assert time.monotonic() - began < 5
    for pid in pids_in(pids):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("command", ["exec <&-; exit 0", "exit 0", "exec >&- 2>&-; sleep 0.2; exit 0", "kill -STOP $$"])
def test_odd_children(world, command):
    configure(world, one("PreToolUse", command, timeout=0.5))
    assert answer(world.hookc("PreToolUse", bash("echo " + "x" * 200000))) == {}


def test_stop_is_quick_with_a_stuck_child(world):
    pids = world.top / "pids"
    configure(world, one("PreToolUse", f"trap '' TERM; echo $$ > {pids}; while :; do sleep 1; done", timeout=60, on_failure="deny"))
    world.start()
    hookc = subprocess.Popen([str(world.build / "hookc"), "claude", "PreToolUse"], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, env=world.env)
    world.started.append(hookc)
    hookc.stdin.write(json.dumps(bash()).encode())
    hookc.stdin.close()
    wait_for(lambda: pids_in(pids), what="the hook to run")
    began = time.monotonic()
    world.stop()
    assert time.monotonic() - began < 2
    assert not any(alive(p) for p in pids_in(pids))
    assert json.loads(hookc.stdout.read())["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_a_killed_daemon_takes_its_hooks_along(world):
    pids = world.top / "pids"
    configure(world, one("PreToolUse", f"echo $$ > {pids}; exec sleep 30", **{"async": True}))
    world.hookc("PreToolUse", bash())
    pid = wait_for(lambda: pids_in(pids), what="the hook to run")[0]
    world.kill()
    wait_for(lambda: not alive(pid), 5, "the hook to be gone")


ESCAPES = {
    "background": "sleep 30 & echo $! > {pids}; wait",
    "grandchild": "sh -c 'echo $$ > {pids}; sleep 30; true'; true",
    "own session": "setsid sh -c 'echo $$ > {pids}; exec sleep 30'; true",
    "daemonised": "(setsid sh -c 'echo $$ > {pids}; exec sleep 30' &); sleep 30",
    "deaf": "trap '' TERM HUP INT; setsid sh -c 'trap \"\" TERM; echo $$ > {pids}; sleep 30; sleep 30'; sleep 30",
}


@pytest.mark.parametrize("how", ESCAPES)
def test_descendants_die_with_a_killed_daemon(world, how):
    pids = world.top / "pids"
    configure(world, one("PreToolUse", ESCAPES[how].format(pids=pids), **{"async": True}))
    world.hookc("PreToolUse", bash())
    pid = wait_for(lambda: pids_in(pids), what="the hook to run")[0]
    world.kill()
    wait_for(lambda: not alive(pid), 5, "the descendant to be gone")


@pytest.mark.parametrize("how", ESCAPES)
def test_descendants_do_not_outlive_the_timeout(world, how):
    pids = world.top / "pids"
    configure(world, one("PreToolUse", ESCAPES[how].format(pids=pids), timeout=1, **{"async": True}))
    world.hookc("PreToolUse", bash())
    pid = wait_for(lambda: pids_in(pids), what="the hook to run")[0]
    wait_for(lambda: not alive(pid), 10, "the descendant to be gone")


def test_a_killed_keeper_is_replaced(world):
    pids = world.top / "pids"
    configure(world, one("PreToolUse", f"sleep 30 & echo $! >> {pids}; wait", **{"async": True}))
    world.hookc("PreToolUse", bash("true", session="k1"))
    wait_for(lambda: len(pids_in(pids)) == 1, what="the hook to run")
    (keeper,) = keepers(world)
    os.kill(keeper, signal.SIGKILL)
    wait_for(lambda: not keepers(world), what="the keeper to be gone")
    world.hookc("PreToolUse", bash("true", session="k2"))
    wait_for(lambda: len(pids_in(pids)) == 2, what="the hook to run")
    world.kill()
    for pid in pids_in(pids):  # the one of before as well
        wait_for(lambda: not alive(pid), 5, "the hook to be gone")
    wait_for(lambda: not keepers(world), 5, "the keeper to be gone")


def keepers(world):
    """Those whose program is this build's; tests run one after another."""
    found = []
    for p in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if p.joinpath("cmdline").read_bytes().startswith(b"hooks-keeper") and os.readlink(p / "exe") == str(world.build / "hookd"):
                found.append(int(p.name))
        except OSError:
            pass
    return found


def test_many_runs_leave_nothing_behind(world):
    runs = int(os.environ.get("HOOK_RUNS", "300"))
    configure(world, {"PreToolUse": [{"hooks": [{"type": "command", "command": f"exit 0 # {i}"} for i in range(20)]}]})
    pid = world.start()
    for _ in range(3):
        world.hookc("PreToolUse", bash())
    assert len(world.events()) >= 1  # readers and all are open now
    fds = len(os.listdir(f"/proc/{pid}/fd"))
    for _ in range(2 * runs // 20):  # on a busy machine a call may go around the daemon, and then runs nothing
        world.hookc("PreToolUse", bash())
        if world.status()["hooks"]["runs"] >= runs:
            break
    state = world.status()["hooks"]
    assert state["runs"] >= runs and state["failures"] == 0
    # An answer may leave before the last child has been collected.
    wait_for(lambda: world.status()["hooks"]["running"] == 0, what="the hooks to end")
    wait_for(lambda: len(os.listdir(f"/proc/{pid}/fd")) <= fds, what="descriptors to be closed")
    wait_for(lambda: open(f"/proc/{pid}/task/{pid}/children").read() == "", what="children to be collected")
    assert len(world.rpc("hooks_history")["runs"]) == 200


# -- groups, once, async, observers ----------------------------------------------------------------

def test_once_disabled_observer_async_sequential(world):
    out = world.top / "out"
    def add(word, **more):
        return {"type": "command", "command": f"echo {word} >> {out}; {more.pop('then', 'true')}", **more}
    configure(world, {"PreToolUse": [
        {"sequential": True, "hooks": [add("one", then="sleep 0.2"), add("two", then="exit 2"), add("three")]},
        {"hooks": [add("once", once=True), add("disabled", disabled=True), add("observer", observer=True, then="exit 2"),
                   add("async", **{"async": True, "then": "exit 2"})]}]})
    world.hookc("PreToolUse", bash())
    assert specific(world.hookc("PreToolUse", bash()))["permissionDecision"] == "deny"
    wait_for(lambda: out.read_text().split().count("async") == 2, what="the async hook")
    words = out.read_text().split()
    assert words.count("once") == 1 and "disabled" not in words and "three" not in words
    assert [w for w in words if w in ("one", "two")] == ["one", "two", "one", "two"]


def test_what_nobody_waits_for_does_not_keep_decisions_waiting(world):
    slow = [{"type": "command", "command": f"exec sleep 20 # {n}", "async": True} for n in range(40)]
    configure(world, {"PostToolUse": [{"hooks": slow}], "PreToolUse": [{"hooks": [
        {"type": "command", "command": "echo no >&2; exit 2"}]}]})
    world.hookc("PostToolUse", bash(event="PostToolUse", tool_response={}))
    wait_for(lambda: world.status()["hooks"]["running"] == 8, what="half of the places to be taken")
    began = time.monotonic()
    assert specific(world.hookc("PreToolUse", bash()))["permissionDecision"] == "deny"
    assert time.monotonic() - began < 5
    assert world.status()["hooks"]["queued"] == 32


def test_a_hook_does_not_start_itself_through_an_agent(world):
    out = world.top / "out"
    configure(world, {"PreToolUse": [{"hooks": [
        {"type": "command", "command": f"echo x >> {out}; echo $HOOKD_HOOK > {world.top}/x"},
        {"type": "command", "command": f"echo y >> {out}; echo $HOOKD_HOOK > {world.top}/y"}]}]})
    world.hookc("PreToolUse", bash())
    assert sorted(out.read_text().split()) == ["x", "y"]
    out.unlink()
    world.hookc("PreToolUse", bash(session="in"), env={"HOOKD_HOOK": (world.top / "x").read_text().strip()})
    assert out.read_text().split() == ["y"]  # the others go on watching
    world.hookc("PreToolUse", bash(session="in"), env={"HOOKD_HOOK": (world.top / "y").read_text().strip()})
    assert out.read_text().split() == ["y"]  # and the chain ends
    out.unlink()
    forged = "1:" + (world.top / "y").read_text().strip().split(":", 1)[1]
    world.hookc("PreToolUse", bash(session="in2"), env={"HOOKD_HOOK": forged})
    assert sorted(out.read_text().split()) == ["x", "y"]


# -- snapshots -------------------------------------------------------------------------------------

def test_a_session_keeps_its_hooks(world):
    configure(world, one("PreToolUse", "echo first >&2; exit 2"))
    assert specific(world.hookc("PreToolUse", bash()))["permissionDecisionReason"] == "first"
    configure(world, {})
    for event in ("SessionEnd", "SessionStart"):  # anybody can say so
        world.hookc(event, payload(event, source="startup", reason="other"))
    assert specific(world.hookc("PreToolUse", bash()))["permissionDecisionReason"] == "first"
    world.stop()
    assert specific(world.hookc("PreToolUse", bash()))["permissionDecisionReason"] == "first"
    world.kill()
    assert specific(world.hookc("PreToolUse", bash()))["permissionDecisionReason"] == "first"
    assert answer(world.hookc("PreToolUse", bash(session="new"))) == {}
    assert world.json("hooks", "reload", "--json")["sessions"] >= 1
    assert answer(world.hookc("PreToolUse", bash())) == {}
    for p in (world.dir / "run/hooks").iterdir():
        assert p.stat().st_mode & 0o777 == 0o600


def test_a_broken_file_keeps_the_last_good_one_and_says_so(world):
    configure(world, one("PreToolUse", "echo good >&2; exit 2"))
    world.hookc("PreToolUse", bash())
    (world.dir / "config.json").write_text('{"hooks": {"PreToolUse": [')
    assert specific(world.hookc("PreToolUse", bash(session="n1")))["permissionDecisionReason"] == "good"
    start = answer(world.hookc("SessionStart", payload("SessionStart", "n2", source="startup")))
    assert "config.json:1:" in start["systemMessage"] and "last valid" in start["systemMessage"]
    assert world.json("hooks", "reload", "--json")["broken"] == 1
    assert specific(world.hookc("PreToolUse", bash()))["permissionDecisionReason"] == "good"
    assert world.hookd("hooks", "validate", ok=False).returncode == 1


def test_reload_reaches_sessions_of_before_a_restart(world):
    configure(world, one("PreToolUse", "echo first >&2; exit 2"))
    world.hookc("PreToolUse", bash())
    world.stop()
    configure(world, {})
    world.start()
    world.hookd("hooks", "reload")
    assert answer(world.hookc("PreToolUse", bash())) == {}


def test_snapshots_are_bounded(world):
    configure(world, {})
    world.start()
    for n in range(340):
        world.hookc("PreToolUse", bash(session=f"b{n}"))
    assert len(list((world.dir / "run/hooks").iterdir())) <= 330


# -- the operations --------------------------------------------------------------------------------

def test_trigger_register_unregister(world):
    world.start()
    hook = {"type": "command", "command": "echo out; echo refused >&2; exit 2", "name": "n"}
    added = world.rpc("register", event="PreToolUse", matcher="Bash", hook=hook)["hookId"]
    got = world.rpc("trigger", type="PreToolUse", timestamp=1, sessionId="t1",
                    payload={"toolName": "Bash", "input": {"command": "ls"}})
    assert got["allowed"] is False
    assert got["results"] == [{"hookId": added, "name": "n", "success": True, "output": "out\n", "error": "refused\n",
                               "decision": "block"}]
    assert world.rpc("trigger", type="Stop", sessionId="t1", payload={}) == {"allowed": True, "decision": "continue", "results": []}
    assert world.hookd("rpc", "register", json.dumps({"event": "PreToolUs", "hook": hook}), ok=False).returncode == 1
    bad = world.hookd("rpc", "register", json.dumps({"event": "Stop", "hook": {"type": "command"}}), ok=False)
    assert b"needs a command" in bad.stderr
    assert world.rpc("unregister", event="PreToolUse", hookId=added) == {"removed": True}
    assert json.loads((world.dir / "config.json").read_text())["hooks"]["PreToolUse"] == []
    assert world.hookd("rpc", "unregister", json.dumps({"event": "Stop", "hookId": "x"}), ok=False).returncode == 1


def test_register_keeps_comments(world):
    configure(world, {})
    (world.dir / "config.json").write_text('// mine\n{\n  "log": { "level": "info" }, // so\n}\n')
    world.rpc("register", event="Stop", hook={"type": "command", "command": "true"})
    text = (world.dir / "config.json").read_text()
    assert "// mine" in text and "// so" in text and '"Stop"' in text
    assert world.hookd("config", "validate").returncode == 0


def test_commands(world, project):
    configure(world, one("PreToolUse", "exit 2", "Bash", name="never"))
    assert b"never" in world.hookd("hooks").stdout
    assert world.json("hooks", "list", "--json")["hooks"][0]["state"] == "runs"
    dry = world.hookd("hooks", "run", "PreToolUse", "--tool", "Bash").stdout
    assert b"would run" in dry and b"1 of 1" in dry
    assert world.json("hooks", "history", "--json")["runs"] == []
    assert b"not allowed" in world.hookd("hooks", "run", "PreToolUse", "--yes").stdout
    assert len(world.json("hooks", "history", "--json")["runs"]) == 1
    assert b"never" in world.hookd("hooks", "history").stdout
    assert b"hook.sh" in world.hookd("hooks", "new", cwd=project).stdout
    assert os.access(project / "hook.sh", os.X_OK)
    assert world.hookd("hooks", "new", cwd=project, ok=False).returncode == 1
    bad = world.top / "bad.json"
    bad.write_text('{\n  "hooks": {\n    "PreToolUs": [],\n    "Stop": [{"hooks": [{"type": "command", "comand": "x"}]}]\n  }\n}\n')
    told = world.hookd("hooks", "validate", bad, ok=False).stderr.decode()
    assert f"{bad}:3:5: there is no event 'PreToolUs'; did you mean 'PreToolUse'?" in told
    assert "did you mean 'command'" in told and f"{bad}:4:" in told


def test_secrets_do_not_stay_in_the_history(world):
    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    configure(world, one("PreToolUse", f"echo {secret}; echo {secret} >&2"))
    world.hookc("PreToolUse", bash())
    run = world.rpc("hooks_history")["runs"][0]
    assert secret not in json.dumps(run) and "redacted" in run["stdout"]


# -- without a daemon ------------------------------------------------------------------------------

@pytest.mark.parametrize("known", [True, False])
def test_an_explicit_deny_holds_without_a_daemon(world, known):
    configure(world, {"PreToolUse": [{"matcher": "Bash", "hooks": [
        {"type": "command", "command": "exit 0", "name": "gate", "on_failure": "deny"}]}]})
    if known:
        assert answer(world.hookc("PreToolUse", bash())) == {}
        configure(world, {})  # too late for this session
    else:
        world.start()
    os.kill(world.pid(), signal.SIGSTOP)  # it hangs; nobody starts another one
    got = specific(world.hookc("PreToolUse", bash()))
    assert got["permissionDecision"] == "deny" and "gate" in got["permissionDecisionReason"]
    read = payload("PreToolUse", tool_name="Read", tool_input={"file_path": "/x"})
    assert answer(world.hookc("PreToolUse", read)) == {}
    os.kill(world.pid(), signal.SIGCONT)


def test_a_client_that_has_gone_runs_nothing(world):
    out = world.top / "out"
    configure(world, {"PreToolUse": [{"sequential": True, "hooks": [
        {"type": "command", "command": "sleep 1"}, {"type": "command", "command": f"echo ran >> {out}"}]}]})
    world.start()
    hookc = subprocess.Popen([str(world.build / "hookc"), "claude", "PreToolUse"], stdin=subprocess.PIPE, env=world.env)
    world.started.append(hookc)
    hookc.stdin.write(json.dumps(bash()).encode())
    hookc.stdin.close()
    wait_for(lambda: world.status()["hooks"]["running"] == 1, what="the first hook")
    hookc.kill()
    wait_for(lambda: world.status()["hooks"]["running"] == 0, what="its end")
    assert not out.exists()


def test_doctor_rehearses_without_programs(world):
    out = world.top / "out"
    configure(world, one("PreToolUse", f"echo ran >> {out}"))
    world.hookc("PreToolUse", bash(session="hookd-doctor-1"))
    assert not out.exists()


def test_bash_where_it_is_asked_for(world):
    configure(world, one("SessionStart", "[[ a == a ]] && echo ${BASH_VERSION:+bash}", shell="bash"))
    got = specific(world.hookc("SessionStart", payload("SessionStart", source="startup")))
    assert "bash" in got["additionalContext"]


def test_a_large_call_reaches_the_hook_whole(world):
    out = world.top / "out"
    configure(world, {"PreToolUse": [{"hooks": [{"type": "command", "command": f"wc -c > {out}"},
                                                {"type": "command", "command": "echo large >&2; exit 2"}]}]})
    call = payload("PreToolUse", tool_name="Write", tool_input={"file_path": "/x", "content": "y" * 500000})
    assert specific(world.hookc("PreToolUse", call))["permissionDecisionReason"] == "large"
    assert int(out.read_text()) > 500000


# -- http -------------------------------------------------------------------------------------------------------


class Server:
    """A server on loopback that keeps what it is sent and answers as told."""

    def __init__(self, status=200, body="", location=None):
        self.seen = []
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                data = self.rfile.read(int(self.headers["Content-Length"]))
                owner.seen.append((self.path, dict(self.headers), json.loads(data)))
                self.send_response(status)
                if location:
                    self.send_header("Location", location)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def post(url, **more):
    return {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "http", "url": url, **more}]}]}


def test_an_http_hook_is_posted_the_event_and_decides(world):
    said = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny",
                                   "permissionDecisionReason": "the server says no"}}
    with Server(body=json.dumps(said)) as server:
        configure(world, post(server.url + "/hook", headers={"X-Team": "a \"quoted\" $(value) 'x'"}, name="web"))
        long = "echo " + "x" * 200000
        done = specific(world.hookc("PreToolUse", bash(long)))
        assert done["permissionDecision"] == "deny" and done["permissionDecisionReason"] == "the server says no"
        [(path, headers, body)] = server.seen
    assert path == "/hook" and headers["X-Team"] == "a \"quoted\" $(value) 'x'"
    assert headers["Content-Type"] == "application/json"
    assert (body["tool_name"], body["tool_input"], body["hook_event_name"]) == ("Bash", {"command": long}, "PreToolUse")
    [d] = world.json("decisions", "--json")["decisions"]
    assert (d["rule"], d["decision"]) == ("hook:web", "deny")


@pytest.mark.parametrize("on_failure, decision", [(None, None), ("deny", "deny")])
def test_an_http_hook_that_fails(world, on_failure, decision):
    more = {"on_failure": on_failure} if on_failure else {}
    with Server(status=500, body='{"decision": "block", "reason": "not read"}') as server:
        configure(world, post(server.url, **more))
        done = specific(world.hookc("PreToolUse", bash()))
    assert done.get("permissionDecision") == decision
    if decision:
        assert "500" in done["permissionDecisionReason"] and "not read" not in done["permissionDecisionReason"]
    assert specific(world.hookc("PreToolUse", bash(session="s2"))).get("permissionDecision") == decision  # nobody listens


def test_redirections_are_not_followed(world):
    with Server(body='{"decision": "block", "reason": "elsewhere"}') as other:
        with Server(status=302, location=other.url) as server:
            configure(world, post(server.url, on_failure="ask"))
            done = specific(world.hookc("PreToolUse", bash()))
        assert done.get("permissionDecision") != "deny" and other.seen == []


@pytest.mark.parametrize("url", ["file:///etc/passwd", "gopher://127.0.0.1/", "ftp://127.0.0.1/", "127.0.0.1/", "HTTP://127.0.0.1/", "http://a/\nX: y", "-o /tmp/x", ""])
def test_other_addresses_than_http_are_no_hooks(world, url):
    """And whatever else is in the file, hooks beside it run."""
    out = world.top / "out"
    hooks = post(url)
    hooks["PreToolUse"][0]["hooks"].append({"type": "command", "command": f"echo ran >> {out}"})
    configure(world, hooks)
    assert specific(world.hookc("PreToolUse", bash())).get("permissionDecision") is None
    assert out.read_text() == "ran\n"
    assert [h for h in world.hookd("hooks", "history", "--json").stdout.decode().splitlines() if "curl" in h] == []


def test_variables_of_the_starter_name_no_proxy(world):
    """A proxy would be told of every event, and answer in the server's place."""
    with Server(body="{}") as server, Server(body='{"decision": "block", "reason": "the proxy"}') as proxy:
        configure(world, post(server.url))
        names = {n: proxy.url for n in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY")}
        world.start(env=names)
        assert specific(world.hookc("PreToolUse", bash(), env=names)).get("permissionDecision") is None
        assert len(server.seen) == 1 and proxy.seen == []


def test_a_projects_http_hook_is_not_posted_untrusted(world):
    root = world.top / "proj"
    (root / ".hookd").mkdir(parents=True)
    with Server(body='{"decision": "block", "reason": "x"}') as server:
        (root / ".hookd/config.json").write_text(json.dumps({"hooks": post(server.url)}))
        for p in (world.top, root, root / ".hookd"):
            p.chmod(0o755)
        assert answer(world.hookc("PreToolUse", bash(cwd=str(root)))) == {}
        assert server.seen == []

"""An agent is not the user: what changes what runs needs a terminal or the owner's token, and is shown afterwards."""
import json
import os
import re
import stat

import pytest

from test_hooks import bash, one, project, script, world  # noqa: F401
from test_trust import at_terminal, settle
from world import World, payload, tool, wait_for


@pytest.fixture(autouse=True)
def started(world):  # noqa: F811
    world.start()


def line(world, method, params=None, **more):
    """A request as any process of the same user could send it."""
    with world.connect() as s:
        s.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}, **more}).encode() + b"\n")
        got = b""
        while not got.endswith(b"\n"):
            got += s.recv(65536)
    return json.loads(got)


HOOK = {"event": "PreToolUse", "hook": {"type": "command", "command": "true"}}
FOR_THE_OWNER = [("register", HOOK), ("unregister", {"event": "PreToolUse", "hookId": "x"}), ("purge", {"agent": "claude"}),
                 ("retain", {}), ("reload", {}), ("hooks_reload", {})]


@pytest.mark.parametrize("method, params", FOR_THE_OWNER)
@pytest.mark.parametrize("token", [None, "", "0" * 64, 7, ["x"], "almost"])
def test_the_uid_alone_changes_nothing(world, method, params, token):
    world.hookc("PostToolUse", tool(1))
    right = (world.dir / "owner.token").read_text().strip()
    if token == "almost":
        token = right[:-1] + ("0" if right[-1] != "0" else "1")
    said = line(world, method, params, **({} if token is None else {"token": token}))
    assert said["error"]["code"] == -32001 and "owner" in said["error"]["message"]
    assert len(world.events()) == 1 and not (world.dir / "config.json").exists()
    assert line(world, method, params, token=right).get("error", {}).get("code") != -32001


def test_the_token_is_private_and_stays(world):
    path = world.dir / "owner.token"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and len(path.read_text()) == 65
    before = path.read_text()
    world.hookd("restart")
    assert path.read_text() == before


COMMANDS = [("config", "set", "guard.mode", "observe"), ("rules", "disable", "fs.rm-root"), ("reload",), ("hooks", "reload"),
            ("purge", "--agent", "claude", "--yes"), ("retention",), ("rpc", "retain"), ("rpc", "register", json.dumps(HOOK))]


@pytest.mark.parametrize("args", COMMANDS, ids=lambda a: " ".join(a[:2]))
def test_commands_need_a_terminal_or_the_token(world, args):
    world.hookc("PostToolUse", tool(1))
    done = world.hookd(*args, owner=False, ok=False)
    assert done.returncode == 1 and b"owner" in done.stderr
    assert not (world.dir / "config.json").exists() and len(world.events()) == 1
    assert world.hookd(*args).returncode == 0


@pytest.mark.parametrize("args", COMMANDS, ids=lambda a: " ".join(a[:2]))
def test_a_person_at_a_terminal_needs_nothing_else(world, args):
    world.hookc("PostToolUse", tool(1))
    code, shown = at_terminal(world, *args, cwd=world.top)
    assert code == 0, shown


def test_a_terminal_that_an_agent_opened_is_not_the_persons(world):
    world.env["CLAUDECODE"] = "1"
    code, shown = at_terminal(world, "config", "set", "guard.mode", "observe", cwd=world.top)
    assert code == 1 and "agent" in shown and not (world.dir / "config.json").exists()


def test_a_restore_needs_the_owner(world):
    world.hookc("PostToolUse", tool(1))
    world.hookd("backup", world.top / "b.db")
    assert world.hookd("restore", world.top / "b.db", "--yes", owner=False, ok=False).returncode == 1
    assert not list(world.dir.glob("hookd.db.before*"))
    assert b"the store as it was is kept" in world.hookd("restore", world.top / "b.db", "--yes").stdout


def test_trust_takes_the_token_too(world, project):  # noqa: F811
    settle(project, one("PreToolUse", "exit 0"))
    assert world.hookd("trust", "--yes", cwd=project, ok=False).returncode == 1
    world.hookd("trust", "--yes", "--token-file", world.dir / "owner.token", cwd=project)
    assert world.hookd("untrust", cwd=project, owner=False, ok=False).returncode == 1
    assert len(world.json("trust", "--list", "--json")) == 1
    world.hookd("untrust", cwd=project)


@pytest.mark.parametrize("wrong", ["missing", "other", "readable", "link", "text", "foreign state"])
def test_only_the_right_token_counts(world, wrong):
    right = world.dir / "owner.token"
    file = world.top / "t"
    other = World()
    try:
        if wrong == "other":
            file.write_text("a" * 64 + "\n")
            file.chmod(0o600)
        elif wrong == "readable":
            file.write_bytes(right.read_bytes())
            file.chmod(0o644)
        elif wrong == "link":
            file.symlink_to(right)
        elif wrong == "text":
            file.write_text("yes please")
            file.chmod(0o600)
        elif wrong == "foreign state":
            other.start()
            file = other.dir / "owner.token"
        done = world.hookd("config", "set", "guard.mode", "observe", "--token-file", str(file), owner=False, ok=False)
        assert done.returncode == 1 and not (world.dir / "config.json").exists()
    finally:
        other.close()


def test_every_change_is_shown_at_the_next_status(world, project):  # noqa: F811
    settle(project, one("PreToolUse", "exit 0"))
    world.hookd("config", "set", "retention.days", "30")
    world.hookd("rules", "disable", "fs.rm-root")
    world.rpc("register", **HOOK)
    world.hookd("trust", "--yes", "--token-file", world.dir / "owner.token", cwd=project)
    wait_for(lambda: "register" in (world.dir / "changes.jsonl").read_text(), what="the daemon's line")
    for _ in range(2):  # an agent that asks makes nothing disappear
        shown = world.hookd("status").stdout.decode()
        for text in ("config set retention.days = 30", "rules disable fs.rm-root", "register PreToolUse", f"trust {project}"):
            assert text in shown, shown
    told = world.status()["changes"]
    assert {c["what"] for c in told} >= {"config set", "rules", "register", "trust"} and not any(c["seen"] for c in told)
    code, shown = at_terminal(world, "status", cwd=world.top)
    assert code == 0 and "rules disable fs.rm-root" in shown
    assert "changed" not in world.hookd("status").stdout.decode()
    assert all(c["seen"] for c in world.status()["changes"])
    world.stop()
    world.hookd("config", "set", "retention.days", "31")
    assert "retention.days = 31" in world.hookd("status", ok=False).stdout.decode()


def test_status_says_who_made_a_change(world):
    (world.home / ".claude").mkdir()
    world.hookd("init", "--yes")  # a program without a terminal may do that
    world.hookd("config", "set", "retention.days", "30")
    code, _ = at_terminal(world, "config", "set", "retention.days", "31", cwd=world.top)
    assert code == 0
    for by in ("unknown", "nobody known", "\x1b[31m"):  # a hook script was found changed; an older record; a forged one
        with open(world.dir / "changes.jsonl", "a") as f:
            f.write(json.dumps({"at_us": 1794790000000000, "what": "hook script", "detail": "/x", "by": by}) + "\n")
    shown = [line[13:] for line in world.hookd("status", ok=False).stdout.decode().splitlines() if line.startswith("changed ")]
    authors = sorted(re.sub(r"^(init|hook script|config set)[^,]*, [^,]*, ", r"\1: ", line) for line in shown)
    assert authors == ["config set: at a terminal", "config set: with the owner's token", *["hook script: author unknown"] * 3, "init: by a program without a terminal"]


def test_what_failed_is_not_called_a_change(world):
    world.hookd("config", "set", "guard.mode", "nonsense", ok=False)
    world.hookd("config", "set", "guard.mode", "observe", owner=False, ok=False)
    world.hookd("rules", "disable", "no.such.rule", ok=False)
    assert world.status()["changes"] == []


def test_the_text_of_a_hook_is_not_in_the_record(world):
    world.rpc("register", event="Stop", hook={"type": "command", "command": "curl -H 'Authorization: Bearer abcdef123' x"})
    wait_for(lambda: (world.dir / "changes.jsonl").exists(), what="the record")
    assert "abcdef123" not in (world.dir / "changes.jsonl").read_text()


def test_the_record_is_bounded_and_bad_lines_do_no_harm(world):
    path = world.dir / "changes.jsonl"
    path.write_bytes(b"not json\n\xff\xfe\n{\"at_us\": \"x\"}\n" + b'{"at_us":1,"what":"old"}\n' * 20000)
    world.hookd("config", "set", "retention.days", "30")
    assert len(world.status()["changes"]) == 1 and path.stat().st_size < 10000
    path.unlink()
    os.mkfifo(path)
    world.hookd("status")  # does not hang


# -- the guard: commands below are text for hookd, nothing runs them -----------------------------------------------

def decision(world, tool_name, tool_input, n=iter(range(10 ** 6))):
    done = world.hookc("PreToolUse", payload("PreToolUse", "guard", tool_name=tool_name, tool_input=tool_input,
                                             tool_use_id=f"own{next(n)}"))
    return json.loads(done.stdout or "{}").get("hookSpecificOutput", {}).get("permissionDecision", "none")


@pytest.mark.parametrize("command", [
    "nc -U {d}/run/hookd.sock", "socat - UNIX-CONNECT:{d}/run/hookd.sock", "cd {d}/run; nc -U hookd.sock",
    "curl --unix-socket {d}/run/hookd.sock http://x/", "cat {d}/owner.token", "cat {d}/own*", "cp -r {d} /tmp/x",
    "strange-editor {d}/config.json", "python3 -c 'open(\"{d}/config.json\",\"w\")'", "tar czf x.tgz {d}",
    "ln -s {d} l; strange-editor l/config.json", "HOOKD_DIR=/tmp/other claude", "cat < {d}/owner.token"])
def test_the_guard_keeps_agents_from_this_daemons_own(world, command):
    assert decision(world, "Bash", {"command": command.format(d=world.dir)}) == "deny"


@pytest.mark.parametrize("tool_name, key", [("Read", "file_path"), ("Write", "file_path"), ("Edit", "file_path")])
def test_the_token_is_for_no_tool(world, tool_name, key):
    assert decision(world, tool_name, {key: str(world.dir / "owner.token")}) == "deny"


def test_a_link_on_disk_leads_there_too(world):
    (world.top / "l").symlink_to(world.dir)
    assert decision(world, "Bash", {"command": f"strange-editor {world.top}/l/config.json"}) == "deny"
    assert decision(world, "Read", {"file_path": f"{world.top}/l/owner.token"}) == "deny"


@pytest.mark.parametrize("command", ["hookd status", "cat {d}/hookd.log", "ls -la {d}/run", "git status", "nc -U /tmp/x.sock"])
def test_looking_is_allowed(world, command):
    assert decision(world, "Bash", {"command": command.format(d=world.dir)}) == "none"

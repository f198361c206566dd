"""Hooks of a project: inert until trusted at a terminal, and then only the bytes that were seen."""
import json
import os
import pty
import select
import threading
import time

import pytest

from test_hooks import bash, configure, one, project, script, world  # noqa: F401
from world import payload


def at_terminal(world, *args, cwd, reply=b"y\n", seconds=30):
    """Runs hookd with a terminal of its own; (exit code, everything shown)."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        os.execve(str(world.build / "hookd"), ["hookd", *args], world.env)
    shown, sent, until = b"", False, time.monotonic() + seconds
    while time.monotonic() < until:
        ready, _, _ = select.select([fd], [], [], 0.1)
        if ready:
            try:
                piece = os.read(fd, 65536)
            except OSError:
                break
            if not piece:
                break
            shown += piece
        if b"[y/N]" in shown and not sent and reply is not None:
            os.write(fd, reply)
            sent = True
    os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode(errors="replace")


def trust(world, root, *args):
    code, shown = at_terminal(world, "trust", *args, cwd=root)
    assert code == 0, shown
    return shown


def settle(root, hooks, name=".hookd/config.json", **more):
    path = root / name
    path.parent.mkdir(exist_ok=True)
    path.parent.chmod(0o755)
    path.write_text(json.dumps({"hooks": hooks, **more}))
    path.chmod(0o644)
    return path


def ask(world, root, session, agent="codex", command="ls"):
    done = world.hookc("PreToolUse", bash(command, session=session, cwd=str(root)), agent=agent)
    return done.stdout.decode()


@pytest.fixture
def guarded(world, project):  # noqa: F811
    script(project / "scripts/check.sh", "#!/bin/sh\necho old bytes >&2\nexit 2\n")
    (project / "scripts").chmod(0o755)
    settle(project, one("PreToolUse", "./scripts/check.sh", "Bash"))
    return project


def test_nothing_runs_before_trust(world, guarded):
    marker = world.top / "ran"
    settle(guarded, one("PreToolUse", f"touch {marker}"), ".claude/settings.json")
    script(guarded / "scripts/check.sh", f"#!/bin/sh\ntouch {marker}\nexit 2\n")
    assert ask(world, guarded, "u1") == ""
    start = world.hookc("SessionStart", payload("SessionStart", "u2", cwd=str(guarded), source="startup"), agent="codex")
    assert "hookd trust" in json.loads(start.stdout)["systemMessage"]
    assert not marker.exists() and world.rpc("hooks_history")["runs"] == []
    states = {h["state"] for h in world.rpc("hooks", cwd=str(guarded))["hooks"]}
    assert states == {"waits for: hookd trust"}


def test_trust_needs_a_terminal_and_shows_what_it_is_about(world, guarded):
    for args in ((), ("--yes",)):
        done = world.hookd("trust", *args, cwd=guarded, ok=False)
        assert done.returncode == 1 and b"at a terminal" in done.stderr
    code, shown = at_terminal(world, "trust", cwd=guarded, reply=b"n\n")
    assert code == 1 and "old bytes" in shown and "./scripts/check.sh" in shown
    assert world.json("trust", "--list", "--json") == []
    assert ask(world, guarded, "a1") == ""
    trust(world, guarded)
    assert "old bytes" in ask(world, guarded, "a2")
    assert "old bytes" in ask(world, guarded, "a3", agent="claude")
    listed = world.json("trust", "--list", "--json")
    assert listed[0]["root"] == str(guarded)
    assert {f["name"] for f in listed[0]["files"]} >= {".hookd/config.json", "scripts/check.sh", ".claude/settings.json"}
    assert world.hookd("untrust", cwd=guarded).returncode == 0
    assert ask(world, guarded, "a4") == ""
    assert world.hookd("untrust", cwd=guarded, ok=False).returncode == 1


def test_yes_at_a_terminal(world, guarded):
    code, shown = at_terminal(world, "trust", "--yes", cwd=guarded, reply=None)
    assert code == 0 and "is trusted" in shown


@pytest.mark.parametrize("change", ["byte", "config", "new file", "mode", "missing", "local"])
def test_any_change_revokes_and_is_shown(world, guarded, change):
    trust(world, guarded)
    assert "old bytes" in ask(world, guarded, "before")
    check = guarded / "scripts/check.sh"
    if change == "byte":
        check.write_text("#!/bin/sh\necho new bytes >&2\nexit 2\n")
    elif change == "config":
        settle(guarded, one("PreToolUse", "./scripts/check.sh", "Read"))
    elif change == "new file":
        settle(guarded, {}, ".claude/settings.json")
    elif change == "local":
        settle(guarded, {}, ".hookd/config.local.json")
    elif change == "mode":
        check.chmod(0o644)
    else:
        check.unlink()
    assert ask(world, guarded, "after") == ""
    assert "old bytes" in ask(world, guarded, "before")  # the session began with these bytes
    code, shown = at_terminal(world, "trust", cwd=guarded, reply=b"n\n")
    assert code == 1
    if change == "byte":
        assert "-echo old bytes" in shown and "+echo new bytes" in shown and "exit 2" in shown


def test_swapped_a_thousand_times_only_old_bytes_run(world, guarded):
    trust(world, guarded)
    check, other = guarded / "scripts/check.sh", guarded / "scripts/other.sh"
    script(other, "#!/bin/sh\necho new bytes >&2\nexit 2\n")
    stop, swaps, answers = threading.Event(), [0], []

    def swap():
        spare = guarded / "scripts/spare.sh"
        while not stop.is_set() or swaps[0] < 1000:
            os.rename(check, spare)
            os.rename(other, check)
            os.rename(spare, other)
            swaps[0] += 1
    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for n in range(60):
            answers.append(ask(world, guarded, f"race{n}"))
    finally:
        stop.set()
        thread.join()
    assert swaps[0] >= 1000
    assert not any("new bytes" in a for a in answers)
    assert all(a == "" or "old bytes" in a for a in answers)


def test_a_directory_swapped_with_a_link_leads_nowhere(world, guarded):
    trust(world, guarded)
    evil = world.top / "evil"
    script(evil / "check.sh", "#!/bin/sh\necho new bytes >&2\nexit 2\n")
    evil.chmod(0o755)
    stop, swaps, answers = threading.Event(), [0], []

    def swap():
        while not stop.is_set() or swaps[0] < 1000:
            os.rename(guarded / "scripts", guarded / "aside")
            os.symlink(evil, guarded / "scripts")
            os.unlink(guarded / "scripts")
            os.rename(guarded / "aside", guarded / "scripts")
            swaps[0] += 1
    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for n in range(60):
            answers.append(ask(world, guarded, f"link{n}"))
    finally:
        stop.set()
        thread.join()
    assert all(a == "" or "old bytes" in a for a in answers), answers


def test_words_are_tied_to_their_files(world, project):  # noqa: F811
    script(project / "tools/lib.sh", "say() { echo from lib >&2; exit 2; }\n", 0o644)
    script(project / "tools/run.sh", '. "$(dirname "$0")/lib.sh"\nsay\n', 0o644)
    (project / "tools").chmod(0o755)
    settle(project, {"PreToolUse": [{"hooks": [
        {"type": "command", "command": 'sh "$CLAUDE_PROJECT_DIR"/tools/run.sh', "files": ["tools/lib.sh"], "name": "plain"},
        {"type": "command", "command": "cd tools && sh ./run.sh", "name": "shell"},
        {"type": "command", "command": "sh -c 'sh tools/run.sh || true'", "name": "untied"}]}]})
    shown = trust(world, project)
    assert "names a file of the project inside another text" in shown
    (project / "tools/lib.sh").write_text("say() { echo new bytes >&2; exit 2; }\n")
    assert ask(world, project, "w1") == ""  # changed: inert
    (project / "tools/lib.sh").write_text("say() { echo from lib >&2; exit 2; }\n")
    assert "from lib" in ask(world, project, "w2")
    states = {h["name"]: h["state"] for h in world.rpc("hooks", cwd=str(project))["hooks"]}
    assert states["plain"] == "runs" and states["untied"].startswith("not run")


def test_a_script_that_appears_later_does_not_run(world, project):  # noqa: F811
    settle(project, one("PreToolUse", "./later.sh", "Bash"))
    trust(world, project)
    assert ask(world, project, "l1") == ""
    script(project / "later.sh", "#!/bin/sh\necho new bytes >&2; exit 2\n")
    assert ask(world, project, "l1") == "" and ask(world, project, "l2") == ""


@pytest.mark.parametrize("how", ["dir", "group", "world", "link", "linked dir", "script link", "dangling", "fifo", "huge"])
def test_what_others_could_have_written_is_not_read(world, guarded, how):
    trust(world, guarded)
    config, check = guarded / ".hookd/config.json", guarded / "scripts/check.sh"
    if how == "dir":
        guarded.chmod(0o777)
    elif how == "group":
        (guarded / ".hookd").chmod(0o775)
    elif how == "world":
        config.chmod(0o666)
    elif how == "link":
        config.rename(world.top / "elsewhere.json")
        config.symlink_to(world.top / "elsewhere.json")
    elif how == "linked dir":
        (guarded / ".hookd").rename(world.top / "elsewhere")
        (guarded / ".hookd").symlink_to(world.top / "elsewhere")
    elif how == "script link":
        check.rename(world.top / "x.sh")
        check.symlink_to(world.top / "x.sh")
    elif how == "dangling":
        check.unlink()
        check.symlink_to("/nonexistent")
    elif how == "fifo":
        config.unlink()
        os.mkfifo(config)
    else:
        config.write_bytes(b" " * (2 << 20))
    # Its rules could not be read either, which the person hears; nothing else is said.
    heard = ask(world, guarded, "x")
    assert heard == "" or set(json.loads(heard)) == {"systemMessage"}, heard
    assert world.rpc("hooks_history")["runs"] == []
    code, shown = at_terminal(world, "trust", "--yes", cwd=guarded, reply=None)
    assert code == 1 and "not used" in shown or "nothing in" in shown


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to give a file away")
def test_somebody_elses_tree_is_not_read(world, guarded):
    trust(world, guarded)
    os.chown(guarded, 2, 2)
    assert ask(world, guarded, "o") == ""
    os.chown(guarded, 0, 0)
    os.chown(guarded / ".hookd/config.json", 2, 2)
    assert ask(world, guarded, "o2") == ""


def test_a_project_may_add_hooks_and_nothing_else(world, project):  # noqa: F811
    settle(project, {}, durability="strict", log={"level": "error"}, guard={"off": True})
    told = {p["text"] for s in world.rpc("hooks", cwd=str(project))["sources"] for p in s["problems"]}
    for key in ("durability", "log", "guard"):
        assert any(f"'{key}' is ignored in a project" in t for t in told), told


def test_a_project_cannot_turn_a_denial_into_a_permission(world, project):  # noqa: F811
    allow = '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'
    settle(project, one("PreToolUse", f"echo '{allow}'"))
    configure(world, one("PreToolUse", "echo user says no >&2; exit 2"))
    trust(world, project)
    assert "user says no" in ask(world, project, "d1", agent="claude")
    configure(world, {})
    assert '"allow"' in ask(world, project, "d2", agent="claude")


def test_home_is_no_project(world):
    settle(world.home, one("PreToolUse", "echo at home >&2; exit 2"))
    (world.home / "sub").mkdir()
    assert ask(world, world.home / "sub", "h1") == ""
    assert world.hookd("trust", cwd=world.home / "sub", ok=False).returncode == 1


def test_hostile_names_in_the_tree(world, project):  # noqa: F811
    names = ["a b.sh", "$(touch pwned).sh", "-rf.sh", "new\nline.sh", "'q'.sh", "é.sh", "`id`.sh"]
    for n, name in enumerate(names):
        script(project / "s" / name, f"#!/bin/sh\necho {n} >> {world.top}/ran\n")
    (project / "s").chmod(0o755)
    settle(project, {"PreToolUse": [{"hooks": [{"type": "command", "command": f"${{CLAUDE_PROJECT_DIR}}/s/{name}", "args": []}
                                               for name in names]}]})
    shown = trust(world, project)
    assert "new?line" in shown
    ask(world, project, "n1")
    assert sorted((world.top / "ran").read_text().split()) == [str(n) for n in range(len(names))]
    assert not (project / "pwned").exists()


def test_copies_are_private_and_checked(world, guarded):
    trust(world, guarded)
    copies = [p for p in (world.dir / "trust").rglob("*") if p.is_file()]
    assert copies and all(p.stat().st_mode & 0o077 == 0 for p in copies)
    copy = next(p for p in copies if p.name == "check.sh")
    copy.chmod(0o700)
    copy.write_text("#!/bin/sh\necho new bytes >&2; exit 2\n")
    assert ask(world, guarded, "c1") == ""


def test_trust_holds_over_a_restart(world, guarded):
    trust(world, guarded)
    assert "old bytes" in ask(world, guarded, "r1")
    (guarded / "scripts/check.sh").write_text("#!/bin/sh\nexit 0\n")
    world.stop()
    assert "old bytes" in ask(world, guarded, "r1")

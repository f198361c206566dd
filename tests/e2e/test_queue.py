"""Work that waits for agents, and a coordinator that asks what is next: seed 004."""
import json
import subprocess

import pytest

from efforts import Agent
from world import BUILD, HANG, in_threads, wait_for


@pytest.fixture
def project(world):
    p = world.top / "bridge"
    (p / ".git").mkdir(parents=True)
    return p


def queue(world, *args, as_=None, ok=True, cwd=None):
    done = world.hookd("queue", *args, "--json", *(["--as", as_] if as_ else []), ok=ok, cwd=cwd)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.decode()


def states(world, *args):
    return {k["n"]: k["state"] for k in queue(world, *args)["work"]}


def coming(world, name, *args):
    p = subprocess.Popen([str(BUILD / "hookd"), "queue", "next", "--as", name, "--json", *args], env=world.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    world.started.append(p)
    return p


def said(p):
    out, err = p.communicate(timeout=HANG)
    return json.loads(out) if out else err.decode(), p.returncode


def until_it_waits(world):
    wait_for(lambda: world.status()["server"]["busy"] >= 2, what="the call")


def child(world, project, name, parent="boss"):
    a = Agent(world, project, env={"AGENT_ID": name, "AGENT_PARENT": parent})
    a.start()
    a.prompt(f"work, {name}")
    return a


def test_needs_approval_delegated_claimed_done(world, project):
    added = queue(world, "add", "build the second pier", "--role", "mason", as_="boss", cwd=project)
    assert (added["n"], added["state"], added["asked_by"], added["task"]) == (1, "needs", "boss", str(project))
    assert queue(world, "claim", "--role", "mason", as_="w1") == {}, "nobody has approved it"
    assert queue(world, "approve", 1)["state"] == "delegated"
    got = queue(world, "claim", "--role", "mason", as_="w1")
    assert (got["n"], got["state"], got["claimed_by"]) == (1, "claimed", "w1")
    assert "claimed by w1" in queue(world, "done", 1, "it stands", as_="w2", ok=False)
    assert queue(world, "done", 1, "it stands", as_="w1")["result"] == "it stands"
    assert states(world) == {} and states(world, "--all") == {1: "done"}


def test_only_a_person_approves(world, project):
    queue(world, "add", "x", as_="boss", cwd=project)
    done = world.hookd("queue", "approve", 1, owner=False, ok=False)
    assert done.returncode != 0 and states(world) == {1: "needs"}
    line = b'{"jsonrpc":"2.0","id":1,"method":"work.approve","params":{"work":1}}\n'
    with world.connect() as s:
        s.sendall(line)
        assert b"this is for the owner" in s.recv(65536)
    assert states(world) == {1: "needs"}


def test_roles(world, project):
    for text, role in (("a", "mason"), ("b", "smith"), ("c", None)):
        n = queue(world, "add", text, *(["--role", role] if role else []), cwd=project)["n"]
        queue(world, "approve", n)
    assert queue(world, "claim", "--role", "smith", as_="w1")["text"] == "b"
    assert queue(world, "claim", as_="w2")["text"] == "c", "without a role only what anybody may do"
    assert world.hookd("queue", "claim", "--as", "w2", ok=False).stdout == b"no work waits for you\n"


def test_no_two_agents_claim_the_same(world, project):
    for i in range(20):
        queue(world, "approve", queue(world, "add", f"piece {i}", cwd=project)["n"])
    got = []
    in_threads(40, lambda i: got.append(world.json("queue", "claim", "--as", f"w{i}", "--json")))
    claimed = [k["n"] for k in got if k]
    assert sorted(claimed) == list(range(1, 21)) and len(set(k["claimed_by"] for k in got if k)) == 20


def test_a_claim_survives_a_kill_and_is_released(world, project):
    queue(world, "add", "x", cwd=project)
    queue(world, "approve", 1)
    queue(world, "claim", as_="w1")
    world.kill()
    world.start()
    assert states(world) == {1: "claimed"}
    assert queue(world, "release", 1, as_="w1")["state"] == "delegated"
    assert queue(world, "claim", 1, as_="w2")["claimed_by"] == "w2"
    queue(world, "drop", 1)
    assert states(world, "--all") == {1: "dropped"}


def test_a_person_releases_what_an_agent_that_is_gone_has_claimed(world, project):
    queue(world, "add", "x", cwd=project)
    queue(world, "approve", 1)
    queue(world, "claim", as_="w1")
    assert "claimed by w1" in queue(world, "release", 1, as_="w2", ok=False)
    done = world.hookd("queue", "release", 1, owner=False, ok=False)
    assert done.returncode != 0 and b"for the owner" in done.stderr
    with world.connect() as s:
        s.sendall(b'{"jsonrpc":"2.0","id":1,"method":"work.release","params":{"work":1}}\n')
        assert b"it is not known who asks" in s.recv(65536)
    assert states(world) == {1: "claimed"}
    got = queue(world, "release", 1)
    assert got["state"] == "delegated" and "claimed_by" not in got
    assert "work 1 is 'delegated', not 'claimed'" in queue(world, "release", 1, ok=False)


def test_a_claim_ends_with_the_session_of_its_agent(world, project):
    """Not with /clear, not with a program that the agent ran, and not once more when the session is folded again."""
    for _ in range(2):
        queue(world, "approve", queue(world, "add", "x", cwd=project)["n"])
    w1, inner = (Agent(world, project, env={"AGENT_ID": "w1"}) for _ in range(2))
    w1.start()
    queue(world, "claim", as_="w1")
    queue(world, "claim", as_="other")
    inner.start()
    inner.end()
    assert states(world) == {1: "claimed", 2: "claimed"}
    w1.end("clear")
    again = Agent(world, project, env={"AGENT_ID": "w1"})
    again.start("clear")
    assert states(world) == {1: "claimed", 2: "claimed"}
    p = coming(world, "boss")
    until_it_waits(world)
    again.end()
    got, code = said(p)
    assert (got["kind"], got["work"]["n"], code) == ("WORK", 1, 0), "whoever waits for work is woken"
    assert states(world) == {1: "claimed", 2: "claimed"}
    before = queue(world)
    world.hookd("db", "rebuild")
    wait_for(lambda: not world.json("db", "rebuild", "--dry-run", "--json")["left"], what="the rebuild")
    assert queue(world) == before


def test_under_a_supervisor_a_claim_outlives_the_session(world, project):
    queue(world, "approve", queue(world, "add", "x", cwd=project)["n"])
    w1 = Agent(world, project, env={"AGENT_ID": "w1", "HOOKD_WATCH": "w-1"})
    w1.start()
    queue(world, "claim", as_="w1")
    w1.end()
    assert states(world) == {1: "claimed"}


def test_children_first_error_before_attention_before_done_then_work(world, project):
    queue(world, "add", "x", cwd=project)
    queue(world, "approve", 1)
    a, b, c, other = (child(world, project, n, parent=p) for n, p in (("a", "boss"), ("b", "boss"), ("c", "boss"), ("o", "else")))
    a.say("Stop", stop_hook_active=False)
    b.say("PermissionRequest", tool_name="Bash", tool_input={"command": "ls"})
    c.say("StopFailure", error="server_error")
    other.say("Stop", stop_hook_active=False)
    order = []
    for _ in range(4):
        got, code = said(coming(world, "boss"))
        assert code == 0
        order.append((got["kind"], got["agent"]["agent"] if got["kind"] == "CHILD" else got["work"]["text"]))
    assert order == [("CHILD", "c"), ("CHILD", "b"), ("CHILD", "a"), ("WORK", "x")]
    assert said(coming(world, "boss", "--timeout", "1")) == ({"kind": "TIMEOUT"}, 1)


def test_a_coordinator_waits_for_a_child_or_for_work(world, project):
    a = child(world, project, "a")
    p = coming(world, "boss")
    until_it_waits(world)
    a.say("Stop", stop_hook_active=False)
    assert said(p)[0]["agent"]["agent"] == "a"
    queue(world, "add", "later", cwd=project)
    p = coming(world, "boss")
    until_it_waits(world)
    assert p.poll() is None
    queue(world, "approve", 1)
    got, code = said(p)
    assert (got["kind"], got["work"]["claimed_by"], code) == ("WORK", "boss", 0)


def test_mistakes(world, project):
    world.start()
    assert "there is no work '7'" in queue(world, "done", 7, as_="w1", ok=False)
    assert world.hookd("queue", "next", ok=False).returncode == 64
    assert "it is not known who asks" in queue(world, "claim", ok=False)
    queue(world, "add", "x", cwd=project)
    assert "work 1 is 'needs', not 'claimed'" in queue(world, "done", 1, as_="w1", ok=False)
    queue(world, "approve", 1)
    assert "work 1 is 'delegated', not 'needs'" in queue(world, "approve", 1, ok=False)
    assert "'text' has" in queue(world, "add", "x" * 5000, ok=False)


def test_purging_a_text_takes_work_with_it(world, project):
    queue(world, "add", "hide the xylophone", cwd=project)
    queue(world, "add", "keep this", cwd=project)
    world.hookd("purge", "--match", "xylophone", "--yes")
    assert states(world, "--all") == {2: "needs"}
    world.stop()
    assert not [p for p in world.contains(b"xylophone")]

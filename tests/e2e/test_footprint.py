"""What the daemon keeps in memory for each of many sessions."""
import json

import world as w

SESSIONS, EACH_KB = 300, 16


def anonymous_kb(pid):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("RssAnon"))


def begin_sessions(world, name, n, folder):
    with world.connect() as s:
        for i in range(n):
            cwd = world.top / folder(i)
            (cwd / ".git").mkdir(parents=True, exist_ok=True)
            event = w.payload("SessionStart", f"{name}-{i}", source="startup", cwd=str(cwd))
            s.sendall(w.hook(json.dumps(event).encode(), event=b"SessionStart"))
            while w.read_frame(s)[0] != w.DONE:
                pass
    world.rpc("sessions", limit=1)
    return anonymous_kb(world.pid())


def test_a_session_costs_little_whether_it_has_a_project_of_its_own_or_not(world):
    """Each used to keep the tree its project's hooks were looked for in: some 36 KB."""
    (world.dir / "config.json").write_text(json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}))
    world.start()
    first = begin_sessions(world, "warm", 100, lambda i: "one")
    shared = begin_sessions(world, "same", SESSIONS, lambda i: "one")
    assert shared - first < SESSIONS * EACH_KB // 2
    alone = begin_sessions(world, "own", SESSIONS, lambda i: f"p{i}")
    assert alone - shared < SESSIONS * EACH_KB

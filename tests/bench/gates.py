"""What an effort costs before a tool: two daemons get the same calls, in turns; in one of them the session works on an effort with every
gate and a rule switched on. Compared is the CPU of the loop."""
import json
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "e2e"))

import world as w  # noqa: E402

ROUNDS, CALLS = 15, 600
# As in bench.GOALS.
GOALS = {"effort_us": ("CPU of the loop before a tool, more with an effort", "µs", 30, False)}
METADATA = {"gates": {"heartbeat": {"block": 1000}, "overflow": True, "directives": True},
            "rules": [{"ruleId": "r", "condition": {"field": "heartbeat", "op": "gte", "value": 1000}, "payload": "x"}]}


class Side:
    def __init__(self, build, has_effort):
        self.world, self.n, self.took, self.has_effort = w.World(build=build), 0, [], has_effort
        self.project = self.world.top / "p"
        self.project.mkdir()
        self.world.start()
        if has_effort:
            self.world.hookd("effort", "start", "bench", "--metadata", json.dumps(METADATA), cwd=self.project)
        self.socket = self.world.connect()
        self.send(w.payload("SessionStart", "bench", cwd=str(self.project), source="startup"), "SessionStart")
        self.calls(200)

    def send(self, payload, event):
        self.socket.sendall(w.hook(json.dumps(payload).encode(), event=event.encode()))
        while (got := w.read_frame(self.socket))[0] != w.DONE:
            pass
        return got

    def calls(self, n):
        for _ in range(n):
            self.n += 1
            got = self.send(w.payload("PreToolUse", "bench", cwd=str(self.project), tool_name="Read", tool_use_id=f"t{self.n}",
                                      tool_input={"file_path": str(self.project / "src/a.c")}), "PreToolUse")
            assert not got[3], got  # nothing is said, nothing denied

    def round(self):
        if self.has_effort:
            # The heartbeat begins again.
            self.send(w.payload("PreToolUse", "bench", cwd=str(self.project), tool_name="Bash", tool_use_id=f"log{self.n}",
                                tool_input={"command": "hookd effort log 'so far'"}), "PreToolUse")
            self.world.hookd("effort", "log", "so far", cwd=self.project, env={"CLAUDE_CODE_SESSION_ID": "bench"})
        before = self.world.status()["cpu"]["loop_us"]
        self.calls(CALLS)
        self.took.append((self.world.status()["cpu"]["loop_us"] - before) / CALLS)


def measure(bench):
    sides = [Side(bench.build, False), Side(bench.build, True)]
    try:
        for _ in range(3 if bench.quick else ROUNDS):
            for side in sides:
                side.round()
        without, having = (statistics.median(s.took) for s in sides)
        bench.values["effort_us"] = having - without
        bench.detail["effort"] = {"loop_us_without": without, "loop_us_with": having, "rounds": len(sides[0].took), "calls": CALLS}
    finally:
        for side in sides:
            side.world.close()

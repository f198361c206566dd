#!/usr/bin/env python3
"""Kills hookd while it learns, with a model on loopback, and compares what was learned.

    learn.py --build build --kills 20          the part inside make test
    learn.py --build build --kills 200         by hand

The same turns are told twice: to a daemon that is left alone, and to one that is killed -9 at random moments: while it
folds, while rules look at a turn, in the middle of a question to the model, while results are stored. Memories, classes,
titles and summaries must be the same in the end, no job may be left over or given up, and each kill may have repeated
one question at most. The seed is printed; --seed repeats a run's choices (the scheduler's are its own)."""
import argparse
import json
import os
import pathlib
import random
import signal
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
import models  # noqa: E402
import world as w  # noqa: E402

WORDS = ("anchor basket candle dragon engine falcon garden hammer island jacket kettle ladder magnet needle orchard "
         "pepper quarry ribbon saddle temple umbrella velvet window yellow zipper almond bridge copper desert ember "
         "forest guitar harbor indigo jungle kernel lemon marble nickel oyster pillow quartz rocket silver timber").split()
PATIENCE = 240


class Teacher(models.Model):
    """Answers what follows from the question alone, after a moment in which a kill may come."""

    def __init__(self, rng):
        super().__init__(how="teach")
        self.rng = rng

    def teach(self, h):
        user = self.asked[-1]["body"]["messages"][-1]["content"]
        asked = json.loads(user[user.index("{"):user.rindex("}") + 1])
        self.closing.wait(self.rng.uniform(0, 0.15))
        if "turns" in asked:
            first = asked["turns"][0]["prompt"]
            self.text = json.dumps({"title": "About " + first[:40], "summary": "It was about this: " + first[:80]})
        else:
            words = asked["prompt"].split(":")[1].split()
            self.text = json.dumps({"class": "debugging", "observations": [
                {"type": "gotcha", "text": "A model found that " + " ".join(words[:6]) + ".", "file": "src/a.c", "importance": 6}]})
        self.good(h)


class Turn:
    def __init__(self, n, rng):
        self.session, self.last = f"s{n // 3}", n % 3 == 2
        self.first = n % 3 == 0
        self.words = " ".join(rng.sample(WORDS, 6))
        self.cause = " ".join(rng.sample(WORDS, 6))
        self.commit = " ".join(rng.sample(WORDS, 5))

    def events(self, project):
        """What hooks tell of it, in order."""
        def call(n, tool, fields, result):
            about = {"tool_name": tool, "tool_use_id": f"{self.words[:20]}{n}", "tool_input": fields}
            return [("PreToolUse", about), ("PostToolUse", {**about, "tool_response": result})]
        file = {"file_path": str(project / "src/a.c")}
        return ([("SessionStart", {"source": "startup"})] if self.first else []) + \
            [("UserPromptSubmit", {"prompt": f"We always say: {self.words}"})] + \
            call(1, "Read", file, {"type": "text"}) + call(2, "Read", file, {"type": "text"}) + \
            call(3, "Edit", {**file, "old_string": "a", "new_string": "b"}, {"filePath": "x"}) + \
            call(4, "Bash", {"command": f'git commit -m "{self.commit}"'}, {"stdout": "ok"}) + \
            [("Stop", {"last_assistant_message": f"The root cause was {self.cause} all the time."})] + \
            ([("SessionEnd", {"reason": "exit"})] if self.last else [])


def tell(world, project, turn):
    for event, fields in turn.events(project):
        done = world.hookc(event, {"session_id": turn.session, "cwd": str(project), "hook_event_name": event, **fields})
        assert done.returncode == 0, done.stderr


def ask(world, *args):
    """A reader's answer, or None: the daemon may just have been killed."""
    done = world.hookd(*args, "--json", ok=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def is_done(world):
    told = ask(world, "jobs", "-n", "1000")
    return told is not None and not [j for j in told["jobs"] if j["state"] == "waiting"]


def kill(world, rng):
    """Somebody asks, so what was told is folded at once and looked at; then, some moment later, the end."""
    ask(world, "jobs")
    time.sleep(rng.choice((0, rng.uniform(0, 0.02), rng.uniform(0, 0.3))))
    pid = world.pid()
    if pid and w.alive(pid):
        os.kill(pid, signal.SIGKILL)
        w.wait_for(lambda: not w.alive(pid), what="the daemon to be gone")
        return 1
    return 0


def result(world):
    """Everything that was learned, without names and times that differ from run to run."""
    memories = sorted((m["type"], m["text"], m["trust"], m["origin"], m["status"], m.get("file"), m["importance"], m.get("session"))
                      for m in ask(world, "memories", "-n", "10000")["memories"])
    sessions = {}
    for s in ask(world, "sessions", "-n", "1000")["sessions"]:
        classes = [b.get("class") for b in json.loads(world.hookd("show", s["id"], "--json").stdout)["batches"]]
        sessions[s["id"]] = (s["title"], s.get("summary"), s.get("origin"), classes)
    return memories, sessions


def learn(build, turns, kills, rng):
    """Tells all turns; returns what was learned, and how many questions the model was asked."""
    teacher = Teacher(random.Random(rng.random()))
    world = w.World(build=pathlib.Path(build).resolve())
    (world.dir / "config.json").write_text(json.dumps(teacher.options(budget=100000000)))
    project = world.top / "project"
    (project / ".git").mkdir(parents=True)
    killed = 0
    try:
        for i, turn in enumerate(turns):
            tell(world, project, turn)
            while killed < kills * (i + 1) // len(turns):
                killed += kill(world, rng)
        w.wait_for(lambda: is_done(world), seconds=PATIENCE, what="everything to be learned")
        dead = [j for j in ask(world, "jobs", "-n", "1000")["jobs"] if j["state"] == "dead"]
        assert not dead, dead
        return result(world), len(teacher.asked), killed
    finally:
        world.close()
        teacher.close()


def compare(expected, found):
    for what, a, b in zip(("memories", "sessions"), expected, found):
        if a != b:
            print(f"{what} differ:")
            a, b = (list(x.items()) if isinstance(x, dict) else x for x in (a, b))
            for row in a:
                if row not in b:
                    print("  missing:", row)
            for row in b:
                if row not in a:
                    print("  too much:", row)
    return expected == found


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--kills", type=int, default=20)
    p.add_argument("--turns", type=int, default=0, help="default: half as many as kills")
    p.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    args = p.parse_args()
    rng = random.Random(args.seed)
    n = -(-(args.turns or max(args.kills // 2, 6)) // 3) * 3
    turns = [Turn(i, rng) for i in range(n)]
    print(f"seed {args.seed}: {n} turns, {args.kills} kills", flush=True)
    expected, asked, _ = learn(args.build, turns, 0, rng)
    found, asked_again, killed = learn(args.build, turns, args.kills, rng)
    same = compare(expected, found)
    print(f"{len(expected[0])} memories and {len(expected[1])} summaries without kills; with {killed} kills "
          f"{'the same' if same else 'OTHERS'}; questions: {asked}, with kills {asked_again}")
    few = asked <= asked_again <= asked + killed
    if not few:
        print("too many questions" if asked_again > asked else "too few questions")
    return 0 if same and few and len(expected[0]) == 4 * n else 1


if __name__ == "__main__":
    sys.exit(main())

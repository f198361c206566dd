#!/usr/bin/env python3
"""Kills hookd while it delivers to a receiver that fails now and then, and compares what arrived with what was told.

    deliver.py --build build --kills 20          the part inside make test
    deliver.py --build build --kills 200         the part inside make crash

Several sessions tell their events through hookc while the receiver answers, refuses for the moment, hangs up, answers with
garbage, or takes a delivery without saying so; again and again the daemon is killed -9 at a random moment: before the fold,
between commit and delivery, in the middle of a request, before its end is stored. In the end everything that was told must
have arrived, in the order of its session, and whatever arrived twice must be the same bytes under the same key. The seed is
printed; --seed repeats a run's choices (the scheduler's are its own)."""
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
import receiver as rc  # noqa: E402
import world as w  # noqa: E402

SESSIONS = 8
PATIENCE = 600
KINDS = ("prompt", "stop", "notification")
HOOKS = {"prompt": "UserPromptSubmit", "stop": "Stop", "notification": "Notification"}


class Story:
    """What each session tells, in order; every event has a number that comes back in the body."""

    def __init__(self, rng):
        self.rng, self.told = rng, {}

    def tell(self, world):
        session = f"session-{self.rng.randrange(SESSIONS)}"
        mine = self.told.setdefault(session, [])
        kind = KINDS[len(mine) % len(KINDS)]
        text = f"{session} says {len(mine)}"
        fields = {"prompt": {"prompt": text}, "stop": {"last_assistant_message": text},
                  "notification": {"message": text, "notification_type": "idle_prompt"}}[kind]
        done = world.hookc(HOOKS[kind], w.payload(HOOKS[kind], session=session, **fields))
        assert done.returncode == 0, done.stderr
        mine.append((kind, text))


def text_of(body):
    data = body["data"]
    return {"prompt": data.get("prompt"), "stop": data.get("answer"), "notification": data.get("message")}[body["event_type"]]


def jobs(world, state):
    done = world.hookd("jobs", "--json", "--kind", "deliver", "--state", state, "-n", "10000", ok=False)
    return json.loads(done.stdout)["jobs"] if done.returncode == 0 else None


def kill(world, rng):
    time.sleep(rng.choice((0, rng.uniform(0, 0.02), rng.uniform(0, 0.3))))
    pid = world.pid()
    if pid and w.alive(pid):
        os.kill(pid, signal.SIGKILL)
        w.wait_for(lambda: not w.alive(pid), what="the daemon to be gone")
        return 1
    return 0


def same_again(got):
    """Everything that came twice was the same."""
    seen, wrong = {}, 0
    for g in got:
        what = (g["headers"]["Idempotency-Key"], g["raw"])
        wrong += seen.setdefault(g["body"]["event_id"], what) != what
    return len(got) - len(seen), wrong, len({key for key, _ in seen.values()}) == len(seen)


def check(story, receiver, given_up):
    """Per session: what arrived for the first time, in its order, and what the sender knows to have arrived."""
    arrived, known, keys = {}, set(), set()
    for g in receiver.got:
        body = g["body"]
        session, what = body["data"]["session_id"], (body["event_type"], text_of(body))
        if g["how"] in receiver.ACCEPTS:
            known.add((session, what))
        if body["event_id"] not in keys:
            keys.add(body["event_id"])
            arrived.setdefault(session, []).append(what)
    lost = [(s, what) for s, mine in story.told.items() for what in mine if (s, what) not in known]
    disordered = [s for s, mine in story.told.items() if s not in given_up and arrived.get(s) != mine]
    for s in disordered:
        print(s, "told", story.told[s], "arrived", arrived.get(s))
    return lost, disordered


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--kills", type=int, default=20)
    p.add_argument("--events", type=int, default=0, help="default: three for each kill")
    p.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    args = p.parse_args()
    rng = random.Random(args.seed)
    print(f"seed {args.seed}: {args.kills} kills", flush=True)
    receiver = rc.Receiver("flaky", seed=rng.random())
    world = w.World(build=pathlib.Path(args.build).resolve())
    (world.dir / "config.json").write_text(json.dumps({"sinks": [receiver.sink(timeout=5)]}))
    story, killed, n = Story(rng), 0, args.events or 3 * args.kills
    try:
        for i in range(n):
            story.tell(world)
            while killed < args.kills * (i + 1) // n:
                killed += kill(world, rng)
        receiver.how = "ok"
        w.wait_for(lambda: jobs(world, "waiting") == [], seconds=PATIENCE, what="everything to be delivered")
        # A delivery may have met with ten failures: it waits for a person, and loses its place.
        dead = jobs(world, "dead")
        given_up = {j["session"] for j in dead}
        if dead:
            world.hookd("jobs", "retry")
            w.wait_for(lambda: jobs(world, "waiting") == [], seconds=PATIENCE, what="what was given up to be delivered")
        lost, disordered = check(story, receiver, given_up)
        again, wrong, own_keys = same_again(receiver.got)
        bad = sum(g["how"] not in receiver.ACCEPTS for g in receiver.got)
        print(f"{n} events, {killed} kills: {len(receiver.got)} requests, {bad} of them failed, {again} repeated, {wrong} of those "
              f"changed, {len(lost)} events lost, {len(disordered)} sessions out of order, {len(dead)} given up for a while")
        if lost:
            print("lost:", lost[:20])
        return 1 if lost or disordered or wrong or not own_keys else 0
    finally:
        world.close()
        receiver.close()


if __name__ == "__main__":
    sys.exit(main())

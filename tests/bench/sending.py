"""What goes out: how soon, and what a sink that is down costs.

How soon: single events through hookc to a receiver on loopback, from the moment in the event to the moment of its arrival. What
it costs: two daemons get the same 10,000 events, one has a sink that refuses connections and wants each of them; then their memory
is compared, and hookc runs against both in turns."""
import json
import pathlib
import socket
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "e2e"))

import cost  # noqa: memory
import receiver as rc  # noqa: the receiver of the end-to-end tests
import world  # noqa: payloads

QUEUED = 10000
# As in bench.GOALS.
GOALS = {
    "delivery_ms": ("event to delivery, median", "ms", 50, False),
    "queued_mb": ("memory for 10,000 events that wait for a sink", "MB", 2, False),
    "queued_hookc": ("hookc beside a sink that is down, to none", "×", 1.15, False),
}


def configure(place, *sinks, **options):
    (place.dir / "d/config.json").write_text(json.dumps({**options, "sinks": list(sinks)}))


def tell(place, text):
    told = world.payload("Notification", session="session-0123456789012", message=text, notification_type="idle_prompt")
    done = subprocess.run([str(place.hookc), "claude", "Notification"], input=json.dumps(told).encode(), env=place.env, cwd=place.dir,
                          capture_output=True, timeout=10, check=False)
    return done.returncode == 0


def delivery(bench):
    n = 40 if bench.quick else 300
    receiver, lags = rc.Receiver(), {}
    try:
        with bench.place() as p:
            configure(p, receiver.sink())
            p.start()
            for i in range(n):
                began = time.time()
                if not tell(p, str(i)):
                    raise bench.Unmeasured("hookc exited with an error")
                lags[str(i)] = began
                time.sleep(0.05)
            world.wait_for(lambda: len(receiver.got) >= n, seconds=30, what="all deliveries")
            took = sorted(1000 * (g["at"] - lags[g["body"]["data"]["message"]]) for g in receiver.got)
            bench.values["delivery_ms"] = statistics.median(took)
            bench.detail["delivery"] = {"n": n, "p50_ms": statistics.median(took), "p95_ms": took[int(n * 0.95)], "worst_ms": took[-1]}
    finally:
        receiver.close()


def closed_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def waiting(bench, place):
    sinks = json.loads(bench.run([place.hookd, "sinks", "--json"], place.env, 30))["sinks"]
    return sinks[0]["waiting"]


def compare_memory(bench, down, without):
    """Both have the same events; the difference is what waits."""
    for place in (down, without):
        place.start()
        place.load("-m", "keep", "-c", 8, "-n", QUEUED)
        place.wait_folded()
    queued = waiting(bench, down)
    if queued < QUEUED:
        raise bench.Unmeasured(f"only {queued} of {QUEUED} wait")
    time.sleep(3)
    own = [cost.memory(p.daemon.pid)[1] for p in (down, without)]
    bench.detail["queued"] = {"waiting": queued, "anonymous_mb": [m / 1e6 for m in own]}
    return (own[0] - own[1]) / 1e6


def queue(bench):
    runs = 100 if bench.quick else 600
    with bench.place() as down, bench.place() as without:
        configure(down, {"name": "team", "type": "webhook", "url": f"http://127.0.0.1:{closed_port()}/", "events": ["PostToolUse"]},
                  outbox={"max": 4 * QUEUED})
        configure(without)
        bench.values["queued_mb"] = compare_memory(bench, down, without)
        argv = [bench.tools.spawn, "-n", runs, "-w", 20, "-t", 60, "-i", down.payload]
        for label, place in (("down", down), ("without", without)):
            argv += ["--", label, place.hookc, "--dir", place.dir / "d", "claude", "PostToolUse"]
        # Three times: the middle one counts, because a neighbour's minute is not ours.
        tries = [json.loads(bench.run(argv, down.env, 120)) for _ in range(1 if bench.quick else 3)]
        if any(t[which]["failed"] for t in tries for which in ("down", "without")):
            raise bench.Unmeasured("hookc exited with an error")
        ratios = [t["down"]["wall_us"]["median"] / t["without"]["wall_us"]["median"] for t in tries]
        bench.detail["queued_hookc"] = {"ratios": ratios, "last": tries[-1]}
        bench.values["queued_hookc"] = statistics.median(ratios)


def measure(bench):
    for part, names in ((delivery, ("delivery_ms",)), (queue, ("queued_mb", "queued_hookc"))):
        def run(part=part):
            part(bench)
        run.__name__ = part.__name__
        bench.part(run, *names)

"""What a language model that misbehaves costs an agent that does not wait for it.

Two daemons get the same events, fifty a second, for each of which a prompt hook would ask a model; nobody waits for the
answer. One has a model, which is silent, slow, refuses or floods; the other has none. Beside that hookc runs against
both in turns, and its medians are compared."""
import json
import pathlib
import socket
import statistics
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "e2e"))

import models  # noqa: the model of the end-to-end tests
import world   # noqa: frames

HOW = {"silent": "silent", "slow": "slow", "refusing": "refuses", "flooding": "floods"}
# As in bench.GOALS.
GOALS = {f"model_{name}": (f"hookc beside a {name} model, to none", "×", 1.15, False) for name in HOW}
EVENTS_PER_SECOND = 50


def configure(place, model):
    hooks = {"PreToolUse": [{"hooks": [{"type": "prompt", "prompt": "Is $COMMAND safe?", "async": True,
                                        "timeout": 600}]}]}
    told = model.options(timeout_s=600, budget=10 ** 9) if model else {}
    (place.dir / "d/config.json").write_text(json.dumps({**told, "hooks": hooks}))


def press(place, end):
    """Events that ask, until the end."""
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(str(place.socket))
        n = 0
        while not end.wait(1 / EVENTS_PER_SECOND):
            n += 1
            call = world.payload("PreToolUse", tool_name="Bash", tool_use_id=f"t{n}", tool_input={"command": f"ls {n}"})
            s.sendall(world.hook(json.dumps(call).encode(), event=b"PreToolUse"))
            while world.read_frame(s)[0] == world.WAIT:
                pass


def compare(bench, how, runs):
    """The ratio of the medians, what was spawned, and the model's own count."""
    model, end, threads = models.Model(how), threading.Event(), []
    try:
        with bench.place() as with_one, bench.place() as without:
            for place, told in ((with_one, model), (without, None)):
                configure(place, told)
                place.start()
                threads.append(threading.Thread(target=press, args=(place, end)))
                threads[-1].start()
            if not wait(lambda: model.asked):
                raise bench.Unmeasured("the model was never asked")
            if how in ("silent", "slow"):  # those who fail are left alone soon: their first moments count
                wait(lambda: json.loads(bench.run([with_one.hookd, "status", "--json"], with_one.env, 10))["model"]["waiting"] > 50)
            argv = [bench.tools.spawn, "-n", runs, "-w", 20, "-t", 60, "-i", with_one.payload]
            for label, place in (("with", with_one), ("without", without)):
                argv += ["--", label, place.hookc, "--dir", place.dir / "d", "claude", "PostToolUse"]
            out = json.loads(bench.run(argv, with_one.env, 120))
            end.set()
            for t in threads:
                t.join()
            health = json.loads(bench.run([with_one.hookd, "status", "--json"], with_one.env, 10))["model"]
            if out["with"]["failed"] or out["without"]["failed"]:
                raise bench.Unmeasured("hookc exited with an error")
            return out["with"]["wall_us"]["median"] / out["without"]["wall_us"]["median"], out, health
    finally:
        end.set()
        model.close()


def wait(condition, seconds=10):
    try:
        return world.wait_for(condition, seconds)
    except AssertionError:
        return None


def measure(bench):
    """Three times each; the middle one counts, because a neighbour's minute is not ours."""
    runs = 100 if bench.quick else 1000
    for name, how in HOW.items():
        def part(name=name, how=how):
            tries = [compare(bench, how, runs) for _ in range(1 if bench.quick else 3)]
            bench.values[f"model_{name}"] = statistics.median(t[0] for t in tries)
            bench.detail[f"model_{name}"] = [{"ratio": t[0], "health": t[2]} for t in tries]
        part.__name__ = f"{name}_model"
        bench.part(part, f"model_{name}")

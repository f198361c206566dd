#!/usr/bin/python3
"""Measures hookd against its goals: make bench, or tests/bench/bench.py --build DIR [--quick].

A shared or busy machine spoils absolute times, so the client is judged by its ratio to `floor` (the
least a client can do, run in turns with it), and the daemon by CPU time and by bursts long enough
to average. Nothing is asserted: the table says ok or missed, DIR/bench.json holds every figure. The
exit code is 1 only when something could not be measured.

Each part gets a daemon of its own in a private directory; it is stopped when the part ends."""

import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import asking
import cost
import gates
import sending
import ways

HERE = pathlib.Path(__file__).resolve().parent
SRC = HERE.parent.parent / "src/common"

# Where `hookd status --json` says what.
KEYS = {
    "unfolded": "journal.unfolded_records",
    "loop_us": "cpu.loop_us",
    "writer_us": "cpu.writer_us",
    "total_us": "cpu.total_us",
    "rss": "rss_bytes",
    "received": "events_received",
}
SOCKETS = ("run/hookd.sock", "hookd.sock", "state/run/hookd.sock")  # below HOOKD_DIR

# name: (title, unit, goal, True when more is better)
GOALS = {
    "hookc_ratio": ("hookc, median over floor", "×", 1.5, False),
    "hookc_bytes": ("size of hookc", "bytes", 32768, False),
    "fresh": ("acknowledged, a connection per event", "/s", 8000, True),
    "keep": ("acknowledged, persistent connections", "/s", 10000, True),
    "folded": ("folded into the store", "/s", 4000, True),
    "loop_cpu": ("CPU of the loop per event", "µs", 30, False),
    "daemon_cpu": ("CPU of the daemon per event", "µs", 100, False),
    "trickle_kb": ("written per event at one a second", "KB", 24, False),
    "burst_times": ("written in bursts, to the bytes of payload", "×", 3, False),
    "store_times": ("store, to the bytes of recorded payloads", "×", 0.7, False),
    "rss_idle": ("memory, idle (resident)", "MB", 7, False),
    "rss_10k": ("memory after 10,000 events (resident)", "MB", 14, False),
    "cold_start": ("start to first answer, existing store", "ms", 50, False),
    **ways.GOALS,
    **asking.GOALS,
    **sending.GOALS,
    **gates.GOALS,
}

MB = 1000 * 1000


class Unmeasured(Exception):
    """Why a figure is missing."""


def run(argv, env=None, seconds=60, input=None):
    """A program's stdout; Unmeasured when it fails or takes too long."""
    try:
        p = subprocess.run([str(a) for a in argv], env=env, input=input, timeout=seconds,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except subprocess.TimeoutExpired:
        raise Unmeasured(f"{argv[0]} took longer than {seconds} s") from None
    except OSError as e:
        raise Unmeasured(f"{argv[0]}: {e.strerror}") from None
    if p.returncode != 0:
        said = (p.stderr or p.stdout).decode(errors="replace").strip().splitlines()
        raise Unmeasured(f"{pathlib.Path(str(argv[0])).name} {argv[1] if len(argv) > 1 else ''}"
                         f" exited with {p.returncode}: {said[-1] if said else 'no message'}")
    return p.stdout.decode(errors="replace")


class Tools:
    """Our own small programs, compiled when their source is newer."""

    WIRE = ["wire/frame.c", "base/sha256.c", "base/str.c", "base/ulid.c"]
    SOURCES = {"spawn": [], "floor": [], "echo": WIRE, "load": WIRE, "http_load": []}
    COMMON = ["-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wno-unused-parameter", "-I", SRC]
    # As hookc is built: the floor shall not win or lose by its flags.
    LIKE_HOOKC = ["-Os", "-static", "-s", "-fno-stack-protector", "-fno-asynchronous-unwind-tables",
                  "-ffunction-sections", "-fdata-sections", "-fno-pie", "-no-pie",
                  "-Wl,--gc-sections", "-Wl,--build-id=none", "-Wl,-z,norelro"]

    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, more in self.SOURCES.items():
            sources = [HERE / f"{name}.c", *(SRC / m for m in more)]
            program = folder / name
            setattr(self, name, program)
            newest = max(s.stat().st_mtime for s in [*sources, SRC / "wire/wire.h"])
            if program.exists() and program.stat().st_mtime > newest:
                continue
            cc = ["musl-gcc", *self.LIKE_HOOKC] if name == "floor" else ["gcc", "-O2"]
            run([*cc, *self.COMMON, "-o", program, *sources], env=dict(os.environ), seconds=120)


class Place:
    """A private HOOKD_DIR (short: a socket's path ends at 107 bytes) and what runs in it."""

    def __init__(self, build, tools):
        self.hookd, self.hookc, self.tools = build / "hookd", build / "hookc", tools
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="hkb", dir="/tmp"))
        self.home = self.dir / "home"
        self.home.mkdir()
        self.env = {"HOOKD_DIR": str(self.dir / "d"), "HOME": str(self.home), "LANG": "C.UTF-8",
                    "PATH": "/usr/local/bin:/usr/bin:/bin", "NO_COLOR": "1"}
        (self.dir / "d").mkdir(mode=0o700)
        (self.dir / "d/places").write_text(f"home={self.home}\n")  # the daemon does not ask HOME
        self.payload = self.dir / "payload.json"
        self.payload.write_text(run([tools.load, "-p"]))
        self.children = []
        self.daemon = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        for p in self.children:
            p.kill()
            p.wait()
        # hookc starts a daemon of its own when it finds none; that one is ended by its owner.
        with contextlib.suppress(Unmeasured):
            run([self.hookd, "stop"], self.env, 10)
        shutil.rmtree(self.dir, ignore_errors=True)

    def child(self, *argv):
        p = subprocess.Popen([str(a) for a in argv], env=self.env, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             cwd=self.dir, start_new_session=True)
        self.children.append(p)
        return p

    def server(self, dialect):
        """A running `echo`; returns its socket."""
        path = self.dir / (dialect + ".sock")
        self.child(self.tools.echo, dialect, path)
        end = time.monotonic() + 5
        while not path.exists():
            if time.monotonic() > end:
                raise Unmeasured(f"echo {dialect} did not start")
            time.sleep(0.01)
        return path

    # -- the daemon ----------------------------------------------------------------------------

    @property
    def socket(self):
        for name in SOCKETS:
            path = pathlib.Path(self.env["HOOKD_DIR"], name)
            if path.exists():
                return path
        return pathlib.Path(self.env["HOOKD_DIR"], SOCKETS[0])

    def start(self):
        """Starts the daemon and sends one event; returns the seconds until its answer."""
        socket, log = self.socket, self.dir / "daemon.log"
        began = time.monotonic()
        with open(log, "ab") as out:
            self.daemon = subprocess.Popen(
                [str(self.hookd), "run", "--foreground"], env=self.env, stdin=subprocess.DEVNULL,
                stdout=out, stderr=out, cwd=self.dir, start_new_session=True)
        try:
            first = json.loads(run([self.tools.load, "-r", "-n", 1, "-c", 1, "-t", 10, socket],
                                   self.env, 15))
        except Unmeasured:
            first = {"acked": 0}
        if first["acked"] != 1:
            said = log.read_text(errors="replace").strip().splitlines()
            raise Unmeasured("the daemon did not answer within 10 s" +
                             (f"; it said: {said[-1]}" if said else ""))
        return first["first_mono_us"] / 1e6 - began

    def stop(self):
        if not self.daemon:
            return
        self.daemon.send_signal(signal.SIGTERM)
        try:
            self.daemon.wait(10)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
            self.daemon.wait()
        self.daemon = None

    def status(self):
        """The values of KEYS; one that is missing is None."""
        value = json.loads(run([self.hookd, "status", "--json"], self.env, 10))

        def dig(path):
            at = value
            for part in path.split("."):
                at = at.get(part) if isinstance(at, dict) else None
            return at

        return {name: dig(path) for name, path in KEYS.items()}

    def wait_folded(self, seconds=120):
        """Waits until nothing is left to fold; returns the monotonic time when that was seen."""
        end = time.monotonic() + seconds
        run([self.hookd, "rpc", "sessions", '{"limit": 1}'], self.env, seconds)  # whoever reads has everything folded first
        while True:
            left = self.status()["unfolded"]
            if left is None:
                raise Unmeasured(f"status has no {KEYS['unfolded']}")
            if left == 0:
                return time.monotonic()
            if time.monotonic() > end:
                raise Unmeasured(f"{left} records were still not folded after {seconds} s")
            time.sleep(0.05)

    def proc_cpu_us(self):
        """CPU time of the daemon by the kernel's own count: whole, and by thread name."""
        threads, whole = {}, 0.0
        base = pathlib.Path(f"/proc/{self.daemon.pid}")
        for task in (base / "task").iterdir():
            with contextlib.suppress(OSError):
                us = int((task / "schedstat").read_text().split()[0]) / 1000
                name = (task / "comm").read_text().strip()
                threads[name] = threads.get(name, 0) + us
        fields = (base / "stat").read_text().rpartition(")")[2].split()
        whole = (int(fields[11]) + int(fields[12])) * 1e6 / os.sysconf("SC_CLK_TCK")
        return whole, threads

    def rss(self):
        text = pathlib.Path(f"/proc/{self.daemon.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", text)[1]) * 1024

    def load(self, *args, seconds=120):
        out = json.loads(run([self.tools.load, *args, "-t", seconds, self.socket], self.env,
                             seconds + 10))
        if out["acked"] < out["events"]:
            raise Unmeasured(f"only {out['acked']} of {out['events']} events were acknowledged "
                             f"({out['not_stored']} not stored, {out['refused']} refused)")
        return out


class Bench:
    run = staticmethod(run)
    Unmeasured = Unmeasured

    def __init__(self, build, quick, captures=None, trickle_events=60):
        self.build, self.quick, self.captures, self.trickle_events = build, quick, captures, trickle_events
        self.tools = Tools(build / "bench-tools")
        self.values, self.missing, self.detail = {}, {}, {}

    def place(self):
        return Place(self.build, self.tools)

    def part(self, measure, *names):
        """Runs one part; its figures are missing, with the reason, when it fails."""
        print(f"  {measure.__name__.replace('_', ' ')} …", file=sys.stderr, flush=True)
        try:
            measure()
        except (Unmeasured, OSError, ValueError, KeyError) as e:
            why = str(e) if isinstance(e, Unmeasured) else f"{type(e).__name__}: {e}"
            for name in names:
                if name not in self.values:
                    self.missing[name] = why

    # -- parts ---------------------------------------------------------------------------------

    def size(self):
        self.values["hookc_bytes"] = (self.build / "hookc").stat().st_size

    def client(self):
        runs = 100 if self.quick else 400
        with self.place() as p:
            p.start()
            echo = p.server("frames")
            hookc = [p.hookc, "claude", "PostToolUse"]
            out = json.loads(run([self.tools.spawn, "-n", runs, "-w", 20, "-t", 30, "-i", p.payload,
                                  "--", "floor", self.tools.floor, echo, "--", "hookc", *hookc],
                                 p.env, 90))
            self.detail["client"] = out
            if out["hookc"]["failed"] or out["floor"]["failed"]:
                raise Unmeasured("hookc or floor exited with an error")
            # Was it really the daemon that answered? hookc is silent either way.
            received = p.status()["received"]
            if received is not None and received < runs:
                raise Unmeasured(f"the daemon received only {received} of {runs} events")
            self.values["hookc_ratio"] = \
                out["hookc"]["wall_us"]["median"] / out["floor"]["wall_us"]["median"]

    def peers(self):
        """What hooks are usually made of, in turns with the two above, for comparison only."""
        with self.place() as p:
            p.start()
            echo, http = p.server("frames"), p.server("http")
            commands = [["floor", self.tools.floor, echo],
                        ["hookc", p.hookc, "claude", "PostToolUse"]]
            if shutil.which("curl") and shutil.which("bash"):
                commands.append(["bash+curl", "bash", "-c", "exec 3<&0; curl -s --unix-socket "
                                 f"{http} --data-binary @- http://localhost/hook <&3; true"])
            if shutil.which("node"):
                commands.append(["node", "node", "-e",
                                 "const q=require('http').request({socketPath:process.argv[1],"
                                 "method:'POST',path:'/hook'},r=>r.pipe(process.stdout));"
                                 "process.stdin.pipe(q)", http])
            argv = [self.tools.spawn, "-n", 10 if self.quick else 40, "-w", 2, "-t", 15,
                    "-i", p.payload]
            for c in commands:
                argv += ["--", *c]
            self.detail["peers"] = json.loads(run(argv, p.env, 120))

    def memory(self):
        with self.place() as p:
            p.start()
            time.sleep(1)
            idle, own = cost.memory(p.daemon.pid)
            self.values["rss_idle"] = idle / MB
            p.load("-m", "keep", "-c", 8, "-n", 10000)
            p.wait_folded()
            loaded, loaded_own = cost.memory(p.daemon.pid)
            self.values["rss_10k"] = loaded / MB
            self.detail["memory"] = {"anonymous_idle_mb": own / MB, "anonymous_10k_mb": loaded_own / MB}

    def trickle(self):
        with self.place() as p:
            p.start()
            time.sleep(3)
            got = cost.trickle(p.socket, p.daemon.pid, 10 if self.quick else self.trickle_events)
            self.detail["trickle"] = got
            self.values["trickle_kb"] = got["per_event"] / 1000

    def written_in_bursts(self):
        """Until everything is folded and the disk has been left alone for three seconds."""
        events = 5000 if self.quick else 20000
        with self.place() as p:
            p.start()
            p.wait_folded()
            before = cost.written(p.daemon.pid)
            p.load("-m", "keep", "-c", 16, "-n", events)
            p.wait_folded()
            time.sleep(3)
            self.detail["burst_bytes_per_event"] = (cost.written(p.daemon.pid) - before) / events
            self.values["burst_times"] = self.detail["burst_bytes_per_event"] / p.payload.stat().st_size

    def store_size(self):
        with self.place() as p:
            p.start()
            payloads, events = cost.replay(p.socket, self.captures)
            p.wait_folded()
            p.stop()
            size = cost.store_bytes(p.dir / "d/hookd.db")
            self.detail["store"] = {"payload_bytes": payloads, "events": events, "store_bytes": size}
            self.values["store_times"] = size / payloads

    def bursts(self):
        events = 5000 if self.quick else 20000
        with self.place() as p:
            wire = p.server("wire")
            self.detail["load_itself"] = {
                mode: json.loads(run([self.tools.load, "-m", mode, "-c", 16, "-n", events, wire]))
                for mode in ("fresh", "keep")}
            p.start()
            fresh = p.load("-m", "fresh", "-c", 32, "-n", events)
            self.detail["fresh"] = fresh
            self.values["fresh"] = fresh["acked_per_second"]
            p.wait_folded()

            # Counters are read at rest, before the burst and after it is folded.
            before, (whole_before, threads_before) = p.status(), p.proc_cpu_us()
            keep = p.load("-m", "keep", "-c", 16, "-n", events)
            folded = p.wait_folded()
            after, (whole_after, threads_after) = p.status(), p.proc_cpu_us()
            self.detail["keep"] = keep
            self.values["keep"] = keep["acked_per_second"]
            self.values["folded"] = events / (folded - keep["start_mono_us"] / 1e6)
            threads = {n: round((us - threads_before.get(n, 0)) / events, 2)
                       for n, us in threads_after.items()}
            self.detail["cpu_per_event_by_proc"] = {
                "whole_us": round((whole_after - whole_before) / events, 2), "threads_us": threads}
            for name, key in (("loop_cpu", "loop_us"), ("daemon_cpu", "total_us")):
                if before[key] is None or after[key] is None:
                    self.missing[name] = f"status has no {KEYS[key]}"
                else:
                    self.values[name] = (after[key] - before[key]) / events
            if None not in (before["writer_us"], after["writer_us"]):
                self.detail["writer_us_per_event"] = \
                    (after["writer_us"] - before["writer_us"]) / events

            # Last, because a daemon may well refuse a second frame before it answered the first.
            try:
                self.detail["pipelined"] = p.load("-m", "keep", "-c", 4, "-d", 16, "-n", events,
                                                  seconds=30)
            except Unmeasured as e:
                self.detail["pipelined"] = {"error": str(e)}

    def cold_start(self):
        with self.place() as p:
            p.start()
            p.load("-m", "keep", "-c", 8, "-n", 2000 if self.quick else 20000)
            p.wait_folded()
            p.stop()
            times = []
            for _ in range(3 if self.quick else 7):
                times.append(p.start() * 1000)
                p.stop()
            self.detail["cold_start_ms"] = times
            self.values["cold_start"] = statistics.median(times)

    def system_calls(self):
        """What one call of hookc does, seen by strace; skipped where strace is missing."""
        if not shutil.which("strace"):
            self.detail["strace"] = "strace is not installed"
            return
        with self.place() as p:
            p.start()
            trace = p.dir / "trace"
            run(["strace", "-f", "-o", trace, p.hookc, "claude", "PostToolUse"], p.env, 20,
                input=p.payload.read_bytes())
            calls = re.findall(r"^\d+\s+(\w+)\(", trace.read_text(errors="replace"), re.M)
            self.detail["strace"] = {
                # The first is strace's own.
                "execs": sum(c in ("execve", "execveat") for c in calls) - 1,
                "forks": sum(c in ("fork", "vfork", "clone", "clone3") for c in calls),
                "calls": len(calls), "names": calls}

    def ways(self):
        for measure, names in ways.PARTS:
            def part(measure=measure):
                measure(self)
            part.__name__ = measure.__name__
            self.part(part, *names)

    # -- report --------------------------------------------------------------------------------

    def all(self):
        self.part(self.size, "hookc_bytes")
        self.part(self.client, "hookc_ratio")
        self.part(self.peers, "peers")
        self.part(self.bursts, "fresh", "keep", "folded", "loop_cpu", "daemon_cpu")
        self.part(self.memory, "rss_idle", "rss_10k")
        self.part(self.trickle, "trickle_kb")
        self.part(self.written_in_bursts, "burst_times")
        self.part(self.store_size, "store_times")
        self.part(self.cold_start, "cold_start")
        self.part(self.system_calls, "strace")
        self.ways()
        self.models()
        self.sending()
        self.efforts()

    def models(self):
        asking.measure(self)

    def sending(self):
        sending.measure(self)

    def efforts(self):
        self.part(lambda: gates.measure(self), "effort_us")

    def rows(self):
        for name, (title, unit, goal, more) in GOALS.items():
            sign = "≥" if more else "≤"
            value = self.values.get(name)
            if value is None:
                yield title, f"{sign} {goal:,} {unit}", "", "not measured"
                continue
            good = value >= goal if more else value <= goal
            digits = 0 if value >= 1000 else 1 if value >= 10 else 2
            shown = f"{value:,.{digits}f}"
            yield title, f"{sign} {goal:,} {unit}", f"{shown} {unit}", "ok" if good else "missed"

    def print(self):
        rows = [("", "goal", "value", ""), *self.rows()]
        widths = [max(len(r[i]) for r in rows) for i in range(4)]
        for r in rows:
            print(f"{r[0]:<{widths[0]}}  {r[1]:>{widths[1]}}  {r[2]:>{widths[2]}}  {r[3]}".rstrip())
        print()
        for which in ("client", "peers"):
            for label, s in self.detail.get(which, {}).items():
                wall, cpu = s["wall_us"], s["cpu_us"]
                floor = self.detail[which]["floor"]["wall_us"]["median"]
                print(f"{label:>10}: median {wall['median'] / 1000:8.3f} ms"
                      f"  min {wall['min'] / 1000:8.3f}  p95 {wall['p95'] / 1000:8.3f}"
                      f"  cpu {cpu['median'] / 1000:8.3f}"
                      f"  {wall['median'] / floor:7.2f} × floor  ({s['runs']} runs)")
        if by_proc := self.detail.get("cpu_per_event_by_proc"):
            threads = ", ".join(f"{n} {us}" for n, us in sorted(by_proc["threads_us"].items()))
            print(f"CPU per event by the kernel's count: {by_proc['whole_us']} µs ({threads})")
        if isinstance(trace := self.detail.get("strace"), dict):
            print(f"hookc: {trace['calls']} system calls, {trace['execs']} execs,"
                  f" {trace['forks']} forks")
        for which in ("keep", "pipelined"):
            if (r := self.detail.get(which, {})).get("error"):
                print(f"{which}: {r['error']}")
            elif r.get("reconnects"):
                print(f"{which}: the daemon hung up {r['reconnects']} times; not really persistent")
        if own := self.detail.get("load_itself"):
            print("load against a server that does nothing: " + ", ".join(
                f"{mode} {r['acked_per_second']:,.0f}/s" for mode, r in own.items()))
        for why in dict.fromkeys(self.missing.values()):
            names = ", ".join(n for n, w in self.missing.items() if w == why)
            print(f"not measured: {names}: {why}")

    def save(self):
        loads = os.getloadavg()
        result = {
            "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "quick": self.quick,
            "machine": {"cores": os.cpu_count(), "kernel": os.uname().release, "load": loads},
            "goals": {n: {"title": g[0], "unit": g[1], "goal": g[2], "more_is_better": g[3],
                          "value": self.values.get(n)} for n, g in GOALS.items()},
            "not_measured": self.missing, "detail": self.detail,
        }
        (self.build / "bench.json").write_text(json.dumps(result, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description="Measure hookd against its goals.")
    parser.add_argument("--build", required=True, type=pathlib.Path,
                        help="folder with hookd and hookc")
    parser.add_argument("--ways", action="store_true", help="HTTP and telemetry only")
    parser.add_argument("--models", action="store_true", help="hookc beside language models that misbehave, only")
    parser.add_argument("--sending", action="store_true", help="what goes out only")
    parser.add_argument("--efforts", action="store_true", help="what an effort costs before a tool only")
    parser.add_argument("--quick", action="store_true", help="fewer runs: a look, not a figure")
    args = parser.parse_args()
    build = args.build.resolve()
    for name in ("hookd", "hookc"):
        if not (build / name).exists():
            sys.exit(f"bench: {build / name} is missing; run make build")
    try:
        bench = Bench(build, args.quick)
    except Unmeasured as e:
        sys.exit(f"bench: the tools could not be compiled: {e}")
    (bench.ways if args.ways else bench.models if args.models else bench.sending if args.sending else
     bench.efforts if args.efforts else bench.all)()
    bench.print()
    bench.save()
    return 1 if bench.missing else 0


if __name__ == "__main__":
    sys.exit(main())

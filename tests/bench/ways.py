"""HTTP and telemetry: how fast they are, and what a thousand bad clients or a bomb cost everybody else."""
import contextlib
import gzip
import json
import pathlib
import re
import socket
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "e2e"))

# As in bench.GOALS.
GOALS = {
    "http": ("HTTP requests, connections kept", "/s", 20000, True),
    "rss_http": ("memory, idle, HTTP open (resident)", "MB", 9, False),
    "slow_ratio": ("hookc beside 1,000 clients that never read", "×", 1.1, False),
    "slow_mb": ("memory for those clients", "MB", 8, False),
    "otlp_protobuf": ("log records read, protobuf", "/s", 500000, True),
    "otlp_json": ("log records read, JSON", "/s", 100000, True),
    "bomb_mb": ("memory for 10 GB in gzip, refused", "MB", 8, False),
}
MB = 1000 * 1000
CLIENTS = 1000


class Door:
    """How to reach a daemon over HTTP."""

    def __init__(self, bench, place):
        self.place = place
        got = json.loads(bench.run([place.hookd, "url", "--json"], place.env, 10))
        self.unix, self.port = got["unix"], int(got["address"].rsplit(":", 1)[1])
        self.token = bench.run([place.hookd, "token"], place.env, 10).strip()

    def head(self, method, path, *fields):
        return "\r\n".join([f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}",
                            f"Authorization: Bearer {self.token}", *fields, "", ""]).encode()

    def connect(self):
        s = socket.create_connection(("127.0.0.1", self.port), 10)
        return s

    def post(self, path, body, *fields):
        """The status."""
        with self.connect() as s:
            with contextlib.suppress(OSError):  # refused before all of it is sent
                s.sendall(self.head("POST", path, f"Content-Length: {len(body)}", *fields) + body)
            return int(s.recv(1000).split()[1])


def peak(pid):
    return int(re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) * 1024


def forget_peak(pid):
    pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")


def http(bench):
    with bench.place() as p:
        p.start()
        door = Door(bench, p)
        time.sleep(1)
        bench.values["rss_http"] = p.rss() / MB
        request = door.head("GET", "/api/health").decode()
        rates = {}
        for name, where in (("tcp", door.port), ("unix", door.unix)):
            rates[name] = float(bench.run([bench.tools.http_load, where, 16, 1 if bench.quick else 3, request], p.env,
                                          30))
        bench.detail["http"] = rates
        bench.values["http"] = rates["tcp"]


def client_ratio(bench, p, echo):
    runs = 100 if bench.quick else 300
    out = json.loads(bench.run(
        [bench.tools.spawn, "-n", runs, "-w", 20, "-t", 30, "-i", p.payload, "--", "floor", bench.tools.floor, echo,
         "--", "hookc", p.hookc, "claude", "PostToolUse"], p.env, 90))
    return out["hookc"]["wall_us"]["median"] / out["floor"]["wall_us"]["median"]


def slow_clients(bench):
    """Half of them listen to events and never read one, half never finish their heads."""
    with bench.place() as p, contextlib.ExitStack() as all_clients:
        p.start()
        echo, door = p.server("frames"), Door(bench, p)
        before = client_ratio(bench, p, echo)
        memory = p.rss()
        clients = []

        def add(data):
            s = all_clients.enter_context(door.connect())
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.sendall(data)
            clients.append(s)

        for i in range(CLIENTS):
            add(door.head("GET", "/events") if i % 2 else b"GET / HTTP/1.1\r\nHost: x")
        time.sleep(0.5)
        during = client_ratio(bench, p, echo)
        grown = p.rss() - memory
        bench.detail["slow"] = {"ratio_before": before, "ratio_during": during, "grown_mb": grown / MB}
        bench.values["slow_ratio"] = during / before
        bench.values["slow_mb"] = max(0, grown) / MB


def telemetry(bench):
    import otlp  # of the end-to-end tests

    bench.run(["ninja", "-C", bench.build, "tests/otlp_bench"], None, 300)
    logs = []
    for i in range(170):
        logs += otlp.turn("01a1ddf7-ada3-70f2-a2bb-a57e99ba6b5a", 1794725359024014931 + i * 10**9, call=f"call_{i:024d}")
    with bench.place() as p:
        for name, encode in (("protobuf", otlp.protobuf), ("json", otlp.as_json)):
            body = p.dir / name
            body.write_bytes(encode(logs))
            read = json.loads(bench.run([bench.build / "tests/otlp_bench", body, name], p.env, 30))
            mapped = json.loads(bench.run([bench.build / "tests/otlp_bench", body, name, "map"], p.env, 30))
            bench.values[f"otlp_{name}"] = read["records_per_s"]
            bench.detail[f"otlp_{name}"] = {"read": read, "mapped": mapped}


def bomb(bench):
    with bench.place() as p:
        p.start()
        door = Door(bench, p)
        piece = gzip.compress(bytes(64 << 20), 9)
        fields = ("Content-Type: application/x-protobuf", "Content-Encoding: gzip")
        door.post("/v1/logs", gzip.compress(b""), *fields)
        before = p.rss()
        forget_peak(p.daemon.pid)
        # All of it, which is too large to begin with; and as much as is taken.
        for times in (160, (4 << 20) // len(piece)):
            status = door.post("/v1/logs", piece * times, *fields)
            if status != 413:
                raise bench.Unmeasured(f"the bomb was answered with {status}")
        bench.values["bomb_mb"] = max(0, peak(p.daemon.pid) - before) / MB


PARTS = ((http, ("http", "rss_http")), (slow_clients, ("slow_ratio", "slow_mb")),
         (telemetry, ("otlp_protobuf", "otlp_json")), (bomb, ("bomb_mb",)))

"""What hostile clients send, row by row: HTTP, telemetry, the socket, and the threats of the local API. Black box: whatever
comes, it is refused or closed, nothing of it is stored or changed, and the next client is served."""
import array
import base64
import concurrent.futures
import gzip
import json
import os
import pathlib
import re
import socket
import sqlite3
import stat
import struct
import time
import zlib

import pytest

import otlp
from test_http import Web, read_answer, web  # noqa: F401
from world import DONE, REFUSED, ROOT, alive, field, frame, hook, payload, read_done, read_frame, tool, wait_for

ROUTES = re.findall(r'^\t\{ "(GET|POST|DELETE)", "([^"]+)"', (ROOT / "src/program/api/routes.c").read_text(), re.M)
REFUSALS = {400, 401, 403, 404, 405, 408, 411, 413, 414, 415, 417, 431, 501, 505}


def rss(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) * 1024


def exchange(web, data, unix=False, eof=False):  # noqa: F811
    """(status, everything that came back); status 0: closed without a word."""
    with web.connect(unix) as s:
        try:
            s.sendall(data)
            if eof:
                s.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        try:
            a = read_answer(s)
        except OSError:
            return 0, b""
    return a.status, a.body


def still_serves(web):  # noqa: F811
    return web.get("/api/health", token=False).json() == {"status": "ok"}


def refused(web, data, **kw):  # noqa: F811
    status, body = exchange(web, data, **kw)
    return status == 0 or status in REFUSALS


# -- H -----------------------------------------------------------------------------------------------

def lines(*rows):
    return "\r\n".join([*rows, "", ""]).encode("latin-1")


def heads(web):  # noqa: F811
    """name: bytes that must be refused, each on a connection of its own."""
    host, auth, p = f"Host: 127.0.0.1:{web.port}", f"Authorization: Bearer {web.token}", web.port
    get, post = "GET /metrics HTTP/1.1", "POST /rpc HTTP/1.1"
    kind = "Content-Type: application/json"
    body = b'{"method":"hello"}'
    rows = {
        "H01 no host": lines(get, auth), "H01 two hosts": lines(get, host, host, auth),
        "H01 oversize": lines(get, "Host: " + "a" * 20000, auth), "H01 dot": lines(get, f"Host: localhost.:{p}", auth),
        "H01 suffix": lines(get, f"Host: 127.0.0.1.evil:{p}", auth), "H01 zone": lines(get, f"Host: [::1%25lo]:{p}", auth),
        "H01 userinfo": lines(get, f"Host: u@127.0.0.1:{p}", auth),
        "H01 absolute form": lines(f"GET http://evil.example/metrics HTTP/1.1", host, auth),
        "H01 absolute form, ours": lines(f"GET http://127.0.0.1:{p}/metrics HTTP/1.1", host, auth),
        "H02 null": lines(get, host, auth, "Origin: null"), "H02 foreign": lines(get, host, auth, "Origin: http://evil.example"),
        "H02 two": lines(get, host, auth, f"Origin: http://127.0.0.1:{p}", "Origin: http://evil.example"),
        "H02 fetch": lines(get, host, auth, "Sec-Fetch-Site: cross-site"),
        "H05 bare lf": get.encode() + b"\n" + host.encode() + b"\n" + auth.encode() + b"\n\n",
        "H05 cr only": get.encode() + b"\r" + host.encode() + b"\r" + auth.encode() + b"\r\r",
        "H05 fold": lines(get, host, auth, "X: a", " b"), "H05 nul": lines(get, host, auth, "X: a\0b"),
        "H05 many": lines(get, host, auth, *["X: y"] * 100000), "H05 large": lines(get, host, auth, "X: " + "y" * (1 << 20)),
        "H05 blank before colon": lines(get, f"Host : 127.0.0.1:{p}", auth), "H05 no name": lines(get, host, auth, ": x"),
        "H05 no colon": lines(get, host, auth, "nothing"), "H05 65 fields": lines(get, host, auth, *[f"X{i}: y" for i in range(65)]),
        "H06 lower": lines("get /metrics HTTP/1.1", host, auth), "H06 long": lines("A" * (1 << 20) + " / HTTP/1.1", host, auth),
        "H06 trace": lines("TRACE /metrics HTTP/1.1", host, auth), "H06 connect": lines("CONNECT 127.0.0.1:1 HTTP/1.1", host, auth),
        "H06 options": lines("OPTIONS * HTTP/1.1", host, auth), "H06 put": lines("PUT /rpc HTTP/1.1", host, auth),
        "H07 64 KB": lines("GET /" + "a" * 65536 + " HTTP/1.1", host, auth), "H07 nul": lines("GET /\0 HTTP/1.1", host, auth),
        "H09 0.9": b"GET /metrics\r\n\r\n", "H09 0.9 bare": b"GET /metrics\n", "H09 2": lines("GET /metrics HTTP/2.0", host, auth),
        "H09 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9), "H09 tls": bytes.fromhex("16030100c8010000c40303") + bytes(200) + b"\r\n\r\n",
        "H12 websocket": lines("GET /events HTTP/1.1", host, "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                               "Sec-WebSocket-Key: " + base64.b64encode(bytes(16)).decode()),
        "H12 foreign": lines("GET /events HTTP/1.1", host, auth, "Origin: http://evil.example", "Upgrade: websocket", "Connection: Upgrade"),
        "H15 short": lines(get, host, f"Authorization: Bearer {web.token[:-1]}"), "H15 long": lines(get, host, f"Authorization: Bearer {web.token}0"),
        "H15 nul": lines(get, host, f"Authorization: Bearer {web.token}\0"), "H15 case": lines(get, host, f"Authorization: Bearer {web.token.upper()}x"),
        "H15 query": lines(f"GET /metrics?token={web.token}&token=x HTTP/1.1", host), "H15 two": lines(get, host, auth, "Authorization: Bearer x"),
        "H15 none": lines(get, host),
    }
    for name, length in {"missing": None, "negative": "-1", "plus": "+18", "hex": "0x12", "2^64": str(2 ** 64), "19 digits": "1" * 19, "blank": "1 8",
                         "list": "18, 18", "empty": "", "float": "18.0", "tab": "18\t", "tab before": "\t18"}.items():
        rows[f"H03 {name}"] = lines(post, host, auth, kind, *([f"Content-Length: {length}"] if length is not None else [])) + body
    rows["H03 twice"] = lines(post, host, auth, kind, "Content-Length: 18", "Content-Length: 18") + body
    rows["H03 both"] = lines(post, host, auth, kind, "Content-Length: 18", "Transfer-Encoding: chunked") + b"0\r\n\r\n"
    rows["H03 identity"] = lines(post, host, auth, kind, "Transfer-Encoding: identity") + body
    rows["H03 two codings"] = lines(post, host, auth, kind, "Transfer-Encoding: gzip, chunked") + b"0\r\n\r\n"
    chunked = lines(post, host, auth, kind, "Transfer-Encoding: chunked")
    for name, chunks in {"huge": b"fffffffffffffff0\r\n", "negative": b"-5\r\n", "extension": b"12;x=y\r\n" + body + b"\r\n0\r\n\r\n", "0x": b"0x12\r\n",
                         "plus": b"+12\r\n", "trailer": b"12\r\n" + body + b"\r\n0\r\nX: y\r\n\r\n", "bare lf": b"12\n" + body + b"\n0\n\n",
                         "no end": b"12\r\n" + body + b"XX0\r\n\r\n", "too long": b"12\r\n" + body + b"more\r\n0\r\n\r\n", "empty": b"\r\n"}.items():
        rows[f"H04 {name}"] = chunked + chunks
    otel = lines("POST /v1/logs HTTP/1.1", host, auth, "Content-Type: application/x-protobuf", "Content-Encoding: {}", "Content-Length: {}")
    raw = otlp.protobuf(otlp.turn("h14", 1))
    packed = gzip.compress(raw)
    for coding, data in {"deflate": zlib.compress(raw), "br": packed, "zstd": packed, "gzip, gzip": gzip.compress(packed), "x-gzip,": packed}.items():
        rows[f"H14 {coding}"] = otel.decode().format(coding, len(data)).encode() + data
    for name, data in {"cut": packed[:-9], "crc": packed[:-8] + b"\0\0\0\0" + packed[-4:], "not gzip": raw, "tail": packed + b"tail",
                       "bomb": gzip.compress(bytes(64 << 20), 9)}.items():
        rows[f"H14 {name}"] = otel.decode().format("gzip", len(data)).encode() + data
    return rows


def test_every_hostile_request_is_refused_or_closed(web):  # noqa: F811
    rows = heads(web)
    assert len(rows) >= 70
    accepted = [name for name, data in rows.items() if not refused(web, data)]
    assert accepted == []
    assert still_serves(web) and web.world.events() == []


def test_hostile_requests_are_refused_on_the_unix_socket_too(web):  # noqa: F811
    """There nobody needs a token, and an Origin is always a page's; what cannot be read is the same."""
    rows = {n: d for n, d in heads(web).items() if n[:3] in ("H03", "H04", "H05", "H06", "H07", "H09", "H14") or n in ("H02 foreign", "H02 null", "H02 fetch")}
    assert [n for n, d in rows.items() if not refused(web, d, unix=True)] == []
    assert web.world.events() == []


SPELLINGS = ["..", "%2e%2e", "%2E%2E", ".%2e", "%2e.", "..;", "..%00", "..%2f", "%2e%2e%2f", "..%5c", "..\\", "%252e%252e", "%c0%ae%c0%ae", "%e0%80%ae%e0%80%ae",
             "..%c0%af", "..%ef%bc%8f", "%uff0e%uff0e", "....//", "..//", "./..", "%2e/%2e%2e", ".../", "..%09", "..%20", "..;a=b", "..%3b", "..%23", "..%3f", "~", "%7e",
             "%00", "a%00", "%0d%0a", "%0aHost:x", "%2f", "%5c", "//", "/./", ";", "%", "%2", "%zz", "%ff", "%80", "%c3", "%25", "%2525", "*", "'", '"', "<", "`", "$(x)", "|",
             "file:", "file:%2f%2f", "etc/passwd", "proc/self/environ", "CON", "nul", "owner.token", "http.token", "hookd.db", "config.json"]


def test_traversal_spellings_lead_nowhere(web):  # noqa: F811
    """60 spellings at every route: 401 without a token, and with it never a file."""
    assert len(SPELLINGS) >= 60
    secrets = [(web.world.dir / name).read_bytes().strip() for name in ("owner.token", "http.token")]
    host = f"Host: 127.0.0.1:{web.port}"
    with web.connect() as s:
        for method, path in ROUTES:
            for spelling in SPELLINGS:
                target = path.rstrip("/") + "/" + spelling + "/owner.token"
                # These take any name behind them; as an event or a session, never as a path.
                if path.startswith(("/api/oak/ci/", "/sessions/")):
                    continue
                for token in (False, True):
                    rows = [f"{method} {target} HTTP/1.1", host, *([f"Authorization: Bearer {web.token}"] if token else [])]
                    try:
                        s.sendall(lines(*rows))
                        a = read_answer(s)
                    except OSError:
                        a = None
                    if a is None or not a.status or "Connection: close" in a.head or a.status == 400:
                        s.close()
                        s = web.connect()
                    if a is None:
                        continue
                    assert a.status in ((400, 401, 403, 404, 405) if token else (400, 401)), (target, a.status)
                    assert not any(x in a.body for x in secrets)
        s.close()
    assert web.world.events() == []


def test_a_query_of_a_hundred_thousand_parameters(web):  # noqa: F811
    """H08: too long for a head; and as many as fit."""
    assert refused(web, web.head("GET", "/api/context/inject?" + "a=b&" * 100000))
    assert web.get("/api/context/inject?" + "a=b&" * 3000 + "project=x").status == 200
    assert still_serves(web)


def test_pipelining_and_what_follows_an_error(web):  # noqa: F811
    """H10: answers in order; after an error nothing more is read as a request."""
    good = web.head("GET", "/api/health")
    with web.connect() as s:
        s.sendall(good * 20)
        data = b""
        while data.count(b'{"status":"ok"}') < 20:
            data += s.recv(65536)
    with web.connect() as s:
        s.sendall(b"BROKEN\r\n\r\n" + good)
        data = b""
        while True:
            try:
                more = s.recv(65536)
            except ConnectionResetError:
                break
            if not more:
                break
            data += more
        assert b'{"status":"ok"}' not in data


def test_a_body_that_never_ends_is_cut_off(web):  # noqa: F811
    """H11: chunks without end, over the limit of the route."""
    piece = b"ffff\r\n" + b" " * 0xffff + b"\r\n"
    with web.connect() as s:
        s.sendall(web.head("POST", "/rpc", Content_Type="application/json", Transfer_Encoding="chunked"))
        with pytest.raises(OSError):
            for _ in range(1000):  # 64 MB
                s.sendall(piece)
                s.setblocking(False)
                try:
                    if s.recv(100).startswith((b"HTTP/1.1 413", b"HTTP/1.1 400")):
                        raise ConnectionResetError
                except BlockingIOError:
                    pass
                s.setblocking(True)
    assert still_serves(web)


def test_a_body_that_trickles_ends_with_the_time_of_a_request(web):  # noqa: F811
    """H11: a byte now and then is no progress; the whole request has ten seconds. Nothing of it is taken for a request."""
    with web.connect() as s:
        s.settimeout(30)
        s.sendall(web.head("POST", "/rpc", Content_Type="application/json", Content_Length=100000))
        with pytest.raises(OSError):
            for _ in range(600):
                s.sendall(b" ")
                time.sleep(0.05)
    assert still_serves(web)


def test_nobody_becomes_a_websocket(web):  # noqa: F811
    """H12: with the token too; what follows is never read as frames, and the next client is served."""
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec_WebSocket_Version": 13, "Sec_WebSocket_Key": base64.b64encode(bytes(16)).decode()}
    frames = {"unmasked": b"\x81\x02hi", "2^63": b"\x82\xff" + struct.pack(">Q", 2 ** 63) + bytes(4), "fragmented ping": b"\x09\x80" + bytes(4), "close": b"\x88\x80" + bytes(4)}
    for path in ("/events", "/", "/rpc", "/mcp"):
        for name, data in frames.items():
            status, _ = exchange(web, web.head("GET", path, **upgrade) + data * 100)
            assert status != 101, (path, name)
    assert still_serves(web) and web.world.events() == []


@pytest.mark.parametrize("begun", [b"", b"GET / HT", b"GET /api/health HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n"])
def test_those_who_only_connect_keep_nobody_out(web, begun):  # noqa: F811
    """T18, H11: more of them than there may be, silent, in the midst of a head, or after a request that needs no token; they are
    there before us, and each of ours is answered."""
    begun = begun % web.port if b"%d" in begun else begun
    idle = []
    try:
        for _ in range(1300):
            s = socket.socket()
            s.settimeout(10)
            s.connect(("127.0.0.1", web.port))
            if begun:
                s.sendall(begun)
            idle.append(s)
        for _ in range(20):
            assert web.get("/metrics").status == 200
            assert exchange(web, lines("GET /metrics HTTP/1.1", "Host: x"), unix=True)[0] == 200
    finally:
        for s in idle:
            s.close()


def test_a_thousand_streams_that_nobody_reads(web):  # noqa: F811
    """H13: they share one ring, so events go on being stored and answered, memory stays, and who reads gets every event."""
    pid, deaf = web.world.pid(), []
    request = web.head("GET", "/events")
    try:
        for _ in range(1000):
            s = socket.socket()
            s.settimeout(10)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            s.connect(("127.0.0.1", web.port))
            s.sendall(request)
            assert s.recv(9) == b"HTTP/1.1 "  # it is a stream now; not a byte more is read
            deaf.append(s)
        before = rss(pid)
        with web.world.connect() as fast:
            for n in range(3000):
                fast.sendall(hook(json.dumps(tool(f"h13-{n}")).encode()))
                assert read_done(fast)[0] == DONE
        assert web.world.hookc("PostToolUse", tool("beside")).returncode == 0
        with web.connect() as reader:
            reader.sendall(request)
            data = b""
            while b"retry:" not in data:
                data += reader.recv(65536)
            for n in range(10):
                web.world.hookc("PostToolUse", tool(f"read-{n}"))
            while data.count(b"data: ") < 10:
                more = reader.recv(65536)
                assert more
                data += more
        assert rss(pid) - before < 16 << 20
        assert still_serves(web)
    finally:
        for s in deaf:
            s.close()
    wait_for(lambda: len(web.world.events()) == 3011, what="every event")


# -- O -----------------------------------------------------------------------------------------------

def varint(n):
    out = b""
    while True:
        out += bytes([n & 127 | (128 if n > 127 else 0)])
        n >>= 7
        if not n:
            return out


def tag(number, kind=2):
    return varint(number << 3 | kind)


def message(number, data):
    return tag(number) + varint(len(data)) + data


def logs(*records):
    return message(1, message(2, b"".join(message(2, r) for r in records)))


def send(web, data, kind="application/x-protobuf"):  # noqa: F811
    return web.raw(web.head("POST", "/v1/logs", Content_Type=kind, Content_Length=len(data)) + data)


def nested(depth):
    """An array in an array in an array."""
    data = message(1, b"x")
    for _ in range(depth):
        data = message(5, message(1, data))
    return data


def attribute(key, value):
    return message(6, message(1, key) + message(2, value))


def test_protobuf_row_by_row(web):  # noqa: F811
    """O01, O02: refused as a whole (400 or 413), or understood as what it says; never stored in part."""
    rows = {"cut varint": (b"\x0a\xff", 400), "ten bytes": (b"\x0a" + b"\xff" * 10, 400), "eleven": (b"\x0a" + b"\xff" * 11, 400),
            "field 0": (b"\x02\x00", 400), "group": (b"\x0b\x0c", 400), "kind 6": (b"\x0e", 400), "kind 7": (b"\x0f", 400),
            "beyond": (b"\x0a\x7f", 400), "inner beyond": (message(1, b"\x12\x7f"), 400), "deep attribute": (logs(attribute(b"event.name", nested(10000))), (400, 413)), "deep body": (logs(message(5, nested(10000))), (200, 400)),
            "empty": (b"", 200), "unknown fields": (tag(15, 0) + b"\x01" + message(1, b""), 200), "many unknown": (b"\x78\x01" * 10 ** 6, (200, 400)),
            "a million records": (message(1, message(2, message(2, b"") * 10 ** 6)), (400, 413)), "one of 17 MB": (logs(message(5, bytes(17 << 20))), 413)}
    for name, (data, wanted) in rows.items():
        status = send(web, data).status
        assert status == wanted or (isinstance(wanted, tuple) and status in wanted), (name, status)
    assert web.world.events() == [] and still_serves(web)


def test_odd_attributes_and_times(web):  # noqa: F811
    """O03, O04, O07: kinds mixed, keys empty or twice, bytes for text, times of any kind, events nobody knows."""
    text = lambda s: message(1, s)  # noqa: E731
    odd = [attribute(b"", text(b"x")), attribute(b"event.name", text(b"codex.user_prompt")) + attribute(b"event.name", text(b"other")),
           attribute(b"event.name", tag(3, 0) + b"\x05"), attribute(b"event.name", message(7, b"\xff\xfe")), attribute(b"event.name", text(b"\xff\xfe")),
           attribute(b"event.name", text(b"codex.user_prompt")) + attribute(b"prompt", text(b"no conversation")),
           attribute(b"event.name", text(b"codex.something_new")) + attribute(b"conversation.id", text(b"c")), attribute(b"event.name", message(5, message(1, b"")))]
    for at in (0, 1, 2 ** 63, 2 ** 64 - 1):
        for row in odd:
            assert send(web, logs(tag(1, 1) + struct.pack("<Q", at) + tag(11, 1) + struct.pack("<Q", 5) + row)).status == 200
    assert still_serves(web) and web.world.events() == []


def test_a_result_before_its_conversation_is_kept(web):  # noqa: F811
    """O07: order is the network's; O05: half a batch and a reset leave nothing."""
    batch = otlp.turn("0199aaaa-0000-7000-8000-000000000001", int(time.time() * 1e9))
    assert send(web, otlp.protobuf(batch[::-1])).status == 200
    kinds = [e["event"] for e in web.world.events()]
    assert "PostToolUse" in kinds and kinds.count("UserPromptSubmit") == 1
    count, data = len(kinds), otlp.protobuf(otlp.turn("0199aaaa-0000-7000-8000-000000000002", int(time.time() * 1e9)))
    with web.connect() as s:
        s.sendall(web.head("POST", "/v1/logs", Content_Type="application/x-protobuf", Content_Length=len(data)) + data[:len(data) // 2])
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert still_serves(web) and len(web.world.events()) == count


@pytest.mark.parametrize("data, kind", [(b'{"resourceSpans":[]}', "application/json"), (b'{"resourceMetrics":[{}]}', "application/json"),
                                        (b"\0\0\0\0\5hello", "application/grpc"), (b"{}", "text/plain"), (b"{}", "application/x-www-form-urlencoded"),
                                        (b"\0\0\0\0\5hello", "application/x-protobuf")])
def test_what_is_no_logs_stores_nothing(web, data, kind):  # noqa: F811
    """O08, O09."""
    assert send(web, data, kind).status in (200, 400, 415)
    assert web.world.events() == []


# -- R -----------------------------------------------------------------------------------------------

def test_lengths_that_lie(world):
    """R01, R02."""
    world.start()
    data = json.dumps(payload("Notification", "r")).encode()
    for length in (0, 1, 2 ** 24, 2 ** 24 + 1, 2 ** 31 - 1, 2 ** 32 - 1, 5, len(data) + 10 ** 6):
        with world.connect() as s:
            s.sendall(frame(field(1, bytes(16)), length=length))
            s.shutdown(socket.SHUT_WR)
            try:
                while s.recv(4096):
                    pass
            except OSError:
                pass
    assert world.json("status", "--json")["pid"] == world.pid() and world.events() == []


def test_single_bytes_and_a_hundred_thousand_lines(world):
    """R03, R04: as slowly as can be, and all at once."""
    world.start()
    with world.connect() as s:
        for b in hook(json.dumps(tool("slow")).encode()):
            s.sendall(bytes([b]))
        assert read_done(s)[0] == DONE
    line = b'{"jsonrpc":"2.0","id":7,"method":"hello"}\n'
    got = 0
    with world.connect() as s:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            sent = pool.submit(s.sendall, line * 100000)
            while got < 100000:
                more = s.recv(1 << 20)
                assert more, got
                got += more.count(b"\n")
            sent.result()
    assert len(world.events()) == 1


def test_peers_that_leave(world):
    """R05, R11: half-closed, reset, gone before the answer; what was acknowledged or sent whole is stored once."""
    world.start()
    for n in range(30):
        s = world.connect()
        s.sendall(hook(json.dumps(tool(f"gone{n}")).encode()))
        if n % 3 == 0:
            s.shutdown(socket.SHUT_WR)
        elif n % 3 == 1:
            s.shutdown(socket.SHUT_RDWR)
        s.close()
    wait_for(lambda: len(world.events()) == 30, what="all of them")


def test_versions_and_methods_nobody_has(world):
    """R06, R07."""
    world.start()
    for proto in (0, 2, 255):
        with world.connect() as s:
            s.sendall(frame(field(1, bytes(16)), proto=proto))
            assert read_frame(s)[0] == REFUSED
    with world.connect() as s:
        f = s.makefile("rw")
        for n, (method, code) in enumerate([("no.such", -32601), ("sessions", None), ("", -32601), ("__proto__", -32601)]):
            f.write(json.dumps({"jsonrpc": "2.0", "id": 5, "method": method}) + "\n")
            f.flush()
            reply = json.loads(f.readline())
            assert reply["id"] == 5 and reply.get("error", {}).get("code") == code, n


def test_a_thousand_idle_and_a_thousand_that_only_connect(world):
    """R08."""
    pid, idle = world.start(), []
    try:
        before = rss(pid)
        for _ in range(1000):
            try:
                idle.append(world.connect())
            except OSError:
                break
        for _ in range(1000):
            world.connect().close()
        done = world.hookc("PostToolUse", tool("beside"))
        assert done.returncode == 0
        assert rss(pid) - before < 16 << 20
    finally:
        for s in idle:
            s.close()
    assert [e["tool_use_id"] for e in world.events()] == ["tbeside"]


def test_descriptors_that_come_along_are_closed(world):
    """R09."""
    pid = world.start()
    world.status()
    folder = pathlib.Path(f"/proc/{pid}/fd")
    before = len(list(folder.iterdir()))
    with world.connect() as s:
        for _ in range(50):
            fds = array.array("i", [0, 0, 0])
            s.sendmsg([b'{"id":1,"method":"hello"}\n'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
            assert s.recv(4096)
        assert len(list(folder.iterdir())) <= before + 4
    wait_for(lambda: len(list(folder.iterdir())) <= before + 3, what="its descriptors to be what they were")


# -- T -----------------------------------------------------------------------------------------------

def test_every_route_wants_the_token_and_its_refusal_says_nothing(web):  # noqa: F811
    """T10: the table of routes itself is walked."""
    assert len(ROUTES) >= 14
    for method, path in ROUTES:
        a = web.raw(web.head(method, path, token=False, **({"Content_Length": 2, "Content_Type": "application/json"} if method == "POST" else {})) +
                    (b"{}" if method == "POST" else b""))
        if path in ("/api/health", "/login"):
            assert a.status in (200, 403)
        else:
            assert (a.status, a.body) == (401, b""), path
    assert web.world.events() == []


def test_what_a_page_can_send_without_asking_changes_nothing(web):  # noqa: F811
    """T12: the three content types of a form, with the cookie that a browser would add; GET on every route."""
    login = web.get(f"/login?code={web.code}", token=False)
    cookie = re.search(r"(hookd_login=[^;]+); HttpOnly; SameSite=Strict", login.head)[1]
    body = b'{"method":"hooks.notification","params":{"session_id":"csrf","message":"m"}}'
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain;application/json"):
        for path in ("/rpc", "/mcp", "/v1/logs", "/api/sessions/init", "/api/oak/ci/stop", "/api/processing", "/sessions/x/init"):
            a = web.raw(web.head("POST", path, token=False, Cookie=cookie, Content_Type=kind, Content_Length=len(body)) + body)
            assert a.status in (400, 403, 415), (kind, path, a.status)
            a = web.raw(web.head("POST", path, token=False, Cookie=cookie, Origin="http://evil.example", Content_Type="application/json",
                                 Content_Length=len(body)) + body)
            assert a.status == 403
    for _, path in ROUTES:
        if path != "/events":
            assert "access-control" not in web.get(path, token=False, Cookie=cookie).head.lower()
    assert web.world.events() == []


def guesses(web, n):  # noqa: F811
    """n guesses, each on a connection of its own; how many were closed without an answer, because too many wait already."""
    guess, closed = web.head("GET", "/metrics", token=False, Authorization="Bearer " + "0" * len(web.token)), 0
    waiting = []
    for _ in range(n):
        s = web.connect()
        s.sendall(guess)
        waiting.append(s)
        if len(waiting) == 100:
            closed += sum(not read_answer(s).status for s in waiting)
            [s.close() for s in waiting]
            waiting = []
    closed += sum(not read_answer(s).status for s in waiting)
    [s.close() for s in waiting]
    return closed


@pytest.mark.parametrize("path, wrong", [("/metrics", {"Authorization": "Bearer " + "0" * 64}), ("/metrics", {"Cookie": "hookd_login=" + "0" * 32}),
                                         ("/no/such", {"Authorization": "Bearer x"}), ("/login?code=" + "0" * 32, {})])
def test_after_ten_wrong_secrets_a_minute_the_next_is_refused_late(web, path, wrong):  # noqa: F811
    """T13: tokens, cookies and codes alike; who has the right one does not notice. A slow machine only makes it later."""
    for _ in range(10):
        assert web.get(path, token=False, **wrong).status in (401, 403)
    began = time.monotonic()
    a = web.get(path, token=False, **wrong)
    assert time.monotonic() - began > 0.9
    assert a.status in (401, 403) and "Connection: close" in a.head
    assert web.get("/metrics").status == 200 and still_serves(web)
    wait_for(lambda: (web.world.dir / "hookd.log").read_text().count("wrong tokens over HTTP") == 1, what="one line in the log")


def test_no_token_is_no_guess(web):  # noqa: F811
    """T13: a page that is opened without a login, a script that has no token: refused, and not counted."""
    for _ in range(30):
        assert web.get("/metrics", token=False).status == 401
        assert web.get("/metrics", token=False, Cookie="other=1").status == 401
    assert "wrong tokens" not in (web.world.dir / "hookd.log").read_text()


def test_guessing_takes_neither_memory_nor_the_connections_of_others(web):  # noqa: F811
    """T13: more guesses at once than may wait, from several sides; meanwhile and afterwards the right token works."""
    pid, before = web.world.pid(), rss(web.world.pid())
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        all_of_them = [pool.submit(guesses, web, 500) for _ in range(4)]
        while not all(f.done() for f in all_of_them):
            assert web.get("/metrics").status == 200
            time.sleep(0.05)
        closed = sum(f.result() for f in all_of_them)
    assert 0 < closed < 2000
    assert rss(pid) - before < 8 << 20
    assert web.get("/metrics").status == 200


def test_secrets_of_the_door_are_random(web):  # noqa: F811
    """T14: codes and tokens share no digits beyond chance, and a used code or a made-up cookie opens nothing."""
    codes = {json.loads(web.world.hookd("url", "--json").stdout)["code"] for _ in range(10)} | {web.token}
    assert len(codes) == 11 and all(re.fullmatch(r"[0-9a-f]{32,}", c) for c in codes)
    for a in codes:
        for b in codes:
            assert a is b or os.path.commonprefix([a, b]) == "" or len(os.path.commonprefix([a, b])) < 8
    assert web.get(f"/login?code={web.code}", token=False).status == 303
    assert web.get(f"/login?code={web.code}", token=False).status == 403
    assert web.get("/metrics", token=False, Cookie=f"hookd_login={web.code}").status == 401


def test_modes_do_not_depend_on_the_umask(world):
    """T17: with umask 0 nothing of ours is for others, whichever path made it."""
    old = os.umask(0)
    try:
        web = Web(world)  # noqa: F811
        world.hookc("PostToolUse", tool("mode"))
        world.hookd("backup")
        world.stop()
        world.hookc("PostToolUse", tool("spooled"), env={"PATH": "/nowhere"})
        world.start()
        world.events()
    finally:
        os.umask(old)
    loose = [p for p in [world.dir, *world.dir.rglob("*")] if p.name != "places" and not p.is_symlink() and stat.S_IMODE(p.lstat().st_mode) & 0o077]
    assert loose == [] and web


def test_no_file_can_be_named_over_tcp(web):  # noqa: F811
    """T21: nor is one with .part behind it removed; on the Unix socket, where the program hookd asks, it can."""
    to = web.world.top / "copy.db"
    (web.world.top / "copy.db.part").write_text("mine")
    call = {"jsonrpc": "2.0", "id": 1, "method": "backup", "params": {"file": str(to)}}
    a = web.post("/rpc", call)
    assert a.json()["error"]["code"] == -32602 and "over TCP" in a.json()["error"]["message"]
    assert not to.exists() and (web.world.top / "copy.db.part").read_text() == "mine"
    assert "path" in web.post("/rpc", {"jsonrpc": "2.0", "id": 1, "method": "backup"}).json()["result"]
    body = json.dumps(call).encode()
    with web.connect(unix=True) as s:
        s.sendall(lines("POST /rpc HTTP/1.1", "Host: hookd", "Content-Type: application/json", f"Content-Length: {len(body)}") + body)
        assert read_answer(s).json()["result"]["path"] == str(to)


def test_words_that_mean_something_to_sql(web):  # noqa: F811
    """T22: as queries, names and ids; none of them is anything but a word."""
    web.world.hookc("UserPromptSubmit", payload("UserPromptSubmit", "q", prompt="plain words"))
    hostile = ["'", '"', "';--", "1 OR 1=1", "x' UNION SELECT * FROM facts--", "NEAR(", "a AND", "OR", "*", "^x", "col:x", '"unclosed', "a" * 10000, "\0", "%", "_", "\\",
               "(" * 500, "ATTACH DATABASE 'x' AS y", "PRAGMA writable_schema=1", "load_extension('x')", "{a b}:c", "- -", "\u202e", "\ud800".encode("utf-16", "surrogatepass").decode("utf-16", "replace")]
    for word in hostile:
        for method, params in [("search", {"query": word}), ("sessions", {"project": word}), ("sessions", {"query": word}), ("show", {"session": word}),
                               ("plan", {"plan": word}), ("events", {"session": word}), ("decisions", {"rule": word}), ("event", {"id": word})]:
            a = web.post("/rpc", {"id": 1, "method": method, "params": params})
            assert a.status == 200
            reply = a.json()
            if "error" in reply:
                assert reply["error"]["code"] in (-32602, -32000, -32001) and "syntax error" not in reply["error"]["message"].lower(), (method, word, reply)
    [session] = web.world.rpc("sessions")["sessions"]
    assert session["id"] == "q"
    with sqlite3.connect(f"file:{web.world.dir}/hookd.db?mode=ro", uri=True) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)

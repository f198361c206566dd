"""HTTP: the door, the reader, the routes, event streams. Requests are written byte by byte, not by a library."""
import json
import os
import re
import socket
import stat
import time

import pytest

from world import tool, wait_for


class Web:
    def __init__(self, world):
        world.start()
        self.world = world
        got = json.loads(world.hookd("url", "--json").stdout)
        self.address, self.code, self.unix = got["address"], got["code"], got["unix"]
        self.port = int(self.address.rsplit(":", 1)[1])
        self.token = world.hookd("token").stdout.decode().strip()

    def connect(self, unix=False):
        s = socket.socket(socket.AF_UNIX if unix else socket.AF_INET)
        s.settimeout(10)
        s.connect(self.unix if unix else ("127.0.0.1", self.port))
        return s

    def raw(self, data, unix=False):
        """All that comes back until the server closes or a whole answer is there."""
        with self.connect(unix) as s:
            s.sendall(data)
            return read_answer(s)

    def head(self, method, path, token=True, host=None, **fields):
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host or f'127.0.0.1:{self.port}'}"]
        lines += [f"Authorization: Bearer {self.token}"] if token is True else []
        lines += [f"{k.replace('_', '-')}: {v}" for k, v in fields.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def get(self, path, **kw):
        return self.raw(self.head("GET", path, **kw))

    def post(self, path, body, **kw):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        fields = {"Content_Type": "application/json", "Content_Length": len(body), **kw}
        return self.raw(self.head("POST", path, **fields) + body)


class Answer:
    def __init__(self, head, body):
        self.status = int(head.split(b" ", 2)[1]) if head else 0
        self.head, self.body = head.decode("latin-1"), body

    def json(self):
        return json.loads(self.body)


def read_answer(s):
    data = b""
    while b"\r\n\r\n" not in data:
        try:
            more = s.recv(65536)
        except ConnectionResetError:
            more = b""
        if not more:
            return Answer(b"", data)
        data += more
    head, body = data.split(b"\r\n\r\n", 1)
    length = int((re.search(rb"(?i)content-length: (\d+)", head) or [0, 0])[1])
    while len(body) < length:
        more = s.recv(65536)
        if not more:
            break
        body += more
    return Answer(head, body)


@pytest.fixture
def web(world):
    return Web(world)


# -- the door --------------------------------------------------------------------------------------

def test_health_is_open_and_says_nothing_else(web):
    a = web.get("/api/health", token=False)
    assert (a.status, a.json()) == (200, {"status": "ok"})


@pytest.mark.parametrize("path", ["/", "/metrics", "/events", "/rpc", "/mcp", "/no/such", "/api/health/x", "/login/"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_without_a_token_every_route_is_401_without_a_body(web, method, path):
    a = web.raw(web.head(method, path, token=False))
    assert a.status == 401 and a.body == b"", a.head


@pytest.mark.parametrize("bad", ["", "x", "Bearer", "Bearer ", "Basic {t}", "bearer {t}", "Bearer {t}x", "Bearer x{t}", "Bearer  {t}"])
def test_a_token_that_is_not_the_token_is_none(web, bad):
    a = web.get("/metrics", token=False, Authorization=bad.format(t=web.token))
    assert a.status == 401 and a.body == b""


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost", "127.0.0.1.evil.example:{p}", "localhost.:{p}", "127.0.0.1:1",
                                  "[::1]:{p}", "0.0.0.0:{p}", "127.1:{p}", ""])
def test_a_foreign_host_is_refused_even_with_the_token(web, host):
    assert web.get("/metrics", host=host.format(p=web.port) or " ").status in (400, 403)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{p}", "http://127.0.0.1", "http://127.0.0.1:{p}.evil.example", "file://"])
def test_a_foreign_page_is_refused_even_with_the_token(web, origin):
    assert web.get("/metrics", Origin=origin.format(p=web.port)).status == 403
    assert web.get("/metrics", Sec_Fetch_Site="cross-site").status == 403
    assert web.get("/metrics", Sec_Fetch_Site="same-site").status == 403


def test_our_own_page_may_ask(web):
    assert web.get("/metrics", Origin=web.address, Sec_Fetch_Site="same-origin").status == 200


def test_refused_before_the_body(web):
    """A body that would never end is not waited for."""
    with web.connect() as s:
        s.sendall(web.head("POST", "/rpc", token=False, Content_Type="application/json", Content_Length=10 ** 9))
        assert read_answer(s).status == 401
    with web.connect() as s:
        s.sendall(web.head("POST", "/rpc", Content_Type="application/json", Content_Length=10 ** 9))
        assert read_answer(s).status == 413


def test_a_login_works_once(web):
    a = web.get(f"/login?code={web.code}", token=False)
    cookie = re.search(r"Set-Cookie: (hookd_login=[0-9a-f]+); HttpOnly; SameSite=Strict; Path=/", a.head)
    assert a.status == 303 and "Location: /" in a.head and cookie
    assert web.get("/", token=False, Cookie=cookie[1]).status == 200
    assert web.get("/", token=False, Cookie=cookie[1][:-1]).status == 401
    assert web.get(f"/login?code={web.code}", token=False).status == 403
    assert web.get("/login?code=", token=False).status == 403
    assert web.get("/login", token=False).status == 403


def test_the_unix_socket_needs_no_token_and_is_the_users_alone(web):
    assert stat.S_IMODE(os.stat(web.unix).st_mode) == 0o600
    assert web.raw(b"GET /metrics HTTP/1.1\r\nHost: hookd\r\n\r\n", unix=True).status == 200
    assert web.raw(b"GET /metrics HTTP/1.1\r\nHost: hookd\r\nOrigin: http://hookd\r\n\r\n", unix=True).status == 403


def test_the_token_is_private_and_not_the_owners(web):
    path = web.world.dir / "http.token"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text() != (web.world.dir / "owner.token").read_text()
    a = web.post("/rpc", {"jsonrpc": "2.0", "id": 1, "method": "purge", "params": {"agent": "claude"}})
    assert a.json()["error"]["code"] == -32001


def test_nothing_listens_on_tcp_until_asked(world):
    world.start()
    assert json.loads(world.hookd("rpc", "http").stdout).get("address") is None
    assert not (world.dir / "run/http.address").exists()


# -- the reader ------------------------------------------------------------------------------------

HOST = b"Host: 127.0.0.1:%d\r\n"

HOSTILE = [
    b"GET / HTTP/1.1\nHOST\n\n", b"GET / HTTP/1.1\r\nHOSTX: a\r\n folded\r\n\r\n", b"GET / HTTP/1.1\r\nHOSTX : y\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nHOSTHOST\r\n", b"GET / HTTP/2.0\r\nHOST\r\n", b"GET / HTTP/1.2\r\nHOST\r\n",
    b"GET / http/1.1\r\nHOST\r\n", b"get / HTTP/1.1\r\nHOST\r\n", b"GET  / HTTP/1.1\r\nHOST\r\n", b"GET / HTTP/1.1 \r\nHOST\r\n",
    b"GET /\r\nHOST\r\n", b"GET http://127.0.0.1/ HTTP/1.1\r\nHOST\r\n", b"GET * HTTP/1.1\r\nHOST\r\n", b"GET /\x00 HTTP/1.1\r\nHOST\r\n",
    b"GET /a#b HTTP/1.1\r\nHOST\r\n", b"GET /\xc3\xa4 HTTP/1.1\r\nHOST\r\n", b"G\x00T / HTTP/1.1\r\nHOST\r\n", b" GET / HTTP/1.1\r\nHOST\r\n",
    b"\r\nGET / HTTP/1.1\r\nHOST\r\n", b"GET / HTTP/1.1\r\nHOST: novalue\r\n\r\n", b"GET / HTTP/1.1\r\nHOSTX\r\n\r\n",
    b"GET / HTTP/1.1\r\nHOSTX: a\x00b\r\n\r\n", b"GET / HTTP/1.1\r\nHOSTX: a\x01b\r\n\r\n", b"GET / HTTP/1.1\r\nHOSTX: a\x7fb\r\n\r\n",
    b"GET / HTTP/1.1\r\nHOSTX Y: a\r\n\r\n", b"GET / HTTP/1.1\r\nHOSTX\"Y: a\r\n\r\n", b"GET / HTTP/1.1\r\nHOSTX: a\rb\r\n\r\n",
    b"POST /rpc HTTP/1.1\r\nHOSTContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}", b"POST /rpc HTTP/1.1\r\nHOSTContent-Length: +2\r\n\r\n{}",
    b"POST /rpc HTTP/1.1\r\nHOSTContent-Length: 2, 2\r\n\r\n{}", b"POST /rpc HTTP/1.1\r\nHOSTContent-Length: -2\r\n\r\n{}",
    b"POST /rpc HTTP/1.1\r\nHOSTContent-Length: 0x2\r\n\r\n{}", b"POST /rpc HTTP/1.1\r\nHOSTContent-Length: \r\n\r\n{}",
    b"POST /rpc HTTP/1.1\r\nHOSTContent-Length: 9999999999999999999\r\n\r\n{}",
    b"POST /rpc HTTP/1.1\r\nHOSTTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n{}",
    b"POST /rpc HTTP/1.1\r\nHOSTTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST /rpc HTTP/1.1\r\nHOSTTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", b"POST /rpc HTTP/1.1\r\nHOSTTransfer-Encoding: identity\r\n\r\n",
    b"POST /rpc HTTP/1.1\r\nHOSTTransfer-Encoding:\x0bchunked\r\n\r\n", b"POST /rpc HTTP/1.1\r\nHOSTTransfer-Encoding : chunked\r\n\r\n",
    b"POST /rpc HTTP/1.0\r\nHOSTTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b"POST /rpc HTTP/1.1\r\nHOSTExpect: 200-ok\r\n\r\n",
    b"GET / HTTP/1.1\r\nHOSTCookie: a=b\r\nCookie: c=d\r\n\r\n", b"GET / HTTP/1.1\r\nHOSTAuthorization: x\r\nAuthorization: y\r\n\r\n",
    b"GET /" + b"a" * 17000 + b" HTTP/1.1\r\nHOST\r\n", b"GET / HTTP/1.1\r\nHOST" + b"X: y\r\n" * 70 + b"\r\n",
    b"GET / HTTP/1.1\r\nHOSTX: " + b"y" * 17000 + b"\r\n\r\n", b"X" * 20000, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
]


@pytest.mark.parametrize("n", range(len(HOSTILE)))
def test_a_request_that_could_be_read_in_two_ways_is_refused(web, n):
    token = b"Authorization: Bearer %s\r\n" % web.token.encode()
    text = HOSTILE[n].replace(b"HOST", HOST % web.port + token)
    if b"Authorization: x" in text:
        text = text.replace(token, b"")
    with web.connect() as s:
        s.sendall(text if b"\r\n\r\n" in text else text + b"\r\n")
        s.shutdown(socket.SHUT_WR)
        a = read_answer(s)
    assert a.status in (0, 400, 401, 403, 413, 431), a.head


CHUNKS = [(b"5\r\nhello\r\n0\r\n\r\n", True), (b"5;x=y\r\nhello\r\n0\r\n\r\n", False), (b"0x5\r\nhello\r\n0\r\n\r\n", False), (b"+5\r\nhello\r\n0\r\n\r\n", False),
          (b"5 \r\nhello\r\n0\r\n\r\n", False), (b"5\nhello\r\n0\r\n\r\n", False), (b"5\r\nhelloX\r\n0\r\n\r\n", False), (b"5\r\nhello\n0\r\n\r\n", False),
          (b"5\r\nhello\r\n0\r\nX: trailer\r\n\r\n", False), (b"00000005\r\nhello\r\n0\r\n\r\n", False), (b"fffffff\r\n", False), (b"-1\r\n\r\n", False), (b"\r\n0\r\n\r\n", False)]


@pytest.mark.parametrize("chunks, good", CHUNKS)
def test_chunks(web, chunks, good):
    a = web.raw(web.head("POST", "/rpc", Content_Type="application/json", Transfer_Encoding="chunked") + chunks)
    assert (a.status == 200) == good and (good or a.status in (400, 413)), a.head
    if good:
        assert a.json()["error"]["code"] == -32700  # it has read "hello"


def test_a_request_in_single_bytes_and_two_at_once(web):
    one = web.head("POST", "/rpc", Content_Type="application/json", Content_Length=45) + b'{"jsonrpc": "2.0", "id": 1, "method":"hello"}'
    with web.connect() as s:
        for i in range(len(one)):
            s.sendall(one[i:i + 1])
        assert read_answer(s).json()["result"]["protocol"]
        s.sendall(one + one)
        data = b""
        while data.count(b'"protocol"') < 2:
            data += s.recv(65536)


def test_expect_is_answered_before_the_body(web):
    body = b'{"jsonrpc":"2.0","id":1,"method":"hello"}'
    with web.connect() as s:
        s.sendall(web.head("POST", "/rpc", Content_Type="application/json", Content_Length=len(body), Expect="100-continue"))
        assert s.recv(100).startswith(b"HTTP/1.1 100 ")
        s.sendall(body)
        assert read_answer(s).status == 200


def test_old_clients_are_closed_after_the_answer(web):
    with web.connect() as s:
        s.sendall(b"GET /api/health HTTP/1.0\r\nHost: 127.0.0.1:%d\r\n\r\n" % web.port)
        assert read_answer(s).status == 200
        assert s.recv(1) == b""


def test_methods_and_types(web):
    a = web.get("/rpc")
    assert a.status == 405 and "Allow: POST" in a.head
    assert web.raw(web.head("DELETE", "/mcp")).status == 405
    assert web.post("/rpc", {}, Content_Type="text/plain").status == 415
    assert web.post("/rpc", {}, Content_Type="application/json; charset=utf-8").status == 200
    assert web.get("/no/such").status == 404


@pytest.mark.parametrize("path", ["/../etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/./rpc", "/rpc/", "/RPC", "/rpc%00",
                                  "/%72pc", "/static/../../etc/passwd", "/..;/rpc", "/\\..\\x", "/rpc;x=y", "/.git/config", "/%c0%ae%c0%ae/"])
def test_there_are_no_other_spellings_of_a_path(web, path):
    assert web.get(path).status == 404


def test_get_changes_nothing(web):
    before = json.loads(web.world.hookd("rpc", "status").stdout)
    for path in ("/", "/metrics", "/api/health", "/login?code=x"):
        web.get(path)
    after = json.loads(web.world.hookd("rpc", "status").stdout)
    assert after.get("events") == before.get("events")


# -- streams ---------------------------------------------------------------------------------------

def test_events_arrive_as_they_happen(web):
    with web.connect() as s:
        s.sendall(web.head("GET", "/events"))
        data = b""
        while b"retry:" not in data:
            data += s.recv(65536)
        assert b"text/event-stream" in data
        for n in range(5):
            web.world.hookc("PostToolUse", tool(n))
        while data.count(b"data: ") < 5:
            data += s.recv(65536)
    events = [json.loads(line[6:]) for line in data.decode().splitlines() if line.startswith("data: ")]
    assert [e["event"] for e in events] == ["PostToolUse"] * 5 and all(e["agent"] == "claude" for e in events)


def test_a_client_that_never_reads_holds_up_nobody(web):
    deaf = []
    for _ in range(20):
        s = web.connect()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.sendall(web.head("GET", "/events"))
        deaf.append(s)
    with web.world.connect() as fast:
        from world import DONE, hook, read_done
        for n in range(3000):
            fast.sendall(hook(json.dumps(tool(n)).encode()))
            assert read_done(fast)[0] == DONE
    assert web.get("/api/health").status == 200
    for s in deaf:
        s.close()


def test_slow_heads_end_and_others_go_on(web):
    slow = [web.connect() for _ in range(50)]
    for s in slow:
        s.sendall(b"GET / HT")
    assert web.get("/api/health").status == 200
    deadline = time.monotonic() + 20
    for s in slow:
        s.settimeout(max(0.1, deadline - time.monotonic()))
        assert s.recv(1) == b""
        s.close()


def test_a_stopped_daemon_leaves_no_socket(web):
    web.world.stop()
    assert not os.path.exists(web.unix) and not (web.world.dir / "run/http.address").exists()


# -- tools over HTTP -------------------------------------------------------------------------------

def test_mcp(web):
    P = "io.modelcontextprotocol/"
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "sessions", "arguments": {}, "_meta": {P + "protocolVersion": "2026-07-28", P + "clientCapabilities": {}}}}
    a = web.post("/mcp", call, MCP_Protocol_Version="2026-07-28", Mcp_Method="tools/call", Mcp_Name="sessions")
    assert a.status == 200 and a.json()["result"]["structuredContent"] == {"sessions": []}
    assert web.post("/mcp", call, MCP_Protocol_Version="2026-07-28", Mcp_Method="tools/list").status == 400
    assert web.post("/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}).status == 202
    assert web.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, MCP_Protocol_Version="1999-01-01").status == 400
    purge = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "purge", "arguments": {"agent": "x"}}}
    assert web.post("/mcp", purge).json()["error"]["code"] == -32602


def test_the_page_shows_captured_text_as_text(web):
    web.world.hookc("UserPromptSubmit", {"session_id": "<script>alert(1)</script>", "cwd": "/", "hook_event_name": "UserPromptSubmit", "prompt": "<b>"})
    a = web.get("/")
    assert a.status == 200 and b"<script>" not in a.body and "default-src 'none'" in a.head
    wait_for(lambda: b"<script>" not in web.get("/").body, what="the page")


# -- contracts -------------------------------------------------------------------------------------


def owners(web):
    return {"Authorization": "Bearer " + (web.world.dir / "owner.token").read_text().strip(), "token": False}


def test_contracts_are_listed_added_and_removed(web):
    """Seed 003: GET, POST and DELETE of /hooks/contracts, as the operations have them."""
    who = owners(web)
    assert web.get("/hooks/contracts", **who).json() == {"contracts": []}
    contract = {"name": "dash", "url": "http://127.0.0.1:9/", "events": ["stop"], "when": {"agent": "claude"}, "ttl_s": 60}
    a = web.post("/hooks/contracts", contract, **who)
    assert (a.status, a.json()) == (201, {"name": "dash"})
    listed, = web.get("/hooks/contracts", **who).json()["contracts"]
    assert (listed["name"], listed["type"], listed["origin"]) == ("dash", "webhook", "api") and listed["expires_us"]
    assert [s["name"] for s in web.world.json("sinks", "--json")["sinks"]] == ["dash"]
    for body, said in (({"name": "x"}, "url"), ({**contract, "url": "http://example.com/"}, "url"), ([], "JSON object"), (b"{", "JSON object"),
                       ({**contract, "ttl_s": 0}, "ttl_s"), ({**contract, "events": ["nonsense"]}, "no event")):
        a = web.post("/hooks/contracts", body, **who)
        assert a.status in (400, 409) and said in a.json()["error"], body
    gone = web.raw(web.head("DELETE", "/hooks/contracts/dash", **who))
    assert (gone.status, gone.json()) == (200, {"name": "dash"})
    again = web.raw(web.head("DELETE", "/hooks/contracts/dash", **who))
    assert again.status == 409 and "no contract" in again.json()["error"]
    assert web.get("/hooks/contracts", **who).json() == {"contracts": []}


def test_contracts_want_the_owners_token(web):
    """That of HTTP opens everything else, and is no guess here; on the Unix socket the operation asks for it."""
    for method, path in (("GET", "/hooks/contracts"), ("POST", "/hooks/contracts"), ("DELETE", "/hooks/contracts/x"), ("GET", "/hooks/properties")):
        fields = {"Content_Type": "application/json", "Content_Length": 2} if method == "POST" else {}
        for kw in ({"token": True}, {"token": False}, {"token": False, "Authorization": "Bearer " + "0" * 64}):
            a = web.raw(web.head(method, path, **kw, **fields) + (b"{}" if method == "POST" else b""))
            assert (a.status, a.body) == (401, b""), (method, path, kw)
    a = web.raw(web.head("DELETE", "/hooks/contracts/x", token=False), unix=True)
    assert a.status == 403 and "owner" in a.json()["error"]
    a = web.raw(web.head("PUT", "/hooks/contracts", **owners(web)))
    assert a.status in (401, 405) and (a.status == 401 or "Allow: GET, POST" in a.head)


def test_properties_are_what_a_contract_can_name(web):
    types = {t["type"]: t["properties"] for t in web.get("/hooks/properties", **owners(web)).json()["types"]}
    assert {"prompt", "answer", "session_id"} <= set(types["stop"]) and "tool_name" in types["PreToolUse"] and "answer" not in types["PreToolUse"]
    for name in types:
        a = web.post("/hooks/contracts", {"name": "x", "url": "http://127.0.0.1:9/", "events": [name]}, **owners(web))
        assert a.status == 201, (name, a.body)

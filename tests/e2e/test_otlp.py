"""OTLP: what Codex exports arrives in the store once, whichever way and however often it is told."""
import base64
import gzip
import json
import random
import subprocess
import time
import uuid
import zlib

import pytest

import otlp
from test_http import Web

TYPES = {"protobuf": ("application/x-protobuf", otlp.protobuf, b""), "json": ("application/json", otlp.as_json, b"{}")}


@pytest.fixture
def web(world):
    return Web(world)


def send(web, body, kind="protobuf", **fields):
    return web.post("/v1/logs", body, Content_Type=TYPES[kind][0], **fields)


def new_session():
    return str(uuid.uuid4())


def told(world, session):
    """The session as `hookd show` has it."""
    return json.loads(world.hookd("show", session, "--json").stdout)


def metric(web, name):
    text = web.get("/metrics").body.decode()
    return int(next(line.split()[1] for line in text.splitlines() if line.startswith(name + " ")))


def check_turn(world, session, prompt="Say hello", command="echo hi", calls=1):
    got = told(world, session)
    batches = got["batches"]
    assert [b["prompt"] for b in batches] == [prompt], batches
    tools = [a for b in batches for a in b["activities"] if a["kind"] == "tool"]
    assert len(tools) == calls, tools
    assert all(t["state"] == "done" and t["tool"] == "Bash" and command in json.dumps(t) for t in tools), tools
    return got


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("packed", [False, True])
def test_a_turn_is_stored_like_one_from_hooks(web, kind, packed):
    session = new_session()
    body = TYPES[kind][1](otlp.turn(session, time.time_ns()))
    fields = {"Content_Encoding": "gzip"} if packed else {}
    answer = send(web, gzip.compress(body) if packed else body, kind, **fields)
    assert (answer.status, answer.body) == (200, TYPES[kind][2]), answer.head
    assert f"Content-Type: {TYPES[kind][0]}" in answer.head
    check_turn(web.world, session)
    assert metric(web, "hookd_otlp_records_total") == 6 and metric(web, "hookd_otlp_events_total") == 5


def flavoured(logs, change):
    """The JSON of these records, with every object of it changed as another exporter would write it."""
    def walk(v):
        if isinstance(v, list):
            return [walk(x) for x in v]
        return change({k: walk(x) for k, x in v.items()}) if isinstance(v, dict) else v
    return json.dumps(walk(json.loads(otlp.as_json(logs)))).encode()


def numbers(o):
    return {k: int(v) if k in ("timeUnixNano", "observedTimeUnixNano", "intValue") else v for k, v in o.items()}


def identifiers(o):
    return {k: base64.b64encode(bytes.fromhex(v)).decode() if k in ("traceId", "spanId") else v for k, v in o.items()}


def names(o):
    return {k: "SEVERITY_NUMBER_INFO" if k == "severityNumber" else v for k, v in o.items()}


def unknown(o):
    return {"somethingNew": {"deep": [1, {"x": None}]}, **o, "another": "y"}


def backwards(o):
    return dict(reversed(o.items()))


@pytest.mark.parametrize("change", [numbers, identifiers, names, unknown, backwards])
def test_exporters_write_json_in_several_ways(web, change):
    """O06: numbers of 64 bits as text or as numbers, ids in hex or base64, names for enums, members nobody knows, any order."""
    session = new_session()
    assert send(web, flavoured(otlp.turn(session, time.time_ns()), change), "json").status == 200
    check_turn(web.world, session)


def test_curl_as_an_exporter_would(web, tmp_path):
    session = new_session()
    body = tmp_path / "body"
    body.write_bytes(gzip.compress(otlp.protobuf(otlp.turn(session, time.time_ns()))))
    done = subprocess.run(
        ["curl", "-sS", "-o", tmp_path / "answer", "-w", "%{http_code} %{content_type}", "--data-binary", f"@{body}",
         "-H", "Content-Type: application/x-protobuf", "-H", "Content-Encoding: gzip", "-H",
         f"Authorization: Bearer {web.token}", web.address + "/v1/logs"], capture_output=True, timeout=30)
    assert done.stdout == b"200 application/x-protobuf", done
    assert (tmp_path / "answer").read_bytes() == b""
    check_turn(web.world, session)


def test_a_batch_that_is_sent_again_counts_once_in_either_encoding(web):
    session, ns = new_session(), time.time_ns()
    for kind in ["protobuf", "json", "protobuf"]:
        assert send(web, TYPES[kind][1](otlp.turn(session, ns)), kind).status == 200
    check_turn(web.world, session)
    events = [e for e in web.world.events() if e.get("session") == session or e.get("session_id") == session]
    assert len(events) == 4, events  # tokens are not listed


def test_tokens_count_once_and_cached_ones_are_not_input(web):
    session, ns = new_session(), time.time_ns()
    for _ in range(2):
        assert send(web, otlp.protobuf(otlp.turn(session, ns))).status == 200
    usage = json.loads(web.world.hookd("usage", "--json").stdout)
    text = json.dumps(usage)
    assert '"input": 60' in text or '"input":60' in text, text
    assert '"output": 20' in text or '"output":20' in text, text


def test_secrets_are_removed(web):
    session = new_session()
    secret = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3hJ6"
    logs = otlp.turn(session, time.time_ns(), command=f"echo {secret}", output=secret + "\n")
    assert send(web, otlp.protobuf(logs)).status == 200
    check_turn(web.world, session, command="echo")
    assert not web.world.contains(secret.encode())


def test_a_private_prompt_mutes_what_follows_it(web):
    session = new_session()
    logs = otlp.turn(session, time.time_ns(), prompt="<private>nobody shall know</private>",
                     command="echo hidden-word", output="hidden-word\n")
    assert send(web, otlp.as_json(logs), "json").status == 200
    told(web.world, session)
    assert not web.world.contains(b"nobody shall know") and not web.world.contains(b"hidden-word")


def test_a_failed_call_and_a_denied_one(web):
    session, ns = new_session(), time.time_ns()
    logs = otlp.turn(session, ns, command="exit 3", output="broken\n", code=3)
    logs.append(otlp.Log("codex.tool_decision", session, ns + 90000000, tool_name="apply_patch", call_id="call_2",
                         decision="denied", source="User"))
    assert send(web, otlp.protobuf(logs)).status == 200
    tools = [a for b in told(web.world, session)["batches"] for a in b["activities"] if a["kind"] == "tool"]
    assert [(t["tool"], t["state"]) for t in tools] == [("Bash", "failed"), ("apply_patch", "denied")], tools


def test_a_hidden_prompt_opens_no_batch_of_its_own(web):
    session = new_session()
    assert send(web, otlp.protobuf(otlp.turn(session, time.time_ns(), prompt="[REDACTED]"))).status == 200
    check_turn(web.world, session, prompt="[Session continuation]")


# -- three ways at once -----------------------------------------------------------------------------

def hooks_of(session, prompt, command, call):
    common = {"session_id": session, "cwd": "/tmp", "model": "gpt-5.5", "permission_mode": "default"}
    turn = {**common, "turn_id": "turn-1"}
    shell = {**turn, "tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": call}
    return [("SessionStart", {**common, "source": "startup"}), ("UserPromptSubmit", {**turn, "prompt": prompt}),
            ("PreToolUse", shell), ("PostToolUse", {**shell, "tool_response": "hi\n"}),
            ("Stop", {**turn, "stop_hook_active": False, "last_assistant_message": "Hello."})]


@pytest.mark.parametrize("seed", range(6))
def test_hooks_notify_and_telemetry_are_one_turn_in_any_order(web, seed):
    """Telemetry may come at any moment, in any pieces, and more than once; hooks and notify keep their order."""
    chance = random.Random(seed)
    for n in range(5):
        session, call, prompt = new_session(), f"call_{seed}_{n}", f"Prompt {seed} {n}"
        # A call comes after its prompt, however long the hooks of this test take on a busy machine.
        logs = otlp.turn(session, time.time_ns(), call=call, prompt=prompt, think_ms=20000)
        ways = [("hook", h) for h in hooks_of(session, prompt, "echo hi", call)]
        ways.append(("notify", {"type": "agent-turn-complete", "thread-id": session, "turn-id": "turn-1", "cwd": "/tmp",
                                "input-messages": [prompt], "last-assistant-message": "Hello."}))
        cut = chance.randrange(len(logs))
        for piece in [logs[:cut], logs[cut:], logs]:
            ways.insert(chance.randrange(len(ways) + 1), ("otlp", piece))
        for way, what in ways:
            if way == "hook":
                assert web.world.hookc(what[0], what[1], agent="codex").returncode == 0
            elif way == "notify":
                assert web.world.hookc("notify", what, agent="codex").returncode == 0
            else:
                assert send(web, otlp.protobuf(what)).status == 200
        got = check_turn(web.world, session, prompt=prompt)
        assert got["batches"][0]["response"] == "Hello.", [w[0] for w in ways]


# -- hostile bodies ---------------------------------------------------------------------------------

def wrapped(record):
    return otlp.batch([record])


def nested(depth):
    value = otlp.any_value("x")
    for _ in range(depth):
        value = otlp.field(5, otlp.field(1, value))
    return wrapped(otlp.field(6, otlp.field(1, "a") + otlp.field(2, value)))


GOOD = otlp.protobuf(otlp.turn("s", 1794725359024014931))
BAD_PROTOBUF = {
    "a varint of eleven bytes": wrapped(b"\x10" + b"\xff" * 10 + b"\x01"),
    "a varint with too many bits": wrapped(b"\x10" + b"\xff" * 9 + b"\x02"),
    "field 0": wrapped(b"\x00\x01"),
    "a group": wrapped(b"\x0b\x0c"),
    "kind 6": wrapped(b"\x0e\x00"),
    "a length that lies": wrapped(b"\x32\x7f\x0a"),
    "a huge length": wrapped(b"\x32" + b"\xff" * 9 + b"\x01"),
    "cut short": GOOD[:-1],
    "cut in the middle": GOOD[:len(GOOD) // 2],
    "text": b"hello",
}


@pytest.mark.parametrize("name", BAD_PROTOBUF)
def test_bad_protobuf_is_refused_as_a_whole(web, name):
    assert send(web, BAD_PROTOBUF[name]).status == 400


@pytest.mark.parametrize("bad", [
    b"", b"null", b"[]", b"{", b'{"resourceLogs":{}', b'{"resourceLogs":[1]}', b'{"resourceLogs":[{"scopeLogs":[7]}]}',
    b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[null]}]}]}', b'{"resourceLogs":[]} x', b'{"resourceLogs":[],}',
    b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"attributes":[3]}]}]}]}', otlp.as_json(otlp.turn("s", 1))[:-3]])
def test_bad_json_is_refused_as_a_whole(web, bad):
    assert send(web, bad, "json").status == 400


def test_nesting_and_numbers_have_limits(web):
    assert send(web, nested(10)).status == 200
    assert send(web, nested(10000)).status == 413
    assert send(web, b'{"x":' + b"[" * 10000 + b"]" * 10000 + b"}", "json").status == 413
    # A million records in two megabytes.
    assert send(web, otlp.field(1, otlp.field(2, b"\x12\x00" * 1000000))).status == 413
    many = b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[' + b",".join([b"{}"] * 700000) + b"]}]}]}"
    assert send(web, many, "json").status == 413
    assert web.get("/api/health").status == 200


PACKED = gzip.compress(GOOD)


@pytest.mark.parametrize("body, status", [
    (PACKED, 200), (PACKED + gzip.compress(b""), 200), (gzip.compress(GOOD[:50]) + gzip.compress(GOOD[50:]), 200),
    (PACKED[:-1], 400), (PACKED[:-8] + b"\0\0\0\0" + PACKED[-4:], 400), (PACKED + b"x", 400), (PACKED + b"\0" * 8, 400),
    (zlib.compress(GOOD), 400), (GOOD, 400), (b"", 400)])
def test_gzip_is_followed_to_its_end(web, body, status):
    assert send(web, body, Content_Encoding="gzip").status == status


def test_a_bomb_is_refused_without_being_unpacked(web):
    one = gzip.compress(bytes(64 << 20), 9)
    before = rss(web.world.pid())
    assert send(web, one, Content_Encoding="gzip").status == 413
    assert send(web, one * 40, Content_Encoding="gzip").status == 413  # 2.5 GB
    assert rss(web.world.pid()) - before <= 8 << 20


def rss(pid):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith("VmHWM"))


def test_types_and_encodings_that_nobody_sends(web):
    assert web.post("/v1/logs", GOOD, Content_Type="text/plain").status == 415
    for encoding in ["deflate", "gzip, gzip", "br"]:
        assert send(web, PACKED, Content_Encoding=encoding).status == 415
    assert web.post("/rpc", gzip.compress(b"{}"), Content_Encoding="gzip").status == 415
    assert send(web, GOOD, Content_Encoding="identity").status == 200
    assert web.raw(web.head("POST", "/v1/logs", Content_Type="application/json", Content_Length=17 << 20)).status == 413
    for path in ["/v1/traces", "/v1/metrics"]:
        assert web.post(path, GOOD, Content_Type="application/x-protobuf").status == 404
    assert web.get("/v1/logs").status == 405
    assert web.raw(web.head("POST", "/v1/logs", token=False, Content_Length=5)).status == 401

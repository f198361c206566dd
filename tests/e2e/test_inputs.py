"""Malformed and hostile payloads and odd environments through the real client and daemon: no crash,
no hang, exit 0, nothing printed, and every event in the store in whole or reduced form, as valid UTF-8."""
import json
import os
import random
import resource
import subprocess
import threading

import pytest

from world import BUILD, DONE, HANG, alive, hook, payload, read_done, tool, wait_for

REAL = json.dumps(payload("PostToolUse", tool_name="Bash", tool_use_id="toolu_1", tool_input={"command": "echo \"}\" \\ {["},
                          tool_response={"stdout": "grün \U0001f600\n", "interrupted": False}, duration_ms=12)).encode()


def neutral(done):
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), done


def case(name, data):
    return pytest.param(data, id=name)


@pytest.mark.parametrize("data", [
    case("empty", b""), case("blanks", b" \n\t "), case("bom", b"\xef\xbb\xbf" + REAL),
    case("utf16le", REAL.decode().encode("utf-16-le")), case("utf16be-bom", b"\xfe\xff" + REAL.decode().encode("utf-16-be")),
    case("utf32", REAL.decode().encode("utf-32")), case("nul-first", b"\0" + REAL), case("nul-inside", b'{"a":"\0"}'),
    case("nul-after", REAL + b"\0\0"), case("garbage", REAL + b"garbage"), case("two", REAL + REAL),
    case("ndjson", REAL + b"\n" + REAL + b"\n"), case("array", b"[1,2]"), case("string", b'"x"'), case("number", b"12"),
    case("true", b"true"), case("null", b"null"), case("trailing-comma", b'{"a":1,}'), case("comment", b'{/**/"a":1}'),
    case("single", b"{'a':1}"), case("nan", b'{"a":NaN}'), case("hex", b'{"a":0x1}'), case("zeros", b'{"a":01}'),
    case("plus", b'{"a":+1}'), case("dot", b'{"a":.5}'), case("dot2", b'{"a":1.}'),
    case("digits", b'{"session_id":"d","a":' + b"9" * 10**7 + b"}"), case("exp", b'{"a":1e999999}'),
    case("128", b"[" * 128 + b"]" * 128), case("129", b"[" * 129 + b"]" * 129), case("1e4", b'{"a":' * 10**4 + b"1" + b"}" * 10**4),
    case("1e6", b"[" * 10**6 + b"]" * 10**6), case("1e6-open", b'{"a":[' * 10**6),
    case("keys", b"{" + b",".join(b'"k%d":0' % i for i in range(10**6)) + b"}"),
    case("duplicates", b'{"session_id":"a","session_id":"b"}'),
    case("escaped-key", b'{"session\\u005fid":"esc"}'), case("empty-key", b'{"":1}'), case("long-key", b'{"' + b"k" * 10**6 + b'":1}'),
    case("surrogates", b'{"a":"\\ud83d","b":"\\ude00\\ud83d","c":"\\ud83d"}'), case("nul-escape", b'{"session_id":"a\\u0000b","cwd":"/\\u0000"}'),
    case("escape", b'{"a":"\\x41"}'), case("control", b'{"a":"\x01\n"}'),
    case("odd", '{"a":"\ufffe\ue000\u202e\u200b\U000e0041"}'.encode()), case("combining", ('{"a":"x' + "\u0301" * 100000 + '"}').encode()),
])
def test_every_kind_of_text_is_kept(world, data):
    pid = world.start()
    neutral(world.hookc("PostToolUse", data))
    (e,) = world.events()
    json.dumps(e, ensure_ascii=False).encode("utf-8")  # valid: no lone surrogate came out
    assert e["event"] == "PostToolUse" and e["agent"] == "claude"
    assert alive(pid) and world.pid() == pid
    if BUILD.name == "build":  # sanitizers keep freed memory
        assert world.status()["rss_bytes"] < 120 << 20


def test_a_payload_truncated_at_any_byte_is_kept(world):
    world.start()
    with world.connect() as s:
        for n in range(len(REAL)):
            s.sendall(hook(REAL[:n]))
            assert read_done(s)[:2] == (DONE, 1)
    assert len(world.events()) == len(REAL)


def test_the_last_of_doubled_keys_counts(world):
    """As in the agents' own JSON.parse: what the agent would run is what is judged."""
    done = world.hookc("PreToolUse", b'{"session_id":"s","tool_name":"Bash","tool_use_id":"u",'
                       b'"tool_input":{"command":"ls"},"tool_input":{"command":"hookd-selftest-deny"}}')
    assert b'"deny"' in done.stdout


def test_escapes_in_keys_hide_nothing(world):
    done = world.hookc("PreToolUse", b'{"session_id":"s","tool\\u005fname":"Bash","tool_use_id":"u",'
                       b'"tool\\u005finput":{"comm\\u0061nd":"hookd\\u002dselftest-deny"}}')
    assert b'"deny"' in done.stdout


def test_every_invalid_utf8_in_valid_utf8_out(world):
    """All pairs of bytes, and each class of bad sequence, in keys, values and ids."""
    pieces = [bytes([a, b]) for a in range(0x80, 0x100) for b in range(0x00, 0x100, 3) if b not in (0x22, 0x5c) and b >= 0x20]
    pieces += [b"\xc0\x80", b"\xe0\x80\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xe2\x82", b"\xf0\x9f\x98"]
    world.start()
    with world.connect() as s:
        for i in range(0, len(pieces), 64):
            text = b"|".join(pieces[i:i + 64])
            s.sendall(hook(b'{"session_id":"' + text + b'","' + text + b'":"' + text + b'","tool_name":"' + text + b'"}'))
            assert read_done(s)[:2] == (DONE, 1)
    out = world.hookd("tail", "--json", "-n", 100000).stdout
    out.decode("utf-8")
    (world.dir / "hookd.log").read_bytes().decode("utf-8")
    world.hookd("sessions").stdout.decode("utf-8")
    world.hookd("tail").stdout.decode("utf-8")


def test_random_bytes(world):
    rng = random.Random(7)
    world.start()
    with world.connect() as s:
        for n in range(500):
            data = bytes(rng.randrange(256) for _ in range(rng.randrange(200)))
            s.sendall(hook(data, agent=bytes(rng.randrange(1, 256) for _ in range(8)),
                           event=bytes(rng.randrange(256) for _ in range(12))))
            assert read_done(s)[0] == DONE
    assert len(world.events()) == 500


def mutations(data, n, seed):
    rng = random.Random(seed)
    for _ in range(n):
        b = bytearray(data)
        for _ in range(rng.randint(1, 6)):
            at = rng.randrange(len(b))
            b[at:at + rng.randint(0, 3)] = bytes(rng.choice(b'{}[]",:\\u0\xff\x00 ') for _ in range(rng.randint(0, 3)))
        yield bytes(b)


def test_mutated_payloads(world):
    world.start()
    with world.connect() as s:
        for data in mutations(REAL, 2000, 11):
            s.sendall(hook(data))
            assert read_done(s)[0] == DONE
    assert len(world.events()) == 2000


def test_100_mb_payload(world):
    world.start()
    head = b'{"session_id":"big","hook_event_name":"PostToolUse","tool_name":"Bash","tool_use_id":"u","tool_response":"<private>'
    p = subprocess.Popen([str(BUILD / "hookc"), "claude", "PostToolUse"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, env=world.env)
    peak = []

    def watch():
        try:
            while p.poll() is None:
                with open(f"/proc/{p.pid}/status") as f:
                    peak.extend(int(line.split()[1]) for line in f if line.startswith("VmHWM"))
        except (OSError, ProcessLookupError):
            pass

    t = threading.Thread(target=watch)
    t.start()
    p.stdin.write(head)
    for _ in range(100):
        p.stdin.write(b"zebra---" * (1 << 17))
    p.stdin.write(b'"}')
    out, err = p.communicate(timeout=HANG)
    t.join()
    assert (p.returncode, out, err) == (0, b"", b"")
    assert max(peak) <= 24 << 10
    (e,) = world.events()
    assert e["marks"] & 1 and e["payload"]["cut"]["bytes"] == len(head) + (100 << 20) + 2
    # The tag was never closed in what was kept, so nothing behind it is.
    assert world.contains(b"zebra---") == []


def test_a_cut_tool_call_is_never_weaker_than_ask(world):
    data = json.dumps(payload("PreToolUse", tool_name="Bash", tool_use_id="u", tool_input={"command": "x" * (9 << 20)})).encode()
    done = world.hookc("PreToolUse", data)
    assert done.returncode == 0
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] in ("ask", "deny")


# -- the process's environment --------------------------------------------------------------------

@pytest.mark.parametrize("change", [
    {"HOME": ""}, {"HOME": "relative"}, {"HOME": "/"}, {"PATH": ""}, {"PATH": "."}, {"LANG": "xx_XX"}, {"LANG": "tr_TR.UTF-8"},
    {"LC_ALL": "ja_JP.SJIS"}, {"TZ": "Nowhere/Nothing"}, {"XDG_RUNTIME_DIR": "/nonexistent"}, {"MALLOC_PERTURB_": "7"},
])
def test_odd_environments_change_nothing(world, change):
    neutral(world.hookc("PreToolUse", tool(1, "PreToolUse"), env=change))
    world.hookd("status", ok=False, env=change)
    assert len(world.events()) == 1


@pytest.mark.parametrize("limit", [("NOFILE", 16), ("STACK", 256 << 10), ("AS", 64 << 20), ("FSIZE", 0), ("NPROC", 0)])
def test_a_client_with_tight_limits_still_delivers(world, limit):
    world.start()
    what = getattr(resource, "RLIMIT_" + limit[0])
    done = subprocess.run([str(BUILD / "hookc"), "claude", "PostToolUse"], input=REAL, env=world.env, capture_output=True,
                          preexec_fn=lambda: resource.setrlimit(what, (limit[1], limit[1])), timeout=HANG)
    neutral(done)
    assert len(world.events()) == 1


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_closed_descriptors_lose_no_event(world, closed):
    """Without a daemon, so that the hand-over and the start of one happen with descriptors missing."""
    subprocess.run([str(BUILD / "hookc"), "claude", "PostToolUse"], env=world.env, timeout=HANG, stdin=subprocess.DEVNULL,
                   preexec_fn=lambda: [os.close(fd) for fd in closed])
    wait_for(lambda: len(world.events()) == 1, what="the event")
    assert world.rpc("check")["ok"]


def test_a_state_directory_with_a_long_path_works(world):
    deep = world.dir / ("x" * 100) / ("y" * 100)
    deep.mkdir(parents=True)
    world.env["HOOKD_DIR"] = str(deep)
    neutral(world.hookc("PostToolUse", tool(1)))
    try:
        wait_for(lambda: len(world.events()) == 1, what="the event")
        neutral(world.hookc("PostToolUse", tool(2)))
        assert len(world.events()) == 2
        assert world.status()["events"]["received"] == 2
    finally:
        world.hookd("stop", ok=False)


def test_hostile_ids_of_sessions_are_only_words(world):
    world.start()
    for n, session in enumerate(["", ".", "../..", "x" * 100000, "a\nb", 'q"uote', "s'; DROP TABLE events;--", "%s%n", "\u202e"]):
        neutral(world.hookc("PostToolUse", payload("PostToolUse", session=session, tool_name="Read", tool_use_id=f"t{n}",
                                                   cwd="../" * 2000, transcript_path="/etc/shadow")))
    assert len(world.events()) == 9
    assert world.rpc("check")["ok"]
    assert not (world.top / "x").exists()

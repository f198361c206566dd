"""Hostile frames and lines on the socket."""
import array
import json
import os
import resource
import socket
import struct
import time

import pytest

from world import BUILD, DONE, REFUSED, field, frame, hook, read_done, read_frame, tool, wait_for


def good(world, n=1):
    with world.connect() as s:
        s.sendall(hook(json.dumps(tool(n)).encode()))
        assert read_done(s)[:2] == (DONE, 1)


@pytest.mark.parametrize("length", [8 << 20, (8 << 20) + (96 << 10) + 1, 2**31 - 1, 2**32 - 1])
def test_lengths_beyond_the_limit_are_refused(world, length):
    world.start()
    with world.connect() as s:
        s.sendall(frame(b"", length=length))
        if length > (8 << 20) + (96 << 10):
            assert read_frame(s)[0] == REFUSED
            assert s.recv(1) == b""
    good(world)
    if BUILD.name == "build":  # sanitizers keep freed memory
        assert world.status()["rss_bytes"] < 40 << 20


@pytest.mark.parametrize("body", [b"", b"\1", field(1, b"short"), field(1, b"0" * 16), field(6, b"claude"),
                                  struct.pack("<BI", 1, 2**32 - 1), field(1, b"0" * 16) + b"\6\xff\xff\xff\x7fx"])
def test_bodies_that_are_no_event_are_refused(world, body):
    world.start()
    with world.connect() as s:
        s.sendall(frame(body))
        assert read_frame(s)[0] == REFUSED
    good(world)
    assert len(world.events()) == 1


def test_frames_may_come_byte_by_byte(world):
    world.start()
    with world.connect() as s:
        for b in hook(json.dumps(tool(1)).encode()):
            s.send(bytes([b]))
        assert read_done(s)[:2] == (DONE, 1)


def test_many_frames_in_one_write_are_all_answered(world):
    world.start()
    n = 2000
    data = b"".join(hook(json.dumps(tool(i)).encode()) for i in range(n))
    with world.connect() as s:
        import threading
        t = threading.Thread(target=s.sendall, args=(data,))
        t.start()
        for _ in range(n):
            assert read_done(s)[:2] == (DONE, 1)
        t.join()
    assert len(world.events()) == n


def test_many_lines_in_one_write_are_all_answered(world):
    world.start()
    n = 20000
    with world.connect() as s:
        import threading
        t = threading.Thread(target=s.sendall, args=(b'{"id":1,"method":"hello"}\n' * n,))
        t.start()
        f = s.makefile("rb")
        for _ in range(n):
            assert b'"result"' in f.readline()
        t.join()


def test_half_close_reset_and_answers_nobody_reads(world):
    world.start()
    with world.connect() as s:
        s.sendall(hook(json.dumps(tool(1)).encode()))
        s.shutdown(socket.SHUT_WR)
        assert read_done(s)[:2] == (DONE, 1)
    s = world.connect()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.sendall(hook(json.dumps(tool(2)).encode()))
    s.close()
    stuck = world.connect()
    stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    stuck.setblocking(False)
    try:
        for _ in range(100000):
            stuck.send(b'{"id":1,"method":"status"}\n')
    except BlockingIOError:
        pass
    good(world, 3)
    wait_for(lambda: len(world.events()) == 3, what="all three")
    stuck.close()


@pytest.mark.parametrize("proto", [0, 2, 255])
def test_other_protocol_numbers_are_refused(world, proto):
    world.start()
    with world.connect() as s:
        s.sendall(frame(b"x", proto=proto))
        assert read_frame(s)[0] == REFUSED


@pytest.mark.parametrize("kind", [0, 2, 3, 4, 99])
def test_other_types_are_refused(world, kind):
    world.start()
    with world.connect() as s:
        s.sendall(frame(b"x", kind=kind))
        assert read_frame(s)[0] == REFUSED


def test_flags_that_nobody_has_are_refused(world):
    """R06: the byte is for later; a frame that needs something we do not know is not taken for one without."""
    world.start()
    for flags in (1, 2, 128, 255):
        with world.connect() as s:
            data = bytearray(hook(json.dumps(tool(f"flag{flags}")).encode()))
            data[3] = flags
            s.sendall(data)
            assert read_frame(s)[0] == REFUSED
    assert world.events() == []


def test_unknown_fields_are_skipped(world):
    world.start()
    body = hook(json.dumps(tool(1)).encode())[8:]
    with world.connect() as s:
        s.sendall(frame(field(200, b"from the future") + body))
        assert read_done(s)[:2] == (DONE, 1)


def test_a_thousand_idle_and_a_thousand_short_connections(world):
    world.start()
    idle = [world.connect() for _ in range(1000)]
    for _ in range(1000):
        world.connect().close()
    good(world)
    assert world.status()["server"]["connections"] >= 1000
    for s in idle:
        s.close()


def test_descriptors_sent_along_are_dropped(world):
    pid = world.start()
    with world.connect() as s, open(world.top / "sent", "w") as sent:
        fds = array.array("i", [sent.fileno()] * 15)
        s.sendmsg([hook(json.dumps(tool(1)).encode())], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        assert read_done(s)[0] == DONE
        kept = [os.readlink(f"/proc/{pid}/fd/{n}") for n in os.listdir(f"/proc/{pid}/fd") if os.path.lexists(f"/proc/{pid}/fd/{n}")]
        assert str(world.top / "sent") not in kept


def test_a_client_that_dies_is_recorded_all_the_same(world):
    world.start()
    for n in range(50):
        s = world.connect()
        s.sendall(hook(json.dumps(tool(n)).encode()))
        s.close()
    wait_for(lambda: len(world.events()) == 50, what="all events")


def test_endless_line(world):
    world.start()
    with world.connect() as s:
        try:
            for _ in range(128):
                s.sendall(b"x" * 65536)
            assert s.recv(1) == b""
        except (BrokenPipeError, ConnectionResetError):
            pass
    good(world)


def test_large_payloads_go_through_a_worker(world):
    world.start()
    big = tool(1, tool_response={"stdout": "x" * 300000})
    small = tool(2)
    with world.connect() as a, world.connect() as b:
        a.sendall(hook(json.dumps(big).encode()))
        b.sendall(hook(json.dumps(small).encode()))
        assert read_done(b)[:2] == (DONE, 1)
        assert read_done(a)[:2] == (DONE, 1)
    assert {len(json.dumps(e["payload"])) > 300000 for e in world.events()} == {True, False}


def test_sixteen_bytes_that_are_no_ulid_still_are_a_key(world):
    world.start()
    with world.connect() as s:
        s.sendall(hook(json.dumps(tool(1)).encode(), key=b"\xff" * 16))
        assert read_done(s)[:2] == (DONE, 1)
    assert world.events()[0]["id"] == "7" + "Z" * 25


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as f:
        words = f.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def test_more_connections_than_there_may_be_wait_without_a_spinning_daemon(world):
    need = 4096 + 64
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < need + 64:
        pytest.skip("not enough descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, need + 64), hard))
    try:
        pid = world.start()
        some = [world.connect() for _ in range(need)]
        wait_for(lambda: len(os.listdir(f"/proc/{pid}/fd")) > 4096, what="the limit to be reached")
        before = cpu_seconds(pid)
        time.sleep(1)
        assert cpu_seconds(pid) - before < 0.3
        for s in some:
            s.close()
        good(world)
        assert world.hookd("logs").stdout.count(b"new connections wait") == 1
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("at_ms", [1 << 48, 2**63 - 1, 2**64 - 1])
def test_times_that_are_none_are_refused(world, at_ms):
    world.start()
    with world.connect() as s:
        s.sendall(hook(json.dumps(tool(1)).encode(), at_ms=at_ms))
        assert read_frame(s)[0] == REFUSED
    good(world)

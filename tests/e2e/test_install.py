"""make install and make uninstall: what they build, where it goes, and that it works there."""
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from world import ROOT, World, payload, wait_for

PATIENCE = 600  # seconds: everything is compiled once


@pytest.fixture(scope="module")
def place():
    """A build folder of its own, because installing elsewhere changes it."""
    top = pathlib.Path(tempfile.mkdtemp(prefix="hk.install."))
    yield top
    shutil.rmtree(top, ignore_errors=True)


def make(place, *args):
    env = {**os.environ, "CFLAGS": "-O0"}
    return subprocess.run(["make", "-s", "-C", str(ROOT), f"BUILD={place / 'build'}", *args], env=env, timeout=PATIENCE,
                          capture_output=True, text=True, check=True).stdout


def programs(prefix):
    return sorted(str(p.relative_to(prefix)) for p in prefix.rglob("*") if p.is_file())


def grammars(place):
    """Those that could be made: without npm or a network there are none."""
    made = sorted(p.name for p in (place / "build/grammars").glob("*.so"))
    return made if "runtime.so" in made else []


def installed(place):
    return ["bin/hookc", "bin/hookd", "share/hookd/encoder.bin"] + [f"share/hookd/grammars/{g}" for g in grammars(place)]


def test_prefix_holds_whatever_the_folder_was_set_up_with(place):
    for name in ("one", "two"):
        prefix = place / name
        told = make(place, "install", f"PREFIX={prefix}")
        assert told.splitlines() == [f"installed {prefix}/share/hookd/encoder.bin", f"installed {prefix}/bin/hookd",
                                     f"installed {prefix}/bin/hookc"] + \
            [f"installed {prefix}/share/hookd/grammars"] * bool(grammars(place))
        assert programs(prefix) == installed(place)
        assert f"{prefix}/bin/hookd".encode() in (prefix / "bin/hookc").read_bytes()
    assert str(place / "one").encode() not in (place / "two/bin/hookc").read_bytes()
    built = {p.name for p in (place / "build/tests").glob("*") if p.is_file() and os.access(p, os.X_OK)}
    assert built == set(), "only the two programs are built"


def test_what_was_installed_works_alone_and_finds_its_daemon(place):
    world = World(build=place / "two/bin")
    away = place / "away"
    away.mkdir()
    shutil.copy(place / "two/bin/hookc", away)  # without its sibling
    try:
        done = subprocess.run([str(away / "hookc"), "claude", "Stop"], input=b'{"session_id":"s1"}', env=world.env,
                              capture_output=True, timeout=60)
        assert done.returncode == 0
        wait_for(lambda: len(world.events()) == 1, what="the event")
        world.hookc("Stop", payload("Stop"))
        assert len(world.events()) == 2
    finally:
        world.close()


def test_uninstall_takes_away_what_install_put_there(place):
    prefix = place / "one"
    (prefix / "bin/other").write_text("of somebody else")
    told = make(place, "uninstall", f"PREFIX={prefix}")
    assert told.splitlines() == [f"removed {prefix}/bin/hookd", f"removed {prefix}/bin/hookc",
                                 f"removed {prefix}/share/hookd/encoder.bin"] + \
        [f"removed {prefix}/share/hookd/grammars"] * bool(grammars(place))
    assert programs(prefix) == ["bin/other"] and programs(place / "two") == installed(place)
    assert "there is no" in make(place, "uninstall", f"PREFIX={prefix}")


def test_a_staging_directory_is_put_before_the_prefix(place):
    make(place, "install", "PREFIX=/opt/hookd", f"DESTDIR={place / 'stage'}")
    assert programs(place / "stage/opt/hookd") == installed(place)
    assert b"/opt/hookd/bin/hookd" in (place / "stage/opt/hookd/bin/hookc").read_bytes()

import pytest

import codex_cli
import copilot_cli
import gemini_cli
import hookd as adapter
import model as scripted
import opencode_cli
import qwen_cli
import rig as rigs

OFFLINE = rigs.leave_network()


def pytest_report_header():
    return "network: " + ("only loopback" if OFFLINE else "not isolated (needs root)")


@pytest.fixture
def offline():
    return OFFLINE


@pytest.fixture
def rig():
    r = rigs.Rig()
    try:
        yield r
    finally:
        r.stop()


@pytest.fixture
def model(rig):
    """model(steps, lanes…) starts a scripted model that ends with the test."""
    running = []

    def start(steps, *lanes):
        m = scripted.Model(steps, lanes, log_file=rig.root / "model.jsonl")
        running.append(m)
        return m.__enter__()

    yield start
    for m in running:
        m.__exit__()


@pytest.fixture
def claude(rig):
    return rigs.Claude(rig)


@pytest.fixture
def codex(rig):
    return codex_cli.Codex(rig)


@pytest.fixture
def gemini(rig):
    return gemini_cli.Gemini(rig)


@pytest.fixture
def copilot(rig):
    return copilot_cli.Copilot(rig)


@pytest.fixture
def qwen(rig):
    return qwen_cli.Qwen(rig)


@pytest.fixture
def opencode(rig):
    return opencode_cli.Opencode(rig)


@pytest.fixture
def hookd(rig):
    return adapter.Hookd(rig)

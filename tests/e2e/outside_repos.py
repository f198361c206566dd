"""Repositories, and what agents say of them, for the outsider's tests of the code index."""
import itertools
import json
import os
import pathlib
import re
import signal
import subprocess

from world import wait_for

SOON = 60  # seconds within which "soon" is; nobody waits that long unless something is wrong

TOPICS = {
    "billing/ledger.py": ("reconcile_ledger_entries", "rounding remainder cents ledger entries double booking"),
    "weather/forecast.py": ("blend_forecast_models", "temperature humidity ensemble forecast pressure"),
    "audio/mixer.py": ("attenuate_channel_gain", "decibel gain channel mixer clipping waveform"),
    "garden/irrigation.py": ("schedule_sprinkler_zones", "soil moisture sprinkler zones watering evaporation"),
    "chess/engine.py": ("evaluate_pawn_structure", "pawn doubled isolated bishop endgame evaluation"),
    "mail/bounce.py": ("classify_bounce_notice", "smtp bounce mailbox undeliverable postmaster"),
    "maps/tiles.py": ("stitch_raster_tiles", "raster tile zoom mercator stitching overlap"),
    "auth/sessions.py": ("rotate_refresh_cookie", "cookie refresh rotation login expiry"),
    "video/subtitle.py": ("shift_subtitle_cues", "subtitle cue offset frame caption drift"),
    "bank/iban.py": ("checksum_iban_number", "iban checksum modulo country digits"),
    "robot/gripper.py": ("release_gripper_force", "gripper torque servo grasp newton"),
    "genome/align.py": ("align_codon_reads", "codon nucleotide alignment reads gap penalty"),
}


def body(name, words, extra=""):
    w = words.split()
    return (f'def {name}(items, limit=10):\n    """{words.capitalize()}: {name.replace("_", " ")}."""\n'
            f"    {w[0]} = []\n    for {w[1]} in items:\n        if {w[1]} > limit:\n"
            f"            {w[0]}.append({w[1]} % limit)\n        else:\n            {w[0]}.append({w[1]})\n{extra}"
            f"    {w[2]} = sum({w[0]})\n    return {w[2]}, len({w[0]})\n")


PROMPT = "reconcile_ledger_entries in billing/ledger.py loses the rounding remainder cents of ledger entries, fix it"


def git(repo, *args):
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", "-c", "user.name=o", "-c", "user.email=o@example.org", "-c", "init.defaultBranch=main",
                           "-c", "protocol.file.allow=always", *args], cwd=repo, env=env, capture_output=True)
    assert done.returncode == 0, done
    return done.stdout.decode()


def put(repo, name, text):
    path = os.path.join(os.fsencode(str(repo)), os.fsencode(name))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())
    return path


def plain(world, files=None, name="repo"):
    """A directory with files, without git."""
    repo = world.top / name
    repo.mkdir(parents=True, exist_ok=True)
    for path, text in (files or {}).items():
        put(repo, path, text)
    return repo


def made(world, files=None, name="repo", commit=True):
    repo = plain(world, files, name)
    git(repo, "init", "-q")
    if commit:
        git(repo, "add", "-A")
        git(repo, "commit", "-q", "--allow-empty", "-m", "x")
    return repo


def library(world, more=None, name="repo"):
    files = {path: "import os\n\n\n" + body(*about) for path, about in TOPICS.items()}
    return made(world, {**files, **(more or {})}, name)


def index(world, repo, vectors=False, **kw):
    return world.hookd("index", *([] if vectors else ["--no-vectors"]), repo, seconds=300, **kw)


def rows(answer):
    if isinstance(answer, list):
        return answer
    for value in answer.values():
        if isinstance(value, list):
            return value
    return []


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for v in value.values():
            yield from strings(v)
    elif isinstance(value, list):
        for v in value:
            yield from strings(v)


def numbers(value):
    if isinstance(value, bool):
        return
    if isinstance(value, int):
        yield value
    elif isinstance(value, dict):
        for v in value.values():
            yield from numbers(v)
    elif isinstance(value, list):
        for v in value:
            yield from numbers(v)


def code(world, repo, query, lines=60, limit=20):
    return rows(world.json("code", "--json", "--lines", lines, "-n", limit, "-p", repo, query))


def has(world, repo, token, where=None):
    """A piece that contains the token is found by it (in this file)."""
    return [r for r in code(world, repo, token)
            if any(token in s for s in strings(r)) and (where is None or any(where in s for s in strings(r)))]


def named(world, repo, name):
    got = world.json("symbols", "--json", "-p", repo, name)
    return [r for r in rows(got) if any(name == s or s.endswith((f".{name}", f"::{name}", f"#{name}", f" {name}")) for s in strings(r))]


def soon(world, repo, token, where=None):
    return wait_for(lambda: has(world, repo, token, where), SOON, f"{token} to be found")


def gone(world, repo, token):
    wait_for(lambda: not has(world, repo, token), SOON, f"{token} to be forgotten")


# -- what agents say --------------------------------------------------------------------------------

def start_event(agent, repo, session="s1", source="startup"):
    if agent == "cursor":
        return "sessionStart", {"conversation_id": session, "session_id": session, "hook_event_name": "sessionStart",
                                "workspace_roots": [str(repo)]}
    if agent == "copilot":
        return "sessionStart", {"sessionId": session, "timestamp": 1794725694835, "cwd": str(repo), "source": "new"}
    return "SessionStart", {"session_id": session, "hook_event_name": "SessionStart", "cwd": str(repo), "source": source}


def prompt_event(agent, repo, prompt, session="s1", n=1):
    if agent == "gemini":
        return "BeforeAgent", {"session_id": session, "hook_event_name": "BeforeAgent", "cwd": str(repo),
                               "transcript_path": "", "timestamp": "2026-11-15T06:47:41.202Z", "prompt": prompt}
    if agent == "cursor":
        return "beforeSubmitPrompt", {"conversation_id": session, "generation_id": f"g{n}",
                                      "hook_event_name": "beforeSubmitPrompt", "workspace_roots": [str(repo)],
                                      "prompt": prompt, "attachments": []}
    if agent == "copilot":
        return "userPromptSubmitted", {"sessionId": session, "timestamp": 1794725694835, "cwd": str(repo), "prompt": prompt}
    return "UserPromptSubmit", {"session_id": session, "hook_event_name": "UserPromptSubmit", "cwd": str(repo),
                                "prompt": prompt}


def written_event(agent, repo, path, text, session="s1"):
    path = str(path)
    if agent in ("claude", "qwen"):
        name = {"claude": "Write", "qwen": "write_file"}[agent]
        return "PostToolUse", {"session_id": session, "hook_event_name": "PostToolUse", "cwd": str(repo),
                               "tool_name": name, "tool_input": {"file_path": path, "content": text},
                               "tool_response": {"success": True}, "tool_use_id": "w1"}
    if agent == "codex":
        patch = f"*** Begin Patch\n*** Add File: {os.path.relpath(path, repo)}\n" + \
                "".join(f"+{line}\n" for line in text.splitlines()) + "*** End Patch\n"
        return "PostToolUse", {"session_id": session, "hook_event_name": "PostToolUse", "cwd": str(repo),
                               "tool_name": "apply_patch", "tool_input": {"command": patch},
                               "tool_response": "Success", "tool_use_id": "w1"}
    if agent == "gemini":
        return "AfterTool", {"session_id": session, "hook_event_name": "AfterTool", "cwd": str(repo),
                             "transcript_path": "", "timestamp": "2026-11-15T06:47:41.202Z", "tool_name": "write_file",
                             "tool_input": {"file_path": path, "content": text}, "tool_response": {"llmContent": "ok"}}
    if agent == "cursor":
        return "afterFileEdit", {"conversation_id": session, "generation_id": "g1", "hook_event_name": "afterFileEdit",
                                 "workspace_roots": [str(repo)], "file_path": path,
                                 "edits": [{"old_string": "", "new_string": text}]}
    if agent == "copilot":
        return "postToolUse", {"sessionId": session, "timestamp": 1794725694835, "cwd": str(repo), "toolName": "create",
                               "toolArgs": {"path": path, "file_text": text},
                               "toolResult": {"resultType": "success", "textResultForLlm": "ok"}}
    raise AssertionError(agent)


def said(done):
    """Everything that an answer gives the model to read."""
    assert done.returncode == 0, done
    text = done.stdout.decode()
    try:
        return "\n".join(strings(json.loads(text)))
    except ValueError:
        return text


def prompt(world, repo, text=PROMPT, agent="claude", session="s1", n=1):
    event, what = prompt_event(agent, repo, text, session, n)
    return said(world.hookc(event, what, agent))


def begin(world, repo, agent="claude", session="s1", source="startup"):
    event, what = start_event(agent, repo, session, source)
    return said(world.hookc(event, what, agent))


PIECE = re.compile(r"\*\*(?P<path>[^\n]+?)\*\* \(L(?P<a>\d+)-(?P<b>\d+)\)(?: - `(?P<symbol>[^`\n]+)`)?[^\n]*\n+"
                   r"(?P<fence>`{3,}|~{3,})(?P<lang>[^\n`]*)\n(?P<text>.*?)\n(?P=fence)[`~]*[ ]*(?:\n|$)", re.S)


def pieces(text):
    return [m.groupdict() for m in PIECE.finditer(text)]


def given(world, repo, text=PROMPT, **kw):
    """The pieces given with a prompt; the answer may need the index of the moment, so it is asked in new sessions. Without
    vectors no code is given, and the daemon makes those of changed files only while the machine has nothing else to do: if
    they do not come, they are asked for."""
    count = itertools.count()

    def ask():
        return pieces(prompt(world, repo, text, session=f"g{next(count)}", **kw))

    try:
        return wait_for(ask, 10, "code with a prompt")
    except AssertionError:
        index(world, repo, vectors=True)
        return wait_for(ask, 30, "code with a prompt, after its index was made")


def children(pid):
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            found += [int(p) for p in (task / "children").read_text().split()]
        except OSError:
            pass
    return found


def indexers(world):
    """Pids of indexers below our own daemon."""
    found, look = [], [world.pid()] if world.pid() else []
    while look:
        try:
            below = children(look.pop())
        except OSError:
            continue
        for pid in below:
            look.append(pid)
            try:
                if b"indexer" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(pid)
            except OSError:
                pass
    return found


def end(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def ask(world, method, params):
    with world.connect() as s:
        s.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
        data = b""
        while not data.endswith(b"\n"):
            more = s.recv(65536)
            if not more:
                break
            data += more
    return json.loads(data)


TOKENS = ["ghp_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA1bC3", "AKIA" + "Q3ZX7KLM2NPR5TUV", "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc",
          "xoxb-" + "123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx"]

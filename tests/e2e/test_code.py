"""The code of a repository: indexed, followed, searched, whatever happens to the indexer or is in the tree."""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

import pytest

from world import alive, payload, wait_for

ANIMALS = ["zebra", "giraffe", "hippo", "walrus", "badger", "otter", "lemur", "ibex", "quokka", "tapir", "okapi", "civet"]


@pytest.fixture
def repo(world):
    root = world.top / "repo"
    # By words alone what is found does not depend on how far vectors are, which wait for a machine that is not busy.
    (world.dir / "config.json").write_text('{"context": {"encoder": false}}')
    git(root, "init", "-q", make=True)
    for animal in ANIMALS:
        write(root / f"src/{animal}.py", f"def feed_{animal}(amount):\n    \"\"\"Gives the {animal} its hay.\"\"\"\n    return amount\n")
    write(root / "README.md", "# Zoo\n\nHow the keepers feed everybody.\n")
    return root


def git(root, *args, make=False):
    if make:
        root.mkdir(parents=True)
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *args], cwd=root, check=True, capture_output=True)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def index(world, root, **kw):
    return world.json("index", "--json", "--no-vectors", root, **kw)


def code(world, root, *words, **kw):
    return world.json("code", "--json", "--project", root, *words, **kw)["hits"]


def paths(world, root, *words):
    return [hit["path"] for hit in code(world, root, *words)]


def first(world, root, *words):
    return (paths(world, root, *words) or [None])[0]


def indexer(world, root):
    """The pid of the indexer of a root."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = pathlib.Path("/proc", pid, "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[1:2] == [b"indexer"] and os.fsencode(root) in words and os.fsencode(world.dir) in words:
            return int(pid)
    return None


def tell(world, root, event="SessionStart", **more):
    assert world.hookc(event, payload(event, cwd=str(root), **more)).returncode == 0


def wrote(world, root, path, n=[0]):
    n[0] += 1
    tell(world, root, "PostToolUse", tool_name="Write", tool_use_id=f"w{n[0]}", tool_input={"file_path": str(path), "content": "x"})


def follow(world, root):
    """An indexer that has seen everything once."""
    tell(world, root, source="startup")
    wait_for(lambda: world.json("index", "status", "--json", root)["scans"] > 0, what="the first scan")


def rows(world, root):
    """What an index holds, without keys and times."""
    state = world.json("index", "status", "--json", root)
    found = {word: sorted((h["path"], h["line"], h["lines"], h.get("symbol")) for h in code(world, root, word, "--limit", "100"))
             for word in [*ANIMALS, "amount", "keepers"]}
    return state["files"], state["pieces"], state["symbols"], found


def fresh_rows(world, root):
    shutil.rmtree(world.dir / "code")
    index(world, root)
    return rows(world, root)


# -- in the foreground -----------------------------------------------------------------------------

def test_index_without_a_daemon(world, repo):
    state = index(world, repo)
    assert state["indexed"] and state["files"] == len(ANIMALS) + 1 and not world.daemons()
    assert state["pieces"] >= state["files"]


def test_code_is_found_by_words_and_names(world, repo):
    index(world, repo)
    hit = code(world, repo, "who gives hay to the walrus")[0]
    assert hit["path"] == "src/walrus.py" and hit["line"] == 1 and "hay" in hit["text"]
    assert first(world, repo, "feed_otter") == "src/otter.py"
    assert world.json("search", "--json", "--in", "code", "walrus", cwd=repo)["hits"][0]["kind"] == "code"


def test_symbols_and_map(world, repo):
    if not (world.build / "grammars/python.so").exists():
        pytest.skip("no grammars here")
    index(world, repo)
    found = world.json("symbols", "--json", "--project", repo, "feed_w")["symbols"]
    assert [(s["path"], s["line"], s["symbol"]) for s in found] == [("src/walrus.py", 1, "feed_walrus")]
    text = world.json("map", "--json", "--project", repo, "--tokens", "60")
    assert "feed_" in text["text"] and text["tokens"] <= 60
    assert "otter" not in world.json("map", "--json", "--project", repo, "docs")["text"]


def test_recall_gives_code_and_memories(world, repo):
    index(world, repo)
    world.hookd("remember", "the walrus eats fish, not hay", "--project", repo)
    line = json.dumps({"id": 7, "query": "what does the walrus eat", "project": str(repo)})
    answer = json.loads(world.hookd("recall", "--batch", input=line.encode()).stdout)
    kinds = {hit["kind"] for hit in answer["hits"]}
    assert answer["id"] == 7 and kinds == {"memory", "code"}
    hit = next(h for h in answer["hits"] if h["kind"] == "code")
    assert hit["ref"] == f"{hit['path']}:{hit['line']}-{hit['line'] + hit['lines'] - 1}"
    for only in ("memory", "code"):
        answer = json.loads(world.hookd("recall", "--batch", "--in", only, input=line.encode()).stdout)
        assert {hit["kind"] for hit in answer["hits"]} == {only}


def test_a_second_run_reads_nothing(world, repo):
    index(world, repo)
    time.sleep(0.1)  # files as new as the clock is coarse are read twice
    index(world, repo)
    before = {p: p.stat().st_ino for p in (world.dir / "code").rglob("*.seg")}
    index(world, repo)
    assert {p: p.stat().st_ino for p in (world.dir / "code").rglob("*.seg")} == before


@pytest.mark.parametrize("version", [2, 4])
def test_what_git_knows_counts_even_if_it_is_ignored(world, repo, version):
    git(repo, "config", "index.version", str(version))
    write(repo / ".gitignore", "lib/\n*.gen.py\n")
    write(repo / "lib/kept/wombat.py", "def feed_wombat():\n    return 1\n")
    write(repo / "lib/kept/stray.py", "def stray_wombat():\n    return 1\n")
    write(repo / "forced.gen.py", "def forced_wombat():\n    return 1\n")
    git(repo, "add", "-f", "lib/kept/wombat.py", "forced.gen.py", "src")
    index(world, repo)
    assert sorted(paths(world, repo, "wombat")) == ["forced.gen.py", "lib/kept/wombat.py"]


def test_no_index_is_no_error(world, repo):
    assert code(world, repo, "walrus") == []
    assert world.json("map", "--json", "--project", repo)["indexed"] is False
    assert b"no index" in world.hookd("index", "status", repo).stdout


def test_pieces_have_vectors_and_keep_them(world, repo):
    (world.dir / "config.json").unlink()
    state = world.json("index", "--json", repo)
    assert state["vectors"] == state["pieces"]
    assert first(world, repo, "who gives hay to the walrus") == "src/walrus.py"
    write(repo / "src/walrus.py", "def feed_walrus(amount):\n    return amount + 1\n")
    again = world.json("index", "--json", repo)
    assert 0 < again["vectors"] - state["vectors"] <= 2
    assert first(world, repo, "walrus") == "src/walrus.py"


def test_an_index_goes_a_month_after_its_repository(world, repo):
    index(world, repo)
    old = next((world.dir / "code").iterdir())
    other = world.top / "other"
    git(other, "init", "-q", make=True)
    write(other / "a.py", "def a():\n    pass\n")
    repo.rename(world.top / "away")
    index(world, other)
    assert old.exists(), "a disk that is away today may be back tomorrow"
    os.utime(old / "manifest", (time.time() - 40 * 86400,) * 2)
    (world.top / "away").rename(repo)
    index(world, other)
    assert old.exists(), "it is still there"
    repo.rename(world.top / "away")
    index(world, other)
    assert not old.exists()


# -- following -------------------------------------------------------------------------------------

def test_a_session_starts_an_indexer(world, repo):
    world.start()
    follow(world, repo)
    assert first(world, repo, "badger") == "src/badger.py"
    assert indexer(world, repo)


def test_a_directory_that_is_no_repository_is_left_alone(world, repo):
    world.start()
    shutil.rmtree(repo / ".git")
    tell(world, repo, source="startup")
    tell(world, repo, "UserPromptSubmit", prompt="hello")
    world.status()
    time.sleep(0.3)
    assert not indexer(world, repo) and not (world.dir / "code").exists()


def test_index_enabled_false_starts_nothing(world, repo):
    world.hookd("config", "set", "index.enabled", "false")
    world.start()
    tell(world, repo, source="startup")
    tell(world, repo, "UserPromptSubmit", prompt="hello")
    time.sleep(0.3)
    assert not indexer(world, repo)


def test_what_an_agent_writes_is_found(world, repo):
    world.start()
    follow(world, repo)
    write(repo / "src/axolotl.py", "def feed_axolotl():\n    return 'worms'\n")
    wrote(world, repo, repo / "src/axolotl.py")
    wait_for(lambda: first(world, repo, "axolotl") == "src/axolotl.py", what="the new file")
    write(repo / "src/axolotl.py", "def feed_salamander():\n    return 'worms'\n")
    wrote(world, repo, "src/axolotl.py")
    wait_for(lambda: first(world, repo, "salamander") == "src/axolotl.py", what="the change")
    assert "feed_axolotl" not in [h.get("symbol") for h in code(world, repo, "axolotl")]


def test_what_anybody_writes_is_found(world, repo):
    world.start()
    follow(world, repo)
    write(repo / "src/axolotl.py", "def feed_axolotl():\n    return 'worms'\n")
    wait_for(lambda: first(world, repo, "axolotl") == "src/axolotl.py", what="the new file")
    (repo / "src/axolotl.py").rename(repo / "src/renamed.py")
    wait_for(lambda: paths(world, repo, "axolotl") == ["src/renamed.py"], what="the new name")
    (repo / "src/renamed.py").unlink()
    wait_for(lambda: not paths(world, repo, "axolotl"), what="the file to be gone")
    write(repo / "new/deep/er/numbat.py", "def feed_numbat():\n    return 'ants'\n")
    wait_for(lambda: first(world, repo, "numbat"), what="a file in a new directory")
    shutil.rmtree(repo / "new")
    wait_for(lambda: not paths(world, repo, "numbat"), what="the directory to be gone")


def test_ignore_files_count_at_once(world, repo):
    world.start()
    follow(world, repo)
    write(repo / "src/.gitignore", "lemur.py\n")
    wait_for(lambda: "src/lemur.py" not in paths(world, repo, "lemur"), what="the file to be left out")
    (repo / "src/.gitignore").unlink()
    wait_for(lambda: first(world, repo, "lemur") == "src/lemur.py", what="the file to be back")


def test_patches_name_their_files(world, repo):
    world.start()
    follow(world, repo)
    write(repo / "src/zebra.py", "def paint_stripes():\n    return 1\n")
    patch = "*** Begin Patch\n*** Update File: src/zebra.py\n@@\n-x\n+y\n*** End Patch\n"
    tell(world, repo, "PostToolUse", tool_name="apply_patch", tool_use_id="p1", tool_input={"input": patch})
    wait_for(lambda: first(world, repo, "paint stripes") == "src/zebra.py", what="the change")


def test_the_foreground_asks_the_one_that_follows(world, repo):
    world.start()
    follow(world, repo)
    pid = indexer(world, repo)
    write(repo / "src/axolotl.py", "def feed_axolotl():\n    return 'worms'\n")
    assert index(world, repo)["files"] == len(ANIMALS) + 2
    assert indexer(world, repo) == pid


def test_an_indexer_ends_with_the_daemon(world, repo):
    pid = world.start()
    follow(world, repo)
    child = indexer(world, repo)
    world.kill(pid)
    wait_for(lambda: not alive(child), what="the indexer to be gone")


# -- being killed ----------------------------------------------------------------------------------

def test_a_killed_indexer_comes_back(world, repo):
    world.start()
    follow(world, repo)
    pid = indexer(world, repo)
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: indexer(world, repo) not in (None, pid), what="another indexer")
    write(repo / "src/axolotl.py", "def feed_axolotl():\n    return 'worms'\n")
    wait_for(lambda: first(world, repo, "axolotl"), what="the new file")


def test_killed_at_any_moment_nothing_is_lost(world, repo):
    chance = random.Random(7)
    command = [world.build / "hookd", "indexer", "--dir", world.dir, "--once", repo]
    for n in range(150):
        write(repo / f"many/f{n}.py", "".join(f"def part_{n}_{k}(amount):\n    return {k}\n\n" for k in range(30)))
    world.hookd("index", "status", repo)
    for n in range(25):
        p = subprocess.Popen(command, env=world.env, stdin=subprocess.DEVNULL)
        world.started.append(p)
        time.sleep(chance.random() * 0.08)
        p.kill()
        p.wait()
        write(repo / f"src/{ANIMALS[n % len(ANIMALS)]}.py", f"def feed_{ANIMALS[n % len(ANIMALS)]}_{n}():\n    return {n}\n")
    index(world, repo)
    time.sleep(0.1)
    index(world, repo)
    assert rows(world, repo) == fresh_rows(world, repo)


# -- worktrees -------------------------------------------------------------------------------------

def test_a_worktree_begins_with_what_the_main_checkout_has(world, repo):
    for n in range(300):  # a smaller index is written again at once
        write(repo / f"more/f{n}.py", f"def number_{n}():\n    return {n}\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "first")
    index(world, repo)
    tree = world.top / "tree"
    git(repo, "worktree", "add", "-q", str(tree))
    write(tree / "src/otter.py", "def feed_seal():\n    return 'fish'\n")
    state = index(world, tree)
    assert state["files"] == len(ANIMALS) + 301
    shared = {p.stat().st_ino for p in (world.dir / "code").rglob("*.seg") if p.stat().st_nlink > 1}
    assert shared, "no segment is shared"
    assert first(world, tree, "seal") == "src/otter.py"
    assert not [hit for hit in code(world, tree, "otter hay") if "feed_otter" in hit["text"]]
    assert [hit for hit in code(world, repo, "otter hay") if "feed_otter" in hit["text"]] and not paths(world, repo, "seal")


# -- hostile trees ---------------------------------------------------------------------------------

def test_a_hostile_tree(world, repo):
    deep = repo
    for _ in range(120):
        deep = deep / "d"
    os.makedirs(deep)
    write(deep / "deepest.py", "def deepest():\n    pass\n")
    write(repo / "line.js", b"x" * (20 << 20))
    write(repo / "long.js", b"var a = '" + b"y" * 200000 + b"';\n")
    write(repo / "latin.py", b"def caf\xe9_platypus():\n    return '\xff\xfe'\n")
    write(repo / "bom.py", b"\xff\xfe" + "def utf16_platypus(): pass".encode("utf-16-le"))
    write(repo / "new\nline.py", "def newline_platypus():\n    pass\n")
    write(repo / os.fsdecode(b"bad\xff\xfename.py"), "def bytes_platypus():\n    pass\n")
    write(repo / "nul.py", b"def nul_platypus():\0\n")
    write(repo / ".env", "PLATYPUS_PASSWORD=swordfish\n")
    write(repo / "nested.js", "(" * 50000)
    write(repo / "braces.py", "{" * 100000 + "\n")
    (repo / "loop").symlink_to(".")
    (repo / "a").symlink_to("b")
    (repo / "b").symlink_to("a")
    (repo / "outside").symlink_to("/etc")
    os.mkfifo(repo / "fifo.py")
    (repo / "locked").mkdir(mode=0o000)
    try:
        index(world, repo)
        found = paths(world, repo, "platypus")
        assert sorted(found) == sorted({"latin.py", "new\nline.py", "bad\ufffd\ufffdname.py"})
        assert first(world, repo, "newline_platypus") == "new\nline.py"
        assert first(world, repo, "walrus") == "src/walrus.py"
        assert not world.contains(b"swordfish")
        assert not code(world, repo, "swordfish")
    finally:
        (repo / "locked").chmod(0o700)


def test_secrets_in_code_are_not_shown(world, repo):
    key = "ghp_" + "a1B2c3D4" * 4 + "a1B2"
    write(repo / "src/deploy.py", f"def deploy_aardvark():\n    token = '{key}'\n    return token\n")
    index(world, repo)
    hit = code(world, repo, "deploy aardvark")[0]
    assert "aardvark" in hit["text"] and key not in hit["text"]


def test_a_grammar_that_crashes_costs_one_file(world, repo):
    grammars = world.build / "grammars"
    if not (grammars / "runtime.so").exists():
        pytest.skip("no grammars here")
    place = world.top / "program"
    shutil.copytree(world.build, place, ignore=lambda d, names: [n for n in names if n not in ("hookd", "hookc", "grammars") and
                                                                   not n.endswith(".so")])
    source = world.top / "bad.c"
    source.write_text("#include <stdlib.h>\nconst void *tree_sitter_go(void) { abort(); }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", place / "grammars/go.so", source], check=True)
    write(repo / "src/crash.go", "package zoo\n\nfunc FeedAardvark() int {\n\treturn 1\n}\n")
    world.build = place
    index(world, repo)
    assert b"crashed while it read src/crash.go" in (world.dir / "hookd.log").read_bytes()
    assert first(world, repo, "aardvark") == "src/crash.go"
    assert first(world, repo, "walrus") == "src/walrus.py"

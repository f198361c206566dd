"""Memories: what is remembered comes back, also after a restart, a rebuild and a crash of the daemon."""
import json

import pytest


def memories(world, *args):
    return json.loads(world.hookd("memories", "--json", *args).stdout)["memories"]


def remember(world, text, *args):
    return json.loads(world.hookd("remember", text, "--json", *args).stdout)["id"]


def recall(world, text, *args):
    done = world.hookd("recall", text, "--json", *args)
    return [hit["text"] for hit in json.loads(done.stdout)["answers"][0]["hits"]]


def test_what_is_remembered_is_found_by_other_words_of_it(world):
    remember(world, "Database connections leak under load: always use the context manager", "--type", "gotcha")
    remember(world, "The build needs pnpm, not npm")
    assert recall(world, "why does the database connection leak?")[0].startswith("Database connections")
    assert recall(world, "npm or pnpm for building?") == ["The build needs pnpm, not npm"]
    assert recall(world, "something else entirely") == []


def test_a_memory_belongs_to_its_project(world):
    for name in ("one", "two"):
        (world.top / name).mkdir()
        world.hookd("remember", f"the port of {name} is 8080", cwd=world.top / name)
    done = world.hookd("recall", "which port?", "--json", cwd=world.top / "one")
    assert [h["text"] for h in json.loads(done.stdout)["answers"][0]["hits"]] == ["the port of one is 8080"]


def test_types_and_their_other_names(world):
    remember(world, "first", "--type", "bugfix")
    assert [m["type"] for m in memories(world)] == ["bug_fix"]
    done = world.hookd("remember", "second", "--type", "nonsense", ok=False)
    assert done.returncode == 1 and b"gotcha, bug_fix, decision" in done.stderr


@pytest.mark.parametrize("text", ["", "   ", "x" * 5000])
def test_a_text_that_is_no_memory_is_refused(world, text):
    done = world.hookd("remember", text, ok=False)
    assert done.returncode == 1 and b"'text'" in done.stderr
    assert memories(world) == []


def test_the_same_text_is_one_memory(world):
    for text in ("Use tabs here", "use  TABS here", "Use tabs here"):
        remember(world, text)
    assert len(memories(world)) == 1


def test_secrets_are_removed_before_the_first_write(world):
    remember(world, "the token is ghp_" + "a1B2c3D4e5" * 4)
    assert "ghp_a1B2" not in json.dumps(memories(world))
    world.hookd("stop")
    for path in world.dir.rglob("*"):
        if path.is_file():
            assert b"ghp_a1B2" not in path.read_bytes(), path


def test_changes(world):
    name = remember(world, "the limit is 10")
    other = remember(world, "the limit is 20")
    world.hookd("memory", "edit", name, "the limit is 15 per user")
    assert recall(world, "limit per user")[0] == "the limit is 15 per user"
    world.hookd("memory", "supersede", name, other)
    assert recall(world, "limit") == ["the limit is 20"]
    assert [m["id"] for m in memories(world, "--status", "superseded")] == [name]
    world.hookd("memory", "reactivate", name)
    assert len(recall(world, "limit")) == 2
    world.hookd("memory", "mute", other)
    assert recall(world, "limit") == ["the limit is 15 per user"]
    world.hookd("memory", "resolve", name, "--dry-run")
    assert len(recall(world, "limit")) == 1


def bytes_on_disk(world):
    return b"".join(p.read_bytes() for p in world.dir.rglob("*") if p.is_file() and p.name != "hookd.log")


def test_what_is_forgotten_is_gone_from_every_file(world):
    name = remember(world, "the password hint is Zanzibar Quokka")
    world.hookd("memory", "edit", name, "the hint is Zanzibar Quokka, twice")
    world.hookd("backup")
    assert b"Quokka" in bytes_on_disk(world)
    world.hookd("memory", "forget", name, "--dry-run")
    assert recall(world, "hint") != []
    world.hookd("memory", "forget", name, "--yes")
    assert recall(world, "hint Zanzibar") == [] and memories(world) == []
    for path in (world.dir / "backups").glob("*"):
        if not path.name.startswith("auto-"):
            path.unlink()  # made by hand: the user's own
    world.hookd("stop")
    assert b"Quokka" not in bytes_on_disk(world)


def test_purging_a_text_forgets_it_too(world):
    remember(world, "the hint is Zanzibar Quokka")
    remember(world, "something else")
    world.hookd("purge", "--match", "Quokka", "--yes")
    assert [m["text"] for m in memories(world)] == ["something else"]


def test_an_unknown_memory_is_an_error(world):
    done = world.hookd("memory", "show", "nothing", ok=False)
    assert done.returncode == 1 and b"there is no memory" in done.stderr


def test_everything_is_there_after_a_restart_and_a_rebuild(world):
    name = remember(world, "remember the milk")
    world.hookd("memory", "edit", name, "remember the oat milk")
    world.hookd("restart")
    world.hookd("db", "rebuild")
    assert recall(world, "milk") == ["remember the oat milk"]
    assert len(memories(world)) == 1


def test_an_index_that_was_damaged_or_removed_is_made_again(world):
    lines = [json.dumps({"ref": f"t:{n}", "project": "p", "text": f"fact number {n} about widget{n % 97}"}) for n in range(3000)]
    world.hookd("memory", "import", "-", input="\n".join(lines).encode())
    ask = json.dumps({"id": 1, "query": "widget96", "project": "p"}).encode()

    def refs():
        return [h["ref"] for h in json.loads(world.hookd("recall", "--batch", input=ask).stdout)["hits"]]

    first = refs()
    assert len(first) == 10
    world.hookd("restart")
    assert refs() == first
    world.hookd("stop")
    for path in (world.dir / "index").glob("*.seg"):
        path.write_bytes(path.read_bytes()[:-100] + b"\xff" * 100)
    assert refs() == first


def test_importing_twice_is_importing_once(world):
    lines = [json.dumps({"ref": str(n), "project": "p", "text": f"fact {n}"}) for n in range(50)]
    for _ in range(2):
        world.hookd("memory", "import", "-", input="\n".join(lines).encode())
    assert len(memories(world, "-n", "1000")) == 50


def test_a_broken_line_says_where(world):
    done = world.hookd("memory", "import", "-", input=b'{"text":"a"}\n{"text":\n', ok=False)
    assert done.returncode == 1 and b"line 2" in done.stderr


def test_unspaced_text_is_found(world):
    remember(world, "データベースの接続は必ず閉じること")
    remember(world, "缓存在午夜清除")
    assert recall(world, "接続が閉じない") == ["データベースの接続は必ず閉じること"]
    assert recall(world, "缓存") == ["缓存在午夜清除"]

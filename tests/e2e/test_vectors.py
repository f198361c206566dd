"""Memories that are found by what they mean: vectors are made in the background, kept, and gone with their memories."""
import json
import shutil

import pytest

from world import BUILD, World, wait_for

TEXTS = [
    "parser: free the buffer that was never released",
    "rotate the picture by ninety degrees before it is shown",
    "the invoice is sent to the customer by e-mail at night",
    "sort the list of users by their last name",
    "a timeout of three seconds for the payment service",
    "compress old log files once a week",
    "colours of the chart follow the theme",
    "run the linter before each commit",
]
QUESTION = "how do I fix a memory leak"  # shares no word with the first


@pytest.fixture
def world():
    w = World()
    yield w
    w.close()


def remember_all(world):
    lines = "".join(json.dumps({"ref": f"t{i}", "project": "p", "type": "discovery", "text": t}) + "\n"
                    for i, t in enumerate(TEXTS))
    world.start()
    return world.hookd("memory", "import", "-", input=lines.encode())


def ask(world, question=QUESTION):
    return world.rpc("recall", queries=[{"id": 1, "query": question, "project": "p"}])["answers"][0]["hits"]


def vectors(world):
    """Somebody waits: else a busy machine has it wait."""
    return world.rpc("vectors", hurry=True)


def test_a_question_in_other_words_finds_its_memory(world):
    assert b"8 memories taken" in remember_all(world).stdout
    assert vectors(world) == {"possible": True, "memories": 8, "encoded": 8}
    assert ask(world)[0]["ref"] == "t0"


def test_vectors_survive_a_restart(world):
    remember_all(world)
    [file] = (world.dir / "index").glob("*.vectors")
    before = file.read_bytes()
    world.stop()
    world.start()
    assert ask(world)[0]["ref"] == "t0"
    assert file.read_bytes() == before


def test_a_changed_memory_is_encoded_again(world):
    remember_all(world)
    found = ask(world)[0]["id"]
    world.hookd("memory", "edit", found, "the lawn is mown on Saturdays")
    wait_for(lambda: vectors(world)["encoded"] == 8, what="the new vector")
    assert ask(world, "who cuts the grass")[0]["ref"] == "t0"


def test_a_forgotten_memory_leaves_no_vector(world):
    remember_all(world)
    [file] = (world.dir / "index").glob("*.vectors")
    gone = file.read_bytes()[64:64 + 288][24:284]
    world.hookd("memory", "forget", ask(world)[0]["id"], "--yes")
    assert not world.contains(gone)
    wait_for(lambda: vectors(world) == {"possible": True, "memories": 7, "encoded": 7}, what="the others' vectors")
    assert "t0" not in [h["ref"] for h in ask(world)] and not world.contains(gone)


def test_a_damaged_file_is_made_again(world):
    remember_all(world)
    world.stop()
    [file] = (world.dir / "index").glob("*.vectors")
    data = bytearray(file.read_bytes())
    data[64 + 288 * 3 + 50] ^= 1
    file.write_bytes(data)
    world.start()
    ask(world)
    wait_for(lambda: vectors(world)["encoded"] == 8 and len(file.read_bytes()) == 64 + 288 * 8, what="all vectors")
    assert ask(world)[0]["ref"] == "t0"


def without_weights(world):
    alone = world.top / "alone"
    alone.mkdir()
    for name in ("hookd", "hookc"):
        shutil.copy(BUILD / name, alone)
    world.build = alone


def switched_off(world):
    (world.dir / "config.json").write_text(json.dumps({"context": {"encoder": False}}))


@pytest.mark.parametrize("how", [without_weights, switched_off])
def test_without_the_encoder_words_count_as_ever(world, how):
    how(world)
    remember_all(world)
    state = vectors(world)
    assert state["possible"] is False and state["reason"]
    assert ask(world) == []
    assert ask(world, "compress log files")[0]["ref"] == "t5"


def test_damaged_weights_are_said_and_not_used(world):
    without_weights(world)
    share = world.top / "share/hookd"
    share.mkdir(parents=True)
    data = bytearray((BUILD.parent / "data/encoder.bin").read_bytes())
    data[5_000_000] ^= 1
    (share / "encoder.bin").write_bytes(data)
    world.build = world.top / "bin"
    shutil.move(world.top / "alone", world.build)
    remember_all(world)
    state = vectors(world)
    assert state["possible"] is False and "install hookd again" in state["reason"]
    assert ask(world, "compress log files")[0]["ref"] == "t5"


def test_nobody_has_to_wait(world):
    world.start()
    line = json.dumps({"ref": "t", "project": "p", "text": TEXTS[0]}) + "\n"
    world.hookd("memory", "import", "-", "--no-wait", input=line.encode())
    assert ask(world, "parser buffer")[0]["ref"] == "t"

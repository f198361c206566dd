"""Languages and hostile files in the code index, by one who has read only what the documents promise."""
import json
import re

import pytest

from outside_repos import begin, code, has, index, made, named, numbers, prompt, put, rows, soon, strings
from world import alive


# -- languages ------------------------------------------------------------------------------------------

LANGUAGES = {
    "python": ("m.py", "class Kettle:\n    @property\n    def boil_water(self):\n        return 1\n\n\nasync def pour_tea():\n    pass\n", "Kettle boil_water pour_tea"),
    "javascript": ("m.js", "class Kettle {\n  boilWater() { return 1 }\n}\nfunction pourTea() {}\nconst steepLeaves = (a) => { return a }\nexport default Kettle\n", "Kettle boilWater pourTea steepLeaves"),
    "typescript": ("m.ts", "export interface Kettle { hot: boolean }\nexport type Cup = { size: number }\nexport enum Leaf { Green, Black }\nexport class Pot<T> {\n  boilWater(x: T): T { return x }\n}\nexport function pourTea(): void {}\n", "Kettle Cup Leaf Pot boilWater pourTea"),
    "tsx": ("m.tsx", "export function TeaPot(props: { hot: boolean }) {\n  return <div>{props.hot}</div>\n}\nexport const CupView = () => <span/>\n", "TeaPot CupView"),
    "go": ("m.go", "package tea\n\ntype Kettle struct {\n\tHot bool\n}\n\ntype Pourer interface {\n\tPour()\n}\n\nfunc (k *Kettle) BoilWater() int {\n\treturn 1\n}\n\nfunc PourTea() {\n}\n", "Kettle Pourer BoilWater PourTea"),
    "rust": ("m.rs", "pub struct Kettle {\n    hot: bool,\n}\n\npub enum Leaf { Green }\n\npub trait Pourer {\n    fn pour(&self);\n}\n\nimpl Kettle {\n    pub fn boil_water(&self) -> i32 {\n        1\n    }\n}\n\nfn pour_tea() {}\n", "Kettle Leaf Pourer boil_water pour_tea"),
    "java": ("Kettle.java", "package tea;\n\npublic class Kettle {\n    interface Pourer { void pour(); }\n    enum Leaf { GREEN }\n    public int boilWater() {\n        return 1;\n    }\n}\n", "Kettle Pourer Leaf boilWater"),
    "c": ("m.c", "#include <stdio.h>\n\nstruct kettle {\n    int hot;\n};\n\ntypedef enum { GREEN } leaf_kind;\n\nstatic int *boil_water(struct kettle *k)\n{\n    return &k->hot;\n}\n\n#define POUR_TEA(x) ((x) + 1)\n", "kettle boil_water"),
    "cpp": ("m.cpp", "namespace tea {\nclass Kettle {\npublic:\n    int boil_water() { return 1; }\n};\n\ntemplate <typename T>\nT pour_tea(T x)\n{\n    return x;\n}\n}\n\nint tea_outside()\n{\n    return 2;\n}\n", "Kettle boil_water pour_tea tea_outside"),
    "ruby": ("m.rb", "module Tea\n  class Kettle\n    def boil_water\n      1\n    end\n\n    def self.pour_tea\n      2\n    end\n  end\nend\n", "Tea Kettle boil_water pour_tea"),
    "bash": ("m.sh", "#!/bin/bash\nboil_water() {\n    echo hot\n}\n\nfunction pour_tea {\n    echo cup\n}\n", "boil_water pour_tea"),
    "shebang": ("script", "#!/usr/bin/env python3\ndef from_shebang():\n    pass\n", "from_shebang"),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_symbols_of(world, language):
    world.start()
    name, text, symbols = LANGUAGES[language]
    repo = made(world, {name: text})
    index(world, repo)
    missing = [s for s in symbols.split() if not named(world, repo, s)]
    assert not missing, world.hookd("map", "-p", repo).stdout.decode()
    for s in symbols.split():
        line = next(n for n, t in enumerate(text.splitlines(), 1) if re.search(rf"\b{s}\b", t))
        assert any(abs(line - n) <= 1 for r in named(world, repo, s) for n in numbers(r)), (s, named(world, repo, s))


@pytest.mark.parametrize("language", LANGUAGES)
def test_definitions_are_where_they_are(world, language):
    world.start()
    name, text, symbols = LANGUAGES[language]
    repo = made(world, {name: text})
    index(world, repo)
    for s in symbols.split():
        lines = [n for n, t in enumerate(text.splitlines(), 1) if re.search(rf"\b{s}\b", t)]
        got = rows(world.json("symbols", "--json", "-p", repo, s))
        assert got and all(r["path"] == name for r in got), s
        assert got[0]["line"] in [*lines, lines[0] - 1], (s, got)


def test_the_range_of_a_symbol_is_inside_its_file(world):
    world.start()
    repo = made(world, {name: text for name, text, _ in LANGUAGES.values()})
    index(world, repo)
    for name, text, symbols in LANGUAGES.values():
        for s in symbols.split():
            for r in rows(world.json("symbols", "--json", "-p", repo, s)):
                total = len((repo / r["path"]).read_text().splitlines())
                assert r["line"] + r["lines"] - 1 <= total, (s, r)


SECTIONS = {
    "markdown": ("guide.md", "# Guide\n\nWelcome.\n\n" + "## Brewing oolong\n\n" + "Steep oolong leaves gently.\n" * 45 +
                 "\n## Washing cups\n\n" + "Rinse porcelain cups.\n" * 45, "oolong", "Brewing oolong", "Rinse porcelain"),
    "json": ("conf.json", json.dumps({"oolong": {f"leaf{i}": f"steep {i}" for i in range(50)},
                                      "porcelain": {f"cup{i}": f"rinse {i}" for i in range(50)}}, indent=1), "oolong leaf steep", "oolong", "porcelain"),
    "yaml": ("conf.yaml", "oolong:\n" + "".join(f"  leaf{i}: steep {i}\n" for i in range(50)) +
             "porcelain:\n" + "".join(f"  cup{i}: rinse {i}\n" for i in range(50)), "oolong leaf steep", "oolong", "porcelain"),
}


@pytest.mark.parametrize("language", SECTIONS)
def test_sections_of(world, language):
    world.start()
    name, text, query, symbol, foreign = SECTIONS[language]
    repo = made(world, {name: text})
    index(world, repo)
    hit = code(world, repo, query)[0]
    assert any(symbol in s for s in strings(hit)), hit
    assert not any(foreign in s for s in strings(hit)), "cut at the border of a section"


def test_a_language_without_grammar_is_read_by_lines(world):
    world.start()
    repo = made(world, {"m.zig": "const std = 1;\n\nfn boilKettle() void {}\n" * 60, "Makefile": "pour_tea_target:\n\techo x\n", "notes.txt": "porcelain notes\n"})
    index(world, repo)
    assert has(world, repo, "boilKettle") and has(world, repo, "pour_tea_target") and has(world, repo, "porcelain")


# -- hostile files ---------------------------------------------------------------------------------------

DEEP = 100000
NESTED = {
    "n.py": "x = " + "(\n" * DEEP + "1" + ")\n" * DEEP, "n.js": "var x = " + "[\n" * DEEP + "]\n" * DEEP,
    "n.ts": "let x = " + "{a:\n" * DEEP + "1" + "}\n" * DEEP, "n.json": "[\n" * DEEP + "]\n" * DEEP,
    "n.c": "int f() " + "{\n" * DEEP + "}\n" * DEEP, "n.cpp": "int f() " + "{\n" * DEEP + "}\n" * DEEP,
    "n.go": "package x\nfunc f() " + "{\n" * DEEP + "}\n" * DEEP, "n.rs": "fn f() " + "{\n" * DEEP + "}\n" * DEEP,
    "N.java": "class N { void f() " + "{\n" * DEEP + "}\n" * DEEP + "}", "n.rb": "x = " + "[\n" * DEEP + "]\n" * DEEP,
    "n.sh": "(\n" * DEEP + ":\n" + ")\n" * DEEP, "n.yaml": "x: " + "[\n" * DEEP + "]\n" * DEEP, "n.md": "> " * 2000 + "x\n" + "- \n" * DEEP,
    "u.py": "(\n" * DEEP, "u.json": "{\"a\":\n" * DEEP, "u.c": "#if 1\n" * DEEP, "c.py": "class A:\n" + "".join(" " * i + "class B:\n" for i in range(1, 1200)),
}


@pytest.mark.parametrize("name", NESTED)
def test_deep_nesting(world, name):
    pid = world.start()
    repo = made(world, {name: NESTED[name], "aa.py": "def stays_before():\n    pass\n", "zz.py": "def stays_after():\n    pass\n"})
    index(world, repo)
    assert named(world, repo, "stays_before") and named(world, repo, "stays_after")
    begin(world, repo)
    put(repo, "late.py", "def stays_late():\n    pass\n")
    soon(world, repo, "stays_late")
    assert world.pid() == pid and alive(pid)


def test_hostile_bytes(world):
    pid = world.start()
    repo = made(world, {
        "line.py": b"x = '" + b"a" * 20_000_000 + b"'\n", "nul.py": b"\0" * 5000, "late_nul.py": b"x = 1\n" * 3000 + b"\0\0\ndef after_nul():\n    pass\n",
        "bad.py": b"def bad_utf8_here():\n    return '\xff\xfe\xc0\x80\xed\xa0\x80'\n", "utf16.py": "def wide():\n    pass\n".encode("utf-16"),
        "cr.py": b"def only_cr():\r    pass\r" * 50, "crlf.py": b"def with_crlf():\r\n    pass\r\n", "bom.py": b"\xef\xbb\xbfdef with_bom():\n    pass\n",
        "blank.py": b"\n" * 500000, "empty.py": b"", "comb.py": b"x = 'e" + b"\xcc\x81" * 2000 + b"'\n", "noeol.py": b"def no_end_of_line(): pass",
        "zz.py": "def stays_after():\n    pass\n"})
    index(world, repo)
    for name in ("stays_after", "bad_utf8_here", "with_crlf", "with_bom", "no_end_of_line"):
        assert named(world, repo, name), name
    for query in ("bad_utf8_here", "only_cr", "after_nul", "wide"):
        code(world, repo, query)
    begin(world, repo)
    prompt(world, repo, "bad_utf8_here returns what?")
    assert world.pid() == pid and alive(pid)


def test_hostile_identifiers(world):
    pid = world.start()
    repo = made(world, {"long.py": f"def {'k' * 4000}():\n    pass\n", "many.py": "".join(f"def m{i}(): pass\n" for i in range(10000)),
                        "esc.py": "def esc():\n    return '\x1b[2J\x1b]0;owned\x07'\n", "zz.py": "def stays_after():\n    pass\n"})
    index(world, repo)
    assert named(world, repo, "stays_after")
    assert any(r["line"] == 10000 for r in rows(world.json("symbols", "--json", "-p", repo, "m9999")))
    for command in (["code", "esc"], ["symbols", "k"], ["map", "--tokens", "5000"]):
        assert b"\x1b" not in world.hookd(*command, "-p", repo).stdout, command
    assert world.pid() == pid

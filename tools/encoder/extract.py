#!/usr/bin/env python3
"""Records from the packages that hold: extract.py OUT [NAME…]

A record is a line of JSON, [kind, package, path, name, words, text]:

  fn    a function with its description, which is cut out of the text
  id    a function without one (a sample)
  mod   the comment at the head of a file, and the code below it
  cmt   a comment inside a function, and the lines around it
  md    a heading (as name) and its section
  pat   the description of a patch, and one of its hunks

packages.txt says which packages there are and for what each may be used; of those that hold, files with another licence that is
not permissive are left out. Packages are brought to the cache (tools/packages.py).
"""
import fnmatch
import hashlib
import json
import os
import random
import re
import signal
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import licences  # noqa: E402
import packages  # noqa: E402

CODE = {".py": "py", ".c": "c", ".h": "c", ".cc": "c", ".cpp": "c", ".hpp": "c", ".go": "go", ".js": "js", ".mjs": "js",
        ".cjs": "js", ".ts": "js", ".tsx": "js", ".jsx": "js", ".rs": "rs", ".java": "java"}
PROSE = {".md", ".rst", ".adoc", ".txt", ".markdown", ".pod", ".mdx"}
MANUAL = re.compile(r"\.[1-9]\w?")
SKIP = re.compile(r"(?i)(^|/)(_?vendor(ed)?|third[-_]?party|node_modules|deps|testdata|fixtures|generated|locales?|i18n|umd|esm5?|"
                  r"fesm\d*|bundles?|cjs|amd)(/|$)|zz_generated|\.pb\.go|\.min\.|_generated|_pb2|\.d\.ts$")
# Directories of repositories on which retrieval is measured; packages carry copies of some.
MEASURED = re.compile(r"(?i)(^|/)(curl|libcurl|libuv|uv|requests|express|jq|tmux|memcached|mosquitto|pgbouncer|ripgrep|atuin|"
                      r"xonsh|node-forge|delve|pacemaker|checkstyle|sequel|sequoia-openpgp|jline\d?|borg|mitmproxy|konva|ace|pdf-lib|syncthing|"
                      r"libvirt|jython|asciidoctor|cursive-core|ureq|zbus)(/|$)")
NO_WORDS = re.compile(r"(?i)copyright|licen[sc]e|fixme|eslint|noqa|spdx|generated|pylint|jshint|istanbul|webpackchunk|@ts-|prettier-")
LONGEST, LARGEST, SECONDS = 1100, 1_500_000, 2
MOST = {"fn": 14000, "id": 2500, "mod": 1500, "cmt": 3500, "md": 5000, "pat": 3000}


class Sink:
    """Records of one package, none of them twice and no kind without end."""

    def __init__(self, out, package):
        self.out, self.package, self.seen, self.count = out, package, set(), {}
        self.chance = random.Random(package)

    def put(self, kind, path, name, words, text):
        digest = hashlib.md5(f"{kind}{words}{name}{text[:120]}".encode("utf-8", "replace")).digest()[:8]
        if self.count.get(kind, 0) >= MOST[kind] or len(text) < 60 or digest in self.seen:
            return
        self.seen.add(digest)
        self.count[kind] = self.count.get(kind, 0) + 1
        self.out.write(json.dumps([kind, self.package, path[-90:], name, words, text], ensure_ascii=False) + "\n")


# -- what a description says ---------------------------------------------------------------------

def unmarked(comment):
    return re.sub(r"^[ \t]*(?:/\*+!?|\*+/|\*|//[/!]?|#+!?|--+\[?\[?)[ \t]?", "", comment, flags=re.M).replace("*/", "").strip()


def beginning(words, most=420):
    """Up to where parameters, results and examples are listed."""
    words = re.split(r"\n[ \t]*(?:@\w|:param|:return|:type|Args:|Arguments:|Parameters\b|Returns?:|Raises:|Example|>>>|-{3,}|={3,}|\.\. |"
                     r"# Example|```)", words)[0]
    words = re.sub(r"<[a-zA-Z/][^>]{0,40}>|\{@\w+|`|\*\*|[{}]", " ", words)
    return re.sub(r"\s+", " ", words).strip()[:most]


def says_something(words):
    return 3 <= len(words.split()) <= 90 and not NO_WORDS.search(words) and \
        sum(c.isalpha() or c == " " for c in words) > .75 * len(words)


# -- functions -----------------------------------------------------------------------------------

PYTHON = re.compile(r"^([ \t]*)(?:async[ \t]+)?def[ \t]+(\w+)[ \t]*\(", re.M)
DOCSTRING = re.compile(r"""\)?[^\n]*?:[ \t]*(?:#[^\n]*)?\n[ \t\n]*[rRuU]?(\"\"\"|''')(.*?)\1[ \t]*\n?""", re.S)
COMMENT = re.compile(r"(?:^[ \t]*//[^\n]*\n)+|^[ \t]*/\*.*?\*/[ \t]*\n", re.M | re.S)
CALLED = re.compile(r"([A-Za-z_]\w*)\s*\([^;{}]*\)[^;{}]*$", re.S)
NAMES = {"c": CALLED, "java": CALLED, "go": re.compile(r"^\s*func\s*(?:\([^)]*\)\s*)?([A-Za-z_]\w*)"),
         "rs": re.compile(r"\bfn\s+([A-Za-z_]\w*)"),
         "js": re.compile(r"function\s*\*?\s*([A-Za-z_$][\w$]*)|(?:const|let|var)\s+([A-Za-z_$][\w$]*)\s*=\s*(?:async\s*)?(?:\(|function)|"
                          r"([A-Za-z_$][\w$.]*)\s*[:=]\s*(?:async\s+)?(?:function|\()|(?:^|\s)([A-Za-z_$][\w$]*)\s*(?:<[^>]*>)?\(")}
TYPE = re.compile(r"\b(?:class|struct|interface|enum|trait|impl|type)\s+([A-Za-z_]\w*)")
KEYWORDS = set("if for while switch catch return else do sizeof function match foreach constructor super require".split())


def python_functions(source):
    """(name, description, code) of each function."""
    for head in PYTHON.finditer(source):
        indent, name = head.groups()
        at, depth = head.end(), 1
        while at < min(len(source), head.end() + 1500) and depth:
            depth += (source[at] == "(") - (source[at] == ")")
            at += 1
        line_end = source.find("\n", at)
        if depth or line_end < 0:
            continue
        doc = DOCSTRING.match(source, at)
        body = doc.end() if doc else line_end + 1
        outside = re.compile(r"^(?=[ \t]{0,%d}[^\s#)\]}])" % len(indent), re.M).search(source, body)
        end = outside.start() if outside else len(source)
        code = (source[head.start():at] + ":\n" if doc else source[head.start():body]) + source[body:min(end, body + LONGEST)]
        yield name, doc[2] if doc else "", (re.sub("^" + indent, "", code, flags=re.M) if indent else code)[:LONGEST]


def described_functions(source, language):
    """The same where braces are used: comments, and the function or type that follows."""
    for comment in COMMENT.finditer(source):
        start = comment.end()
        opening = source.find("{", start, start + 500)
        head = source[start:opening]
        if opening < 0 or (";" in head and language != "go") or "\n\n" in head or "}" in head:
            continue
        head = re.sub(r"^[ \t]*(?:#\[[^\n]*|@\w+[^\n]*)\n", "", head, flags=re.M)
        found = NAMES[language].search(head) or (TYPE.search(head) if language != "c" else None)
        name = found and next(filter(None, found.groups()), None)
        line_end = source.find("\n", opening)
        if not name or name in KEYWORDS or line_end < 0:
            continue
        indent = re.match(r"[ \t]*", head)[0]
        end = source.find("\n" + indent + "}", line_end - 1, line_end + 20000)
        end = end + 2 + len(indent) if end > 0 else line_end
        code = source[start:min(end, start + LONGEST + 200)]
        yield name.split(".")[-1], comment[0], (re.sub("^" + indent, "", code, flags=re.M) if indent else code)[:LONGEST]


INSIDE = re.compile(r"(?:^[ \t]{2,}(?:#|//)[ \t]+[A-Z][^\n]{15,}\n)(?:[ \t]+(?:#|//)[^\n]*\n){0,3}", re.M)


def inner_comments(source):
    for comment in INSIDE.finditer(source):
        before = source.rfind("\n", 0, max(0, comment.start() - 160)) + 1
        after = source[comment.end():comment.end() + 560]
        if after.strip():
            yield re.sub(r"\s+", " ", unmarked(comment[0])), source[before:comment.start()] + after


def code(sink, path, source, language):
    if len(source) > 400_000 or (len(source) > 3000 and source.count("\n") * 250 < len(source)):
        return
    for name, words, text in python_functions(source) if language == "py" else described_functions(source, language):
        words = words and beginning(words if language == "py" else unmarked(words))
        if words and says_something(words):
            sink.put("fn", path, name, words, text)
        elif len(text) > 150 and sink.chance.random() < .25:
            sink.put("id", path, name, "", text)
    head = re.match(r'\s*(?:#![^\n]*\n)?(?:#[^\n]*\n)*\s*[ru]?"""(.*?)"""', source, re.S) if language == "py" \
        else COMMENT.match(source.lstrip("\n"))
    if head:
        words = beginning(head[1] if language == "py" else unmarked(head[0]))
        if says_something(words):
            sink.put("mod", path, "", words, source[head.end():head.end() + LONGEST])
    for words, text in inner_comments(source):
        if says_something(words) and sink.chance.random() < .5:
            sink.put("cmt", path, "", words[:300], text)


# -- sections ------------------------------------------------------------------------------------

MARKDOWN = re.compile(r"^#{1,5}[ \t]+([^\n]{4,100})\n+((?:(?!^#{1,5} ).){80,1600})", re.M | re.S)
UNDERLINED = re.compile(r"^([^\n=~^*#\s][^\n]{3,99})\n([=~^\"*#+\-])\2{3,}\n+((?:(?![^\n]+\n([=~^\"*#+\-])\4{3,}\n).){80,1600})", re.M | re.S)
POD = re.compile(r"^=(?:head\d|item)[ \t]+([^\n]{4,100})\n+((?:(?!^=(?:head|item)).){80,1600})", re.M | re.S)
ROFF = re.compile(r"^\.(?:S[HhSs]|TP|It)\b[ \t]*([^\n]*)\n((?:(?!^\.(?:S[HhSs]|TP|It)\b).){80,2500})", re.M | re.S)


def from_roff(text):
    text = re.sub(r"\\f[A-Z(]|\\&|\\-|\\\(..|\\[|/^]", lambda m: "-" if m[0] == "\\-" else "", text)
    text = re.sub(r'^\.\\".*$', "", text, flags=re.M)
    return re.sub(r"^\.[A-Za-z]{1,3}\b[ \t]*", "", text, flags=re.M).replace('"', "")


def sections(source, extension):
    """(heading, text)"""
    if MANUAL.fullmatch(extension):
        title = re.search(r'^\.(?:Nd[ \t]+([^\n]+)|SH "?NAME"?\n([^\n]+))', source, re.M)
        title = from_roff(title[1] or title[2]) if title else ""
        for heading, text in ROFF.findall(source):
            heading, text = from_roff(heading).strip(), from_roff(text)
            if not heading:
                heading, _, text = text.partition("\n")
            yield f"{title} {heading}".strip(), text
    elif extension == ".pod":
        yield from POD.findall(source)
    else:
        if extension in (".rst", ".txt"):
            yield from ((found[1], found[3]) for found in UNDERLINED.finditer(source))
        if extension != ".rst":
            yield from MARKDOWN.findall(source)


def prose(sink, path, source, extension):
    for heading, text in sections(source, extension):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*#<>]", r"\1", heading).strip()
        if re.search(r"[A-Za-z]{3}", heading) and len(text.strip()) > 80:
            sink.put("md", path, heading[:120], "", text.strip()[:LONGEST])


# -- patches -------------------------------------------------------------------------------------

ONE_FILE = re.compile(r"^--- [^\n]*\n\+\+\+ (?:[ab]/)?([^\n\t ]+)[^\n]*\n((?:(?!^--- |^diff |^Index: |^-- \n).)*)", re.M | re.S)


def patches(text):
    """(description, path, hunk): two hunks each of at most six files."""
    start = re.search(r"^(?:--- |diff |Index: )", text, re.M)
    if not start:
        return
    head = text[:start.start()]
    title = re.search(r"^(?:Subject|Description):[ \t]*((?:[^\n]*\n)(?:[ \t]+[^\n]*\n)*)", head, re.M)
    rest = head.split("\n\n", 1)[1] if "\n\n" in head else ("" if title else head)
    rest = re.sub(r"^(?:[A-Z][\w-]+:|---|\s+\d+ files? changed| [^\n]*\|\s+\d+|Index|diff|#|=).*$", "", rest, flags=re.M)
    words = re.sub(r"\[PATCH[^\]]*\]", "", (title[1] if title else "") + " " + rest)
    words = re.sub(r"\s+", " ", words).strip()[:420]
    if len(words.split()) < 4:
        return
    for path, hunks in ONE_FILE.findall(text[start.start():])[:6]:
        if os.path.splitext(path)[1] not in CODE:
            continue
        for hunk in re.split(r"^@@[^@]*@@", hunks, flags=re.M)[1:3]:
            hunk = "\n".join(line[1:] for line in hunk.split("\n"))
            if len(hunk) > 60:
                yield words, path, hunk[:LONGEST]


# -- packages ------------------------------------------------------------------------------------

class TooLong(Exception):
    """A pattern that does not come to an end costs one file."""


def give_up(*_):
    raise TooLong


def one_file(sink, path, source):
    extension = os.path.splitext(path)[1].lower()
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        if extension in CODE:
            code(sink, path, source, CODE[extension])
        else:
            prose(sink, path, source, extension)
    except TooLong:
        print(f"{sink.package}: {path} takes too long", file=sys.stderr)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def is_wanted(path, size):
    extension = os.path.splitext(path)[1].lower()
    return 80 <= size <= LARGEST and (extension in CODE or extension in PROSE or MANUAL.fullmatch(extension)) and \
        not SKIP.search(path) and not MEASURED.search(path)


def left_out(text):
    """Whether a path has a licence of its own that is not permissive."""
    machine = licences.Copyright(text)
    globs = [glob for globs, name, body in machine.files if "*" not in globs and not machine.judge(name, body)[0] for glob in globs]
    return lambda path: any(fnmatch.fnmatch(path, "*" + glob.removeprefix("./")) for glob in globs)


def debian(sink, use, archives):
    excluded = left_out(licences.copyright_of(archives) or "")
    for archive in archives:
        added = ".debian.tar" in archive.name
        for path, member, tar in packages.deb_files(archive) if archive.suffix == ".deb" else packages.members(archive):
            if added and "patches" in use and "patches/" in path:
                for words, changed, hunk in patches(packages.read(tar, member)):
                    sink.put("pat", changed, "", words, hunk)
            elif not added and "text" in use and is_wanted(path, member.size):
                path = re.sub(r"^.*?(dist-packages|python3[.\d]*|gocode/src|cargo/registry)/", "", path)
                if not excluded(path):
                    one_file(sink, path, packages.read(tar, member))


def npm(sink, archive):
    found = {path: packages.read(tar, member) for path, member, tar in packages.members(archive)
             if path in ("package.json", "README.md") or is_wanted(path, member.size)}
    has_source = any(path.startswith(("src/", "lib/")) for path in found)
    for path, source in found.items():
        if path != "package.json" and not (has_source and path.startswith(("dist/", "build/", "umd/", "es/", "esm/"))):
            one_file(sink, path, source)
    about, readme = json.loads(found["package.json"]).get("description") or "", found.get("README.md", "")
    if len(about.split()) > 3 and len(readme) > 300:
        sink.put("md", "README.md", about[:200], "", re.sub(r"^#.*\n|^\[?!\[.*$", "", readme, flags=re.M)[:LONGEST])


def listed(path=HERE / "packages.txt"):
    """(name, version, {use …}) of what holds."""
    for line in open(path, encoding="utf-8"):
        if line.startswith("#"):
            continue
        name, version, use, _, verdict = line.rstrip("\n").split("\t")[:5]
        use = set(use.split("+")) - ({"patches"} if verdict == "text only" else set())
        if verdict != "no":
            yield name, version, use


def archives_of(apt, name, version, use):
    """Of a Debian package: the source if it is listed by that name and still there, else the binary package. For patches alone
    only what Debian added."""
    source, diff = apt.find(name, version), not use & {"text", "changes"}
    if source[0] == name and "prose" not in use:
        apt.fetch([source], diff)
        if all((apt.files / part).exists() for part in apt.parts(*source, diff)):
            return apt.paths(*source, diff)
    return list(apt.download([(name, version)]).values())


def main():
    out_path, *only = sys.argv[1:]
    signal.signal(signal.SIGALRM, give_up)
    apt, store = packages.Debian(), packages.Npm()
    apt.update()
    with open(out_path, "w", encoding="utf-8", errors="replace") as out:
        for name, version, use in listed():
            if not use & {"text", "patches"} or (only and name not in only):
                continue
            sink = Sink(out, name)
            try:
                if name.startswith("npm:"):
                    npm(sink, store.fetch(name[4:], version))
                else:
                    debian(sink, use, archives_of(apt, name, version, use))
            except (OSError, ValueError) as problem:
                print(f"{name} {version}: {problem}", file=sys.stderr)
            print(name, version, sink.count, flush=True)


if __name__ == "__main__":
    main()

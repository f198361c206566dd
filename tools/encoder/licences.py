#!/usr/bin/env python3
"""Which licence the packages have that the encoder is trained from, by their own files: tools/encoder/licences.py [LIST]

LIST (packages.txt beside this program) has a package a line: its name, version and use, then what this program finds
out and writes there: the licence, whether that holds, and a remark. Of a Debian package debian/copyright is read (from the
part of the source package that Debian added, or from the binary package), of an npm package package.json and the licence
file. A licence counts by its text: each name that a copyright file gives to the package's main licence is looked up
in that file, and the text found there has to be one of the texts below. Exit 1 when a package does not hold.

  yes         the licence of the whole and its text are permissive; files that have another one are left out by extract.py
  text only   that holds for the sources, but the patches that Debian added have a licence that is not permissive
  no          not permissive, or nothing could be read that says so
"""
import fnmatch
import json
import re
import subprocess
import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import packages  # noqa: E402

# Texts that allow nearly everything, each by words that stand in it and in no licence of another kind. Compared without
# case, punctuation and line breaks.
PERMISSIVE = [
    ("Apache-2.0", r"apache license,? version 2|apache license 2 0|licenses license 2 0|apache org licenses terms and conditions|common licenses apache 2|apache 2 0 license"),
    ("Apache-1.1", r"apache software license,? version 1 1|must include the following acknowledgment this product includes software"),
    ("PSF", r"python software foundation license|psf license agreement|this license agreement is between the python software foundation|"
            r"cnri license agreement|beopen"),
    ("PostgreSQL", r"without fee and without a written agreement"),
    ("Tcl", r"hereby grant permission to use copy modify distribute and license this software"),
    ("BSD-4-clause", r"redistribution and use .{0,400}all advertising materials mentioning"),
    ("BSD-3-clause", r"redistribution and use .{0,1500}(neither the names?|names? of .{0,300}may not be used|not be used to endorse)"),
    ("BSD-2-clause", r"redistributions? and use|redistributions of source code must retain the above copyright"),
    ("BSD", r"common licenses bsd"),
    ("MIT", r"permission is hereby granted,? (free of charge )?(to any|free of charge)|permission is hereby granted without written agreement|"
            r"is hereby granted free of charge"),
    ("ISC", r"permission to use copy modify and (or )?(distribute|distribution of) this software for any purpose with or without fee"),
    ("HPND", r"permission to use copy modify,? (and |merge |sell )?(distribute|distribution)|"
             r"permission to use and redistribute the source code or binary forms|"
             r"permission to (freely )?use copy (modify )?(and )?(or )?(distribute|redistribute|modify)"),
    ("FSFAP", r"copying and distribution of th(is|ese) (files?|package) with or without modification are permitted"),
    ("zlib", r"altered source versions must be plainly marked"),
    ("libpng", r"png reference library license|the origin of this source code must not be misrepresented|libpng license|the png reference library is supplied as is"),
    ("FTL", r"freetype project license|the freetype license"),
    ("BSL-1.0", r"boost software license"),
    ("OpenSSL", r"openssl project for use in the openssl toolkit"),
    ("ZPL-2.1", r"zope public license"),
    ("NCSA", r"university of illinois.{0,80}open source license"),
    ("Unlicense", r"free and unencumbered software|unlicense"),
    ("CC0-1.0", r"cc0|common licenses cc0|creative commons zero|commons zero"),
    ("WTFPL", r"do what the fuck you want"),
    ("0BSD", r"zero clause bsd|bsd zero clause"),
    ("BlueOak-1.0.0", r"blue oak model license"),
    ("public-domain", r"public domain|no copyright (is )?claimed|not subject to copyright|disclaims? (all )?copyright|"
                      r"copyright (is )?(hereby )?disclaimed"),
    ("permissive", r"(may|can) be (freely )?(used|copied|distributed|redistributed)( and (used|copied|distributed|modified))? (freely|without restrictions?)|"
                   r"permission is granted to (anyone|any person|use copy|copy|make and distribute)|(freely|free to) (use|copy|modify|distribute)|"
                   r"permission (is )?granted (to|for) (anyone|any|unlimited)|unlimited (use|permission)"),
]
COPYLEFT = re.compile(r"gnu (library |lesser |affero )?(general|gpl)|\ba?l?gpl\b|\b[al]?gpl ?v?[23]|mozilla public|\bmpl\b|eclipse public|\bepl\b|"
                      r"common development and distribution|\bcddl\b|artistic|creative commons attribution|cc by|"
                      r"gnu free documentation|server side public|business source|commons clause|\bqpl\b|sleepycat|eupl|"
                      r"cecill|non ?commercial|microsoft public")
NAMED = re.compile(r"(?i)^(expat|mit|x11|isc|bsd|apache|asl|psf|python|zlib|libpng|unlicense|public[- _]domain|pd$|cc0|boost|bsl-1|"
                   r"postgresql|tcl|openssl|ssleay|ftl|hpnd|zpl|zope|wtfpl|0bsd|curl|ncsa|w3c|permissive|icu|unicode|blueoak|ietf)")

# Copyright files that a program cannot judge, and what a reader found in them.
PYTHON = ("PSF", "yes", "read by hand: GPL is the licence of readline, which is linked, and of a manual that is not there")
READ = {
    "python3.11": PYTHON,
    "libpython3.11-stdlib": PYTHON,
    "libpython3.11-testsuite": PYTHON,
    "krb5": ("MIT", "no", "read by hand: the documentation is CC-BY-SA-3.0, and no list says which files that is"),
}


def plain(text):
    return re.sub(r"[^a-z0-9]+", " ", text.lower()).strip()


def recognise(text):
    """Name of the permissive licence that a text is, or None; what it is not: a pointer to a copyleft one."""
    words = plain(text)
    for name, mark in PERMISSIVE:
        if re.search(mark, words):
            return name
    return None


class Copyright:
    """A machine-readable debian/copyright: which files have which licence, and the texts of the licences."""

    def __init__(self, text):
        self.files, self.texts, joined = [], {}, {}
        if not re.search(r"^Format(-Specification)?:|^Files:[ \t]*(\n[ \t]+)?\*", text, re.M):
            return
        for stanza in re.split(r"\n[ \t]*\n(?=\S)", text):
            row = packages.fields(stanza)
            row = {key.lower().replace("licence", "license"): value for key, value in row.items()}
            name, _, body = row.get("license", "").partition("\n")
            name = name.strip()
            if name and body.strip():
                self.texts.setdefault(name.lower(), body)
                joined.update({part.lower(): body for part in alternatives(name)})
            if "files" in row and name:
                self.files.append((re.split(r"[\s,]+", row["files"].strip()), name, body))
        self.texts = {**joined, **self.texts}

    def whole(self):
        for globs, name, body in self.files:
            if any(glob in ("*", "./*", "**") for glob in globs):
                return name, body
        return self.files[0][1:] if self.files else (None, "")

    def of(self, path):
        """The last paragraph that matches counts."""
        found = self.whole()
        for globs, name, body in self.files:
            if any(fnmatch.fnmatch(path, glob.removeprefix("./")) for glob in globs):
                found = name, body
        return found

    def judge(self, name, body):
        """(holds, licence by its text)"""
        for choice in choices(name):
            found = [self.one(part, body) for part in choice]
            if all(found):
                return True, " and ".join(dict.fromkeys(found))
        return False, name

    def one(self, name, body):
        """One licence of an expression, by its text. A text of its own for that name, else the one beside the files."""
        if re.search(r"(?i)gpl|mpl|cddl|\bepl|cc-by|artistic|sleepycat|qpl|gfdl|ms-pl|eupl|cecill|proprietary|sosl", name):
            return None
        text = self.texts.get(name.lower()) or body or self.texts.get(re.sub(r"(?i) with .*", "", name).lower(), "")
        if not text.strip() and NAMED.match(name):
            return f"{name} (without its text)"
        found = recognise(text)
        if found in ("public-domain", "permissive", None) and COPYLEFT.search(plain(text)) and not NAMED.match(name):
            return None
        return found

    def others(self):
        """Licences of single files that are not permissive."""
        whole = self.whole()[0]
        return sorted({name for globs, name, body in self.files if name != whole and not self.judge(name, body)[0]})


def alternatives(expression):
    """Every licence that an expression names."""
    return [part.strip(" (),;") for part in re.split(r"(?i)\s+(?:or|and|and/or)\s+|,\s+(?:or|and)\s+|[,|/](?=\s)", expression) if part.strip(" (),;")]


def choices(expression):
    """[[licence …] …]: any of the lists is enough, all of a list are needed."""
    return [[part.strip(" (),;") for part in re.split(r"(?i),?\s+and\s+|,\s+", choice) if part.strip(" (),;")]
            for choice in re.split(r"(?i),?\s+(?:or|and/or)\s+", expression)]


def debian(text, use):
    """(licence, verdict, remark) of a debian/copyright."""
    machine = Copyright(text)
    if not machine.files:
        found = sorted({mark for mark, pattern in PERMISSIVE if re.search(pattern, plain(text))})
        if found and not COPYLEFT.search(plain(text)):
            return found[0], "yes", "free-form copyright file"
        return "+".join(found) or "?", "no", "free-form copyright file that names a copyleft licence as well"
    holds, licence = machine.judge(*machine.whole())
    declared = machine.whole()[0]
    if not holds:
        return (declared, "no", "text not recognised" if NAMED.match(declared or "") else "not permissive")
    remarks = []
    if plain(licence) != plain(declared):
        remarks.append(f"called {declared}")
    patches = machine.of("debian/patches/some.patch")
    verdict = "yes"
    if not machine.judge(*patches)[0]:
        verdict = "text only" if "text" in use else "no"
        if "patches" in use:
            remarks.append(f"patches: {patches[0]}")
        else:
            verdict = "yes"
    others = [name for name in machine.others() if name != patches[0]]
    if others and "text" in use:
        remarks.append("single files left out: " + ", ".join(others[:4]) + (" …" if len(others) > 4 else ""))
    return licence, verdict, "; ".join(remarks)


def npm(archive):
    declared, texts = None, []
    for path, member, tar in packages.members(archive):
        if path == "package.json":
            own = json.loads(packages.read(tar, member))
            declared = own.get("license") or own.get("licenses")
        elif "/" not in path and re.match(r"(?i)(un)?licen[cs]e|copying|mit-license|readme", path):
            texts.append((path, packages.read(tar, member)))
    if isinstance(declared, list):
        declared = " or ".join(row.get("type", "?") if isinstance(row, dict) else str(row) for row in declared)
    if isinstance(declared, dict):
        declared = declared.get("type")
    files = [text for path, text in texts if not path.lower().startswith("readme")]
    found = next(filter(None, map(recognise, files)), None)
    copyleft = any(COPYLEFT.search(plain(text[:3000])) for text in files)
    said = bool(declared) and any(all(NAMED.match(part) for part in choice) for choice in choices(declared))
    if found and said and not copyleft:
        return found, "yes", "" if plain(found) == plain(declared) else f"called {declared}"
    if not files and said:
        return declared, "yes", "package.json says so, no text in the package"
    if found and not declared and not copyleft:
        return found, "yes", "by its text alone"
    return str(declared), "no", f"text: {found or 'not recognised'}{', names a copyleft licence' if copyleft else ''}"


def copyright_of(paths):
    """debian/copyright out of what was fetched."""
    for path in paths:
        if path.name.endswith(".diff.gz"):
            diff = subprocess.run(["zcat", path], stdout=subprocess.PIPE, check=True).stdout.decode("utf-8", "replace")
            found = re.search(r"^\+\+\+ \S+/debian/copyright.*\n@@.*\n((?:\+.*\n)+)", diff, re.M)
            if found:
                return re.sub(r"^\+", "", found[1], flags=re.M)
        elif path.suffix == ".deb":
            for name, member, tar in packages.deb_files(path):
                if re.fullmatch(r"usr/share/doc/[^/]+/copyright", name):
                    return packages.read(tar, member)
        else:
            with tarfile.open(path) as tar:
                for member in tar:
                    if member.isfile() and re.fullmatch(r"(\./)?([^/]+/)?debian/copyright", member.name):
                        return packages.read(tar, member)
    return None


def fetch(rows):
    """{(name, version): paths} of what holds the copyright file of each Debian package: the source's, if it is there."""
    apt = packages.Debian()
    apt.update()
    sources = {(row[0], row[1]): apt.find(row[0], row[1]) for row in rows}
    apt.fetch(list(dict.fromkeys(filter(None, sources.values()))), diff=True)
    found, binaries = {}, {}
    for key, source in sources.items():
        try:
            found[key] = source and apt.paths(*source, diff=True)
        except FileNotFoundError:
            made = [b for b, s in apt.source_of.items() if s == source]
            made.sort(key=lambda b: (b[0] != key[0], apt.size[b]))
            binaries[key] = made[0]
    there = apt.download(list(binaries.values()))
    for key, binary in binaries.items():
        found[key] = [there[binary]] if binary in there else None
    other = {key: source[1] for key, source in sources.items()
             if source and key not in apt.source_of and re.sub(r"^\d+:", "", source[1]) != re.sub(r"^\d+:", "", key[1])}
    return found, other


def main():
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "packages.txt"
    lines = path.read_text(encoding="utf-8").splitlines()
    head = [line for line in lines if line.startswith("#")]
    rows = [line.split("\t")[:3] for line in lines if line and not line.startswith("#")]
    found, other = fetch([row for row in rows if not row[0].startswith("npm:")])
    store, table, bad = packages.Npm(), [], 0
    for name, version, use in rows:
        if name.startswith("npm:"):
            result = npm(store.fetch(name[4:], version))
        else:
            text = name not in READ and found[name, version] and copyright_of(found[name, version])
            result = READ[name] if name in READ else debian(text, use) if text else ("?", "no", "no copyright file to be had")
            if (name, version) in other:
                result = (*result[:2], "; ".join(filter(None, (result[2], f"read of {other[name, version]}"))))
        bad += result[1] != "yes"
        table.append("\t".join((name, version, use, *result)).rstrip())
    path.write_text("\n".join(head + table) + "\n", encoding="utf-8")
    for verdict in ("yes", "text only", "no"):
        print(f"{verdict}: {sum(line.split(chr(9))[4] == verdict for line in table)}")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()

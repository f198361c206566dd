#!/usr/bin/env python3
"""Records from change logs that name files: changelog.py OUT

For the packages whose use is "changes": each entry that names files becomes a record "pat" with the piece of that file that shares most
with it, weighed by how rare the shared words are; a second piece if it is nearly as good. Two kinds of logs are known: that of
GNU (* file, file: what) and that of git with its statistics of files.
"""
import json
import math
import os
import re
import sys
from collections import Counter

import extract
from extract import CODE, packages

PIECE, MOST_PIECES, MOST_FILES = 800, 60, 5
COMMIT = re.compile(r"^commit [0-9a-f]{40}$", re.M)
ENTRY = re.compile(r"\s*\* ([\w./*\[\]-]+\.\w+(?:\s*\([^)]*\))?(?:,\s+[\w./*-]+(?:\s*\([^)]*\))?)*)\s*:\s*(.*)", re.S)


def words_of(text):
    return set(re.findall(r"[a-z]{3,}", re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower()))


def pieces(text):
    found, lines, size = [], [], 0
    for line in text.split("\n"):
        lines.append(line)
        size += len(line) + 1
        if size >= PIECE:
            found.append("\n".join(lines))
            lines, size = [], 0
    return (found + ["\n".join(lines)])[:MOST_PIECES]


def entries(log):
    """(what was changed, files)"""
    if COMMIT.search(log[:4000]):
        for commit in COMMIT.split(log)[1:]:
            said = re.search(r"\n\n((?:    [^\n]*\n|\n)+)", commit)
            if said:
                yield re.sub(r"\s+", " ", said[1]).strip(), re.findall(r"^ ([\w./-]+\.\w+)\s+\|", commit, re.M)
        return
    for entry in re.split(r"\n\s*\n|\n(?=\t\* )", log):
        found = ENTRY.match(entry[:3000])
        if found:
            said = re.sub(r"\[[0-9a-f]{12}\].*", "", found[2], flags=re.S)
            yield re.sub(r"\s+", " ", said).strip(), re.findall(r"[\w./-]+\.\w+", found[1])


class Files:
    """The code of a package in pieces, and how many pieces have each word."""

    def __init__(self, texts):
        self.pieces = {path: [(piece, words_of(piece)) for piece in pieces(text)] for path, text in texts.items()}
        self.have = Counter(word for of in self.pieces.values() for _, words in of for word in words)
        self.count = sum(map(len, self.pieces.values()))
        self.by_name = {}
        for path in texts:
            self.by_name.setdefault(os.path.basename(path), []).append(path)

    def find(self, name):
        found = [name] if name in self.pieces else self.by_name.get(os.path.basename(name), [])
        return found[0] if len(found) == 1 else None

    def closest(self, path, words):
        rated = [(sum(math.log(1 + self.count / self.have[word]) for word in words & own if self.have[word] < self.count / 4), piece)
                 for piece, own in self.pieces[path]]
        rated.sort(key=lambda pair: -pair[0])
        if not rated or rated[0][0] < 4:
            return []
        return [piece for score, piece in rated[:2] if score > .6 * rated[0][0]]


def records(package, texts, logs):
    files, seen = Files(texts), set()
    for said, names in (entry for log in logs for entry in entries(log)):
        words = words_of(said)
        if len(words) < 4 or len(names) > MOST_FILES or said in seen:
            continue
        seen.add(said)
        for name in list(dict.fromkeys(names))[:3]:
            path = files.find(name)
            for piece in files.closest(path, words) if path else []:
                query = said.replace(name, "").replace(os.path.basename(name), "")[:380]
                yield ["pat", package, path, "", query, piece[:880]]


def main():
    apt = packages.Debian()
    apt.update()
    with open(sys.argv[1], "w", encoding="utf-8", errors="replace") as out:
        for name, version, use in extract.listed():
            if "changes" not in use:
                continue
            texts, logs, count = {}, [], 0
            for archive in extract.archives_of(apt, name, version, use):
                for path, member, tar in packages.members(archive) if ".debian.tar" not in archive.name else ():
                    if os.path.splitext(path)[1] in CODE and member.size < 4_000_000:
                        texts[path] = packages.read(tar, member)
                    elif re.match(r"(?i)(changelog|changes|news)", os.path.basename(path)) and member.size > 20000:
                        logs.append(packages.read(tar, member))
            for record in records(name, texts, logs):
                out.write(json.dumps(record, ensure_ascii=False) + "\n")
                count += 1
            print(name, version, len(texts), "files", count, "records", flush=True)


if __name__ == "__main__":
    main()

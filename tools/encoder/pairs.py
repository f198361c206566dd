#!/usr/bin/env python3
"""Records as pairs of token lists: pairs.py OUTDIR VOCABULARY RECORDS… [--without DOCS.jsonl…]

A record gives one or two pairs (query, document): its words and its text, and for functions also something that a search engine would be asked,
the name in words, or an error message and the code that has it. Functions that are in a set on which retrieval is measured (--without) are
left out: the same Python name with the same arguments, or the same first 300 letters. Deterministic. Writes kinds.npy, groups.npy,
queries.npy and documents.npy, sorted by kind and package, and each pair once.
"""
import argparse
import hashlib
import json
import os
import random
import re
import zlib
from multiprocessing import Pool
from pathlib import Path

import numpy as np

from tokens import DOCUMENT, DOCUMENT_MAX, QUERY, QUERY_MAX, Tokenizer

KINDS = ["doc", "web", "name", "mod", "cmt", "head", "ict", "pat", "wn", "prose", "qa", "rep", "err"]
LANGUAGES = {".py": "python", ".js": "javascript", ".ts": "typescript", ".go": "golang", ".rs": "rust", ".java": "java", ".c": "c"}
SMALL = set("a an the of to in on at for with and or is are be by from as that this it its into if then than so which will given".split())
BATCH = 20000


def in_words(name):
    name = re.sub(r"([a-z0-9])(?=[A-Z])|([A-Z])(?=[A-Z][a-z])", r"\1\2 ", name)
    return name.replace("_", " ").strip().lower()


def signature(code):
    found = re.search(r"def\s+(\w+\s*\([^)]*\))", code)
    return re.sub(r"\W+", " ", found[1]).strip() if found else None


def beginning(code):
    return hashlib.md5(re.sub(r"\W+", " ", code.lower()).strip()[:300].encode("utf-8", "replace")).digest()[:8]


def sentence(words):
    found = re.match(r"(.{15,}?[.!?])(\s|$)", words)
    return found[1] if found else words


def renamed(name, text):
    """Without the name, which would give the answer away."""
    return re.sub(r"\b" + re.escape(name) + r"\b", "f", text)


def typed(words, language, chance):
    """As somebody types it who is in a hurry."""
    kept = [word for word in re.findall(r"[A-Za-z0-9_.']+", words) if chance.random() > (.6 if word.lower() in SMALL else .08)]
    query, form = " ".join(kept[:chance.randint(4, 10)]).lower().rstrip("."), chance.random()
    for below, text in ((.35, f"{language} {query}"), (.5, f"how to {query} in {language}"), (.57, f"how to {query}"),
                        (.65, f"{query} {language}")):
        if form < below:
            return text
    return query


class Maker:
    def __init__(self, measured):
        self.signatures, self.beginnings = measured

    def is_measured(self, path, text):
        own = signature(text) if path.endswith(".py") else None
        return (own in self.signatures and len(own) > 12) or beginning(text) in self.beginnings

    def function(self, record, path, language, chance):
        kind, _, full_path, name, words, text = record
        if self.is_measured(full_path, text):
            return
        body = (path + "\n" if chance.random() < .75 else "") + text
        if kind == "id":
            yield "name", in_words(name), renamed(name, body)
            return
        query = sentence(words) if chance.random() < .7 else words
        yield "doc", re.sub("^" + re.escape(name) + r"\b(\(\))?\s*(-|:|--)?\s*", "", query), body
        form, errors = chance.random(), re.findall(r"[\"']([A-Z][^\"'\n]{22,120})[\"']", text)
        if errors and form < .35:
            error = chance.choice(errors)
            yield "err", error, body.replace(error, " ", 1)
        elif language and form < .7:
            line = text.find("\n") + 1
            if chance.random() < .5:
                asked = in_words(name) if len(in_words(name).split()) > 1 else words
                yield "web", typed(asked, language, chance), renamed(name, text[:line]) + words + "\n" + text[line:]
            else:
                whole = text if chance.random() < .6 else text[:line] + words[len(sentence(words)):] + "\n" + text[line:]
                yield "web", typed(sentence(words), language, chance), whole
        elif len(in_words(name).split()) > 1:
            yield "name", in_words(name), renamed(name, body)

    def section(self, path, heading, text, chance):
        if len(heading.split()) > 1:
            file = in_words(os.path.splitext(os.path.basename(path))[0])
            yield "head", heading if chance.random() < .6 else f"{file} {heading}", text
        parts = re.split(r"(?<=[.!?:])\s+", text)
        at = chance.randrange(len(parts))
        if len(parts) > 2 and len(parts[at].split()) > 5:
            yield "ict", parts[at], (heading + "\n" if chance.random() < .5 else "") + " ".join(parts[:at] + parts[at + 1:])

    def paragraph(self, text, chance):
        parts = re.split(r"(?<=[.!?;])\s+", text)
        if len(parts) < 3:
            return
        at = chance.randrange(len(parts))
        before = max(0, at - chance.randint(1, 3))
        if chance.random() < .4:
            words = [word for word in re.findall(r"[A-Za-z'-]+", text) if word.lower() not in SMALL and len(word) > 3]
            if len(words) > 8:
                yield "prose", " ".join(chance.sample(words, chance.randint(3, 6))), text
        if len(parts[at].split()) > 4:
            yield "prose", parts[at], " ".join(parts[before:at] + parts[at + 1:at + 4])

    def __call__(self, record, chance):
        kind, _, path, name, words, text = record
        language = LANGUAGES.get(os.path.splitext(path)[1], "")
        if chance.random() < .3:
            path = os.path.basename(path)
        if kind in ("fn", "id"):
            yield from self.function(record, path, language, chance)
        elif kind == "mod":
            yield "mod", words[:250], path + "\n" + text
        elif kind == "cmt":
            yield "cmt", words, (path + "\n" if chance.random() < .5 else "") + text
        elif kind == "pat":
            yield "pat", sentence(words) if chance.random() < .3 else words, path + "\n" + text
        elif kind == "md":
            yield from self.section(path, name, text, chance)
        elif kind == "prose":
            yield from self.paragraph(text, chance)
        else:
            yield kind, words, text
            parts = [part for part in re.split(r"(?<=[.!?])\s+", text) if len(part.split()) > 4] if kind == "rep" else []
            if len(parts) > 2:
                part = chance.choice(parts)
                yield "prose", part, text.replace(part, " ")


def measured(paths):
    signatures, beginnings = set(), set()
    for path in paths:
        for line in open(path, encoding="utf-8"):
            text = json.loads(line)["text"]
            signatures.add(signature(text))
            beginnings.add(beginning(text))
    return signatures - {None}, beginnings


def padded(lists, most):
    out = np.zeros((len(lists), most), np.uint16)
    for at, ids in enumerate(lists):
        out[at, :len(ids)] = ids
    return out


def work(job):
    seed, lines = job
    chance, rows = random.Random(seed), []
    for record in map(json.loads, lines):
        for kind, query, document in work.maker(record, chance):
            query, document = work.tokens(query, QUERY_MAX, QUERY), work.tokens(document, DOCUMENT_MAX, DOCUMENT)
            if len(query) > 2 and len(document) > 4:
                rows.append((KINDS.index(kind), zlib.crc32(record[1].encode()) & 0x7FFFFFFF, query, document))
    kinds, groups, queries, documents = zip(*rows) if rows else ([], [], [], [])
    return np.array(kinds, np.uint8), np.array(groups, np.int32), padded(queries, QUERY_MAX), padded(documents, DOCUMENT_MAX)


def begin(vocabulary, without):
    work.tokens, work.maker = Tokenizer(vocabulary), Maker(measured(without))


def jobs(paths):
    lines, seed = [], 0
    for path in paths:
        for line in open(path, encoding="utf-8"):
            lines.append(line)
            if len(lines) == BATCH:
                yield seed, lines
                lines, seed = [], seed + 1
    yield seed, lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("vocabulary")
    parser.add_argument("records", nargs="+")
    parser.add_argument("--without", nargs="*", default=[])
    args = parser.parse_args()
    with Pool(None, begin, (args.vocabulary, args.without)) as pool:
        parts = list(pool.imap(work, jobs(args.records)))
    kinds, groups, queries, documents = (np.concatenate(arrays) for arrays in zip(*parts))
    order = np.lexsort((groups, kinds))
    kinds, groups, queries, documents = kinds[order], groups[order], queries[order], documents[order]
    both = np.ascontiguousarray(np.concatenate([queries, documents[:, :40]], 1))
    once = np.sort(np.unique(both.view(f"V{both.shape[1] * 2}").ravel(), return_index=True)[1])
    for name, array in (("kinds", kinds), ("groups", groups), ("queries", queries), ("documents", documents)):
        np.save(args.out / f"{name}.npy", array[once])
    print(len(once), "pairs:", {kind: int((kinds[once] == at).sum()) for at, kind in enumerate(KINDS)})


if __name__ == "__main__":
    main()

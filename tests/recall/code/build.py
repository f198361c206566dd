#!/usr/bin/python3
"""Makes sets to measure retrieval of code on: tests/recall/code/build.py [DIRECTORY]

  functions   what a function does, in the words of its own description → the function. The repository that is searched
              has no descriptions any more.
  changes     what was changed, in the words of a change log or of a patch's header → the files that were changed

Packages come from Debian and npm, through their ordinary clients, to the cache; each is pinned by the digests below, and none
of them is among those that the encoder was trained from (that is checked). A package belongs to one half: settings are chosen on `dev`,
`test` is looked at once. In DIRECTORY (default: sets/ in the cache) there are for each set and half

  SET.HALF.docs.jsonl      {"id", "group", "title", "text"}: a function or a file each; the group is the repository
  SET.HALF.queries.jsonl   {"id", "group", "language", "query", "relevant": [ids of docs], "places": [[path, first, last] …]}
  trees/SET/GROUP/…        the repository, for a program that reads directories; places are lines in it, from 1

and score.py beside this program measures a hookd on them.
"""
import hashlib
import json
import os
import random
import re
import shutil
import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(HERE)]
import changes  # noqa: E402
import functions  # noqa: E402
import packages  # noqa: E402

# set, half, kind of package, name, version, the part of it that is taken, archives with their digests
TABLE = """
functions dev deb xonsh 0.13.4+dfsg-1 usr/(lib/python3/dist-packages|share)/ xonsh_0.13.4+dfsg-1_all.deb=09ae9b5c26430dd9067348a9eb800f4f46d54a5e9693ae0c730ca8b0d411bcfb
functions dev npm node-forge 1.4.3 lib/ node-forge-1.4.3.tgz=0a872d932911012524495ab07dbf49351bd8ac23f12ea4766dc400f29ffc3356
functions dev source delve 1.20.2-1+deb12u1 (pkg|service|cmd)/ delve_1.20.2.orig.tar.xz=c46a372ccb31aee112d3984af75e492fb37b5299594cd83a5c2a7a94bb61c5d4
functions dev source checkstyle 8.36.1-1 src/main/ checkstyle_8.36.1.orig.tar.xz=bd41bfbcc0a5fcf5bd67cf6caf5cf42a0f0a6fd214fee7370552e385d8281f21
functions dev deb ruby-sequel 5.63.0-1 usr/(lib/ruby/vendor_ruby|share/rubygems-integration/all/gems/[^/]*)/ ruby-sequel_5.63.0-1_all.deb=2aa39e0a84fd91a802f28223e8146d5d43d9f742e5d6e33c13381edc28a42d85
functions dev deb librust-sequoia-openpgp-dev 1.12.0-2 usr/share/cargo/registry/[^/]*/ librust-sequoia-openpgp-dev_1.12.0-2_amd64.deb=a4d5cf5e1a3f781f6f9235d0a57f7d881ef01814bc996faf6232e5b355734dd5
functions dev source pacemaker 2.1.5-1+deb12u1 (lib|daemons|tools)/ pacemaker_2.1.5.orig.tar.gz=7654b78f08d4994b9fd31b8592addbd7f4b173e2cbf30336722419f1ce45e185
functions dev source jline3 3.3.1-3 . jline3_3.3.1.orig.tar.xz=0e9fc779c7eb0b40fc24140cb567744677a60f91d712b64608355833c36e2376
functions test deb borgbackup 1.2.4-1 usr/lib/python3/dist-packages/ borgbackup_1.2.4-1_amd64.deb=4bd4d7962a6cbc12c48e1c35495686da1c45f683782bb4e36f7873bcedc06032
functions test deb mitmproxy 8.1.1-2 usr/lib/python3/dist-packages/ mitmproxy_8.1.1-2_all.deb=2f7a9ec0b8f3512587b45fa4338f743ce32b3165c1ace01667eb3c2bcaa7d223
functions test npm konva 10.9.0 lib/ konva-10.9.0.tgz=37431ed7c32368a4a96e11735474da107e9590dd4c8726a105396410ae4f0ede
functions test npm ace-code 1.45.2 src/ ace-code-1.45.2.tgz=407e5029676b598baa220040b9853c2fbcff83c08840c0fb6e5b54bd5d34d281
functions test npm pdf-lib 1.17.1 src/ pdf-lib-1.17.1.tgz=a7cc1eaf12e41e612a7be581162a63b18118aefc01e90f6a1f35347b1f324a1c
functions test source syncthing 1.19.2~ds1-1 (lib|cmd)/ syncthing_1.19.2~ds1.orig.tar.xz=573774c1d9861a55ae29611c16e0089de069ce63b6f09158023f92c796ed6452
functions test source libvirt 9.0.0-4+deb12u2 src/util/ libvirt_9.0.0.orig.tar.xz=deca5cff1b7baac297bca9663907c61f71a47183371dc7ac019c107806d5435a
functions test source jython 2.7.3+repack1-1 src/org/python/(util|indexer|compiler|core/io|core/util)/ jython_2.7.3+repack1.orig.tar.gz=c3a8b081e6922f42ed78baa9c5fbe5054e075769c1d73ff6aaac1b99e44ee497
functions test deb ruby-asciidoctor 2.0.18-2 usr/(lib/ruby/vendor_ruby|share/rubygems-integration/all/gems/[^/]*)/ ruby-asciidoctor_2.0.18-2_all.deb=80443b3ac51284cf741434970935149929d60fafb2e9cef086ffa4fc296b4176
functions test deb librust-cursive-core-dev 0.3.5-1 usr/share/cargo/registry/[^/]*/ librust-cursive-core-dev_0.3.5-1_amd64.deb=f988a1f6abb7bdfe0880626ebe13b1ccf3729578c4e0f39b021238d1f6c5feff
functions test deb librust-ureq-dev 2.6.2-3 usr/share/cargo/registry/[^/]*/ librust-ureq-dev_2.6.2-3_all.deb=68bcf04ef9e8fa9ab3e91ef1f2e5a591501e855bada609557e263235224b2004
functions test deb librust-zbus-dev 1.9.2-4 usr/share/cargo/registry/[^/]*/ librust-zbus-dev_1.9.2-4_amd64.deb=fa81f24189cb1f4c71809d4676119f66b8664a1f260dd8b63ab2afa9b11a55ec
changes dev source gawk 1:5.2.1-2 . gawk_5.2.1.orig.tar.xz=2337a0283b180ec1b9c727973a34781c6478b3ae9bcbdcca0a4dc49861d75a65 gawk_5.2.1-2.debian.tar.xz=ae031782d073e8d1670b4d9ced47b3adecde2f314d824339673d163ba7029f4b
changes dev source nettle 3.8.1-2 . nettle_3.8.1.orig.tar.gz=364f3e2b77cd7dcde83fd7c45219c834e54b0c75e428b6f894a23d12dd41cbfe nettle_3.8.1-2.debian.tar.xz=8f1eae9c6afffe545de294140f33d53352261478268dafee5ef72d840e1b3d7b
changes dev source gnupg2 2.2.40-1.1+deb12u2 . gnupg2_2.2.40.orig.tar.bz2=1164b29a75e8ab93ea15033300149e1872a7ef6bdda3d7c78229a735f8204c28 gnupg2_2.2.40-1.1+deb12u2.debian.tar.xz=398ad74f63d81edd9365df97129d05061829599bf50e72824576e1dda23fbe62
changes dev source bison 2:3.8.2+dfsg-1 . bison_3.8.2+dfsg.orig.tar.xz=dff8a3c96dd34121828f62a7fa49e1f7765815b89e59f564e8d2a9e71c177be5 bison_3.8.2+dfsg-1.debian.tar.xz=e878473ddbc8601c1b9b8558fab86950ae6ae5b7c146802d587e284d5e1c9abb
changes dev source groff 1.22.4-10 . groff_1.22.4.orig.tar.gz=e78e7b4cb7dec310849004fa88847c44701e8d133b5d4c13057d876c1bad0293 groff_1.22.4-10.debian.tar.xz=f86d48663a913f6c1dad78f194a3ebef8b84905ca479d1d60a4c46d6ff788d46
changes test source libgcrypt20 1.10.1-3+deb12u1 . libgcrypt20_1.10.1.orig.tar.bz2=ef14ae546b0084cd84259f61a55e07a38c3b53afc0f546bffcef2f01baffe9de libgcrypt20_1.10.1-3+deb12u1.debian.tar.xz=a827828973467fe4469729c51124a2b8a8682911369840f66842816190bd7e6c
changes test source wget 1.21.3-1+deb12u1 . wget_1.21.3.orig.tar.gz=5726bb8bc5ca0f6dc7110f6416e4bb7019e2d2ff5bf93d1ca2ffcc6656f220e5 wget_1.21.3-1+deb12u1.debian.tar.xz=b3f34498bd7d390d1ab960fbd8fa302fb848b1d62373abb4f1c7b63a866bee12
changes test source gettext 0.21-12 gettext-(tools|runtime)/(src|intl|libgettextpo|wizard)/ gettext_0.21.orig.tar.xz=d20fcbb537e02dcf1383197ba05bd0734ef7bf5db06bdb241eb69b7d16b73192 gettext_0.21-12.debian.tar.xz=b4bb3a1749f14ea9f3544c3457f934005b0fd130e546fb56fcf9c38d6b5c614b
changes test source mutt 2.2.12-0.1~deb12u1 . mutt_2.2.12.orig.tar.gz=043af312f64b8e56f7fd0bf77f84a205d4c498030bd9586457665c47bb18ce38 mutt_2.2.12-0.1~deb12u1.debian.tar.xz=658de41300c6971bc80f210f61c86f8e99e4e721d8d89296a8be059f2c80c301
changes test source grep 3.8-5 . grep_3.8.orig.tar.xz=498d7cc1b4fb081904d87343febb73475cf771e424fb7e6141aff66013abc382 grep_3.8-5.debian.tar.xz=c49bb8ab9ed98fd1aa76f8af838ac9abd664e65042c0e40f99983c60ba03fba1
"""
QUERIES = {"functions": 90, "changes": 90}  # of a package, at most
TEXT = set(".py .js .mjs .ts .go .rs .c .h .cc .cpp .hpp .java .rb .y .l .el .scm .sh .pl .m4 .awk .md .rst .txt .adoc .texi .toml .yaml "
           ".yml .json .cfg .ini .in .ac .am .mk .1 .3 .5 .7 .8".split())
LEFT_OUT = re.compile(r"(?i)(^|/)(tests?|testing|testsuite|spec|specs|fixtures?|testdata|vendor|third[-_]?party|node_modules|dist|build|"
                      r"examples?|locales?|po|debian|\.pc|gnulib-tests)(/|$)|\.min\.|\.d\.ts$|_pb2?\.|\.pb\.go$|_test\.go$|"
                      r"(^|/)(change-?log|changes|news|history|releases?|thanks|authors)[^/]*$|bundle\.js$")
LARGEST, MOST_FILES = 400_000, 4


class Package:
    def __init__(self, row):
        self.set, self.half, self.kind, self.name, self.version, self.part, *archives = row.split()
        self.archives = dict(archive.split("=") for archive in archives)
        self.group = self.name

    def fetch(self, debian, npm):
        """Paths of the archives, which are what the table says."""
        if self.kind == "npm":
            found = [npm.fetch(self.name, self.version)]
        else:
            missing = [name for name in self.archives if not (debian.files / name).exists()] or not self.archives
            if missing:
                debian.update()
            if missing and self.kind == "deb":
                debian.download([(self.name, self.version)])
            elif missing:
                debian.fetch([(self.name, self.version)])
            names = self.archives or (debian.parts(self.name, self.version) if self.kind == "source" else [
                path.name for path in debian.files.glob(f"{self.name}_{self.version.replace(':', '%3a')}_*.deb")])
            found = [debian.files / name for name in names]
        for path in found:
            if not path.exists():
                sys.exit(f"{self.name} {self.version}: the archive has no {path.name} any more")
            if self.archives and packages.sha256(path) != self.archives[path.name]:
                sys.exit(f"{path.name} is not what was pinned")
        return found

    def files(self, archives):
        """{path below the part: text}, and {name: text} of change logs and patches."""
        texts, logs = {}, {}
        for archive in archives:
            of_debian = ".debian.tar" in archive.name
            read = packages.deb_files if self.kind == "deb" else packages.members
            for path, member, tar in read(archive):
                base = os.path.basename(path)
                if of_debian and "patches/" in path or not of_debian and re.match(r"ChangeLog", base) and member.size > 3000:
                    logs[path] = tar.extractfile(member).read().decode("utf-8", "replace")
                if of_debian or not re.match(self.part, path) or member.size > LARGEST:
                    continue
                short = re.sub(self.part, "", path, count=1) if self.kind == "deb" else path
                if os.path.splitext(base)[1].lower() in TEXT and not LEFT_OUT.search(short):
                    text = packages.read(tar, member)
                    if len(text) < 3000 or text.count("\n") * 250 > len(text):
                        texts[short] = text
        return texts, logs


def functions_of(package, texts):
    """Documents, queries and the tree of a repository without descriptions."""
    docs, asked, tree, same = [], [], {}, {}
    for path, text in sorted(texts.items()):
        language = functions.LANGUAGES.get(os.path.splitext(path)[1])
        found = functions.find(text, language) if language else []
        tree[path], where = functions.without(text, found)
        lines = tree[path].split("\n")
        for f in found:
            first, last = where[f.first], where[f.last] if f.last not in range(*(f.described or (0, 0))) else where[f.last] - 1
            body = "\n".join(lines[first:last + 1])
            if last - first < 2 or len(body) < 60:
                continue
            doc = f"{package.group}:{path}:{first + 1}"
            docs.append({"id": doc, "group": package.group, "title": path, "text": body[:4000]})
            same.setdefault(re.sub(r"\s+", " ", body), []).append((doc, path, first + 1, last + 1))
            query = f.described and functions.question(f.text, f.name, language)
            if query and len(body) < 4000:
                asked.append((query, language, re.sub(r"\s+", " ", body)))
    often = Counter(query for query, _, _ in asked)
    queries = [{"language": language, "query": query, "relevant": [place[0] for place in same[body]],
                "places": [place[1:] for place in same[body]]} for query, language, body in asked if often[query] == 1]
    return docs, queries, tree


def changes_of(package, texts, logs):
    """The same for changes; a document is a file."""
    by_name, queries, seen = {}, [], set()
    for path in texts:
        by_name.setdefault(os.path.basename(path), []).append(path)
    said = []
    for path, text in sorted(logs.items()):
        below = os.path.dirname(path)
        if "patches/" in path:
            said.append((*changes.patch(text), "", "patch"))
        else:
            said += [(query, files, below, "log") for query, files in changes.entries(text)]
    for query, files, below, kind in said:
        found = []
        for name in dict.fromkeys(files):
            fits = [path for path in (os.path.join(below, name), name) if path in texts] or by_name.get(os.path.basename(name), [])
            found += fits if len(fits) == 1 else fits[:1] if name in fits or os.path.join(below, name) in fits else []
        found = list(dict.fromkeys(found))
        words = re.findall(r"[A-Za-z]{2,}", query)
        # Most of what was changed has to be there, or the question has an answer that cannot be found.
        if not found or len(found) > MOST_FILES or 2 * len(found) < len(set(files)) or not 6 <= len(words) <= 90 or query in seen:
            continue
        seen.add(query)
        queries.append({"language": kind, "query": query[:500], "relevant": [f"{package.group}:{path}" for path in found],
                        "places": [(path, 1, texts[path].count("\n") + 1) for path in found]})
    docs = [{"id": f"{package.group}:{path}", "group": package.group, "title": path, "text": text}
            for path, text in sorted(texts.items())]
    return docs, queries, texts


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def untrained(package):
    """None of the training's packages, whatever their prefix."""
    trained = {line.split("\t")[0].removeprefix("npm:") for line in open(ROOT / "tools/encoder/packages.txt", encoding="utf-8")
               if not line.startswith("#")}
    core = re.compile(r"^(python3?-|golang-(github-|golang-)?|librust-|rust-|ruby-|node-|lib)|(-dev)$")
    if core.sub("", package.name) in {core.sub("", name) for name in trained}:
        sys.exit(f"{package.name} is a package that the encoder was trained from")


def main():
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else packages.CACHE / "sets"
    debian, npm = packages.Debian(), packages.Npm()
    shutil.rmtree(out, ignore_errors=True)
    (out / "trees").mkdir(parents=True)
    sets = {}
    for package in map(Package, filter(None, TABLE.strip().splitlines())):
        untrained(package)
        archives = package.fetch(debian, npm)
        texts, logs = package.files(archives)
        docs, queries, tree = functions_of(package, texts) if package.set == "functions" else changes_of(package, texts, logs)
        chance = random.Random(package.name)
        chosen = chance.sample(queries, min(len(queries), QUERIES[package.set]))
        for number, query in enumerate(chosen):
            query.update(id=f"{package.group}-{number}", group=package.group)
        to = sets.setdefault((package.set, package.half), ([], []))
        to[0].extend(docs)
        to[1].extend(chosen)
        for path, text in tree.items():
            target = out / "trees" / package.set / package.group / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", errors="replace")
        print(f"{package.set} {package.half} {package.name}: {len(tree)} files, {len(docs)} documents, {len(queries)} queries, "
              f"{len(chosen)} taken", *(f"{path.name}={packages.sha256(path)}" for path in archives if not package.archives),
              flush=True)
    for (name, half), (docs, queries) in sets.items():
        write_lines(out / f"{name}.{half}.docs.jsonl", docs)
        write_lines(out / f"{name}.{half}.queries.jsonl", queries)
        digest = hashlib.sha256("".join(q["query"] for q in queries).encode()).hexdigest()[:12]
        print(f"{name}.{half}: {len(queries)} queries over {len({q['group'] for q in queries})} repositories, "
              f"{len(docs)} documents, {dict(Counter(q['language'] for q in queries))}, {digest}")


if __name__ == "__main__":
    main()

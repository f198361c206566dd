"""Packages of Debian and npm, brought to the cache by their ordinary clients. Used by tools/encoder and tests/recall.

Nothing here changes the machine: apt-get gets a state of its own in the cache, made from the sources that the machine
has, with source packages switched on. What is in the cache is not asked for again, so a second run needs no network.
"""
import hashlib
import io
import os
import re
import subprocess
import tarfile
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hookd"


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def members(archive):
    """(path without the first directory, TarInfo, the open archive) of the plain files of a tar archive."""
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.isfile():
                yield member.name.removeprefix("./").partition("/")[2] or member.name, member, tar


def read(tar, member):
    return tar.extractfile(member).read().decode("utf-8", "replace")


def deb_files(path):
    """The same for a binary package."""
    raw = subprocess.run(["dpkg-deb", "--fsys-tarfile", path], stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(raw)) as tar:
        for member in tar:
            if member.isfile():
                yield member.name.removeprefix("./"), member, tar


def fields(stanza):
    """A paragraph of "Name: value" lines, as Debian writes them; continued lines keep their line breaks."""
    found, name = {}, None
    for line in stanza.splitlines():
        if line[:1] in " \t" and name:
            found[name] += "\n" + line
        elif ":" in line:
            name, _, value = line.partition(":")
            found[name] = value.strip()
    return found


class Debian:
    """Source packages, and the binary packages made of them."""

    def __init__(self, cache=CACHE):
        self.dir = cache / "apt"
        self.files = cache / "debian"
        self.files.mkdir(parents=True, exist_ok=True)
        self.env = {**os.environ, "APT_CONFIG": str(self.dir / "apt.conf"), "LC_ALL": "C"}
        self.sources = {}  # (name, version): paragraph
        self.source_of, self.architecture, self.size = {}, {}, {}  # of (binary, version)

    def configure(self):
        """An apt of our own: the machine's sources of Debian, with deb-src."""
        for name in ("etc", "lists/partial", "archives/partial"):
            (self.dir / name).mkdir(parents=True, exist_ok=True)
        for path in [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))]:
            if not path.is_file() or path.suffix not in (".list", ".sources"):
                continue
            text = path.read_text()
            if path.suffix == ".sources":
                text = re.sub(r"^Types:.*$", "Types: deb deb-src", text, flags=re.M)
            else:
                text += "\n" + re.sub(r"^deb ", "deb-src ", text, flags=re.M)
            (self.dir / "etc" / path.name).write_text(text)
        (self.dir / "apt.conf").write_text(
            f'Dir::Etc::sourcelist "/dev/null";\nDir::Etc::sourceparts "{self.dir}/etc";\nDir::State::lists "{self.dir}/lists";\n'
            f'Dir::Cache "{self.dir}/archives";\nAPT::Sandbox::User "";\nAcquire::Retries "3";\n')

    def apt(self, *args, **more):
        return subprocess.run(["apt-get", "-qq", *args], env=self.env, text=True, **more)

    def update(self):
        """Reads the lists: which source packages there are, in which versions, with which files."""
        if not any((self.dir / "lists").glob("*_Sources*")):
            self.configure()
            self.apt("update", check=True)
        targets = subprocess.run(["apt-get", "indextargets", "--format", "$(CREATED_BY) $(FILENAME)"], env=self.env,
                                 text=True, check=True, stdout=subprocess.PIPE).stdout
        for target in targets.splitlines():
            kind, _, path = target.partition(" ")
            if kind not in ("Sources", "Packages"):
                continue
            text = subprocess.run(["/usr/lib/apt/apt-helper", "cat-file", path], env=self.env, check=True,
                                  stdout=subprocess.PIPE).stdout.decode("utf-8", "replace")
            for stanza in text.split("\n\n"):
                row = fields(stanza)
                if kind == "Sources" and "Package" in row:
                    self.sources[row["Package"], row["Version"]] = row
                elif "Package" in row:
                    source = re.match(r"(\S+)(?: \((.*)\))?", row.get("Source", row["Package"]))
                    version = source[2] or re.sub(r"\+b\d+$", "", row["Version"])
                    key = row["Package"], row["Version"]
                    self.source_of[key] = source[1], version
                    self.architecture[key], self.size[key] = row["Architecture"], int(row["Size"])

    def find(self, name, version):
        """(source, version) of a source or binary package. Without its epoch the version is found as well; when it is no
        longer there, the newest is taken, and the caller can see that it is another one."""
        if (name, version) in self.sources:
            return name, version
        if (name, version) in self.source_of:
            return self.source_of[name, version]
        rows = [(key[1], key) for key in self.sources if key[0] == name] or [
            (key[1], source) for key, source in self.source_of.items() if key[0] == name]
        same = [source for own, source in rows if re.sub(r"^\d+:", "", own) == version]
        return same[0] if same else rows[-1][1] if rows else None

    def listed(self, source, version):
        """{file name: (sha256, size)} of a source package."""
        lines = self.sources[source, version]["Checksums-Sha256"].split("\n")
        return {name: (digest, int(size)) for digest, size, name in (line.split() for line in lines if line.strip())}

    def parts(self, source, version, diff=False):
        """{file name: sha256} of the archives; diff: only of what Debian added, where that is apart."""
        all_of = {name: digest for name, (digest, _) in self.listed(source, version).items()
                  if not name.endswith((".asc", ".dsc"))}
        added = {name: digest for name, digest in all_of.items() if ".debian.tar" in name or name.endswith(".diff.gz")}
        return added if diff and added else all_of

    def fetch(self, wanted, diff=False):
        """Brings the archives of many source packages, [(source, version)], with few calls of apt-get, which reads all its
        lists each time; diff: as above. What the archive no longer has stays missing."""
        missing = [key for key in wanted if any(not (self.files / name).exists() for name in self.parts(*key, diff))]
        for at in range(0, len(missing), 100):
            names = [f"{source}={version}" for source, version in missing[at:at + 100]]
            self.apt("source", "--only-source", "--diff-only" if diff else "--download-only", *names, cwd=self.files,
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def paths(self, source, version, diff=False):
        """Where fetch() has put them, each compared with its checksum."""
        found = []
        for name, digest in sorted(self.parts(source, version, diff).items()):
            if sha256(self.files / name) != digest:
                raise ValueError(f"{name} is not what the list of packages says")
            found.append(self.files / name)
        return found


    def download(self, wanted):
        """Brings binary packages, [(name, version)]; returns {(name, version): path} of those that are there."""
        path = {(name, version): self.files / f"{name}_{version.replace(':', '%3a')}_{self.architecture[name, version]}.deb"
                for name, version in wanted if (name, version) in self.architecture}
        missing = [key for key in path if not path[key].exists()]
        for at in range(0, len(missing), 100):
            self.apt("download", *("=".join(key) for key in missing[at:at + 100]), cwd=self.files, stdout=subprocess.DEVNULL,
                     stderr=subprocess.DEVNULL)
        return {key: file for key, file in path.items() if file.exists()}


class Npm:
    """Packages of npm: one archive each."""

    def __init__(self, cache=CACHE):
        self.files = cache / "npm"
        self.files.mkdir(parents=True, exist_ok=True)

    def fetch(self, name, version):
        path = self.files / f"{name.replace('@', '').replace('/', '-')}-{version}.tgz"
        if not path.exists():
            subprocess.run(["npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", self.files, f"{name}@{version}"],
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return path

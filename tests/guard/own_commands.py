#!/usr/bin/env python3
"""own_commands.py HOOKD [--system]: false alarms on ordinary scripts.

Takes every command line of this repository's scripts, Makefile, CI and documentation and asks the guard about each; with
--system also the lines of the shell scripts that the system has in /usr/bin and /etc, as a figure only. Exit 1 when the
repository's own commands are denied, or asked about more than once in a hundred. Nothing is run."""
import collections
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cases import decide  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# The documentation tells people how to stop, change and remove hookd; an agent must not. These rules are meant to speak.
MEANT = {'self.tamper', 'hookd.selftest'}
# Texts about the guard show what it stops.
EXAMPLES = ('docs/decisions/0010-guard.md', 'docs/guard.md', 'tests/guard/', 'tests/fuzz/', 'tests/golden/')


def tracked():
    out = subprocess.run(['git', 'ls-files'], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [p for p in out.splitlines() if not p.startswith(EXAMPLES)]


def joined(text):
    text = re.sub(r'\\\n\s*', ' ', text)
    return re.sub(r'(&&|\|\||\|)[ \t]*\n\s*', r'\1 ', text)


def is_complete(line):
    """A line of a script that is a command by itself; parts of compound commands are not."""
    return subprocess.run(['bash', '-n', '-c', line], capture_output=True).returncode == 0


def script_lines(text):
    """Each line with the assignments that stand before it: what a variable holds is known in a script."""
    before = []
    for line in joined(text).splitlines():
        line = line.strip()
        if not line or line.startswith('#'):
            continue
        if re.match(r'(local |readonly |export )?\w+=', line) and is_complete(line):
            before.append(line)
        yield '\n'.join(before[-20:] + [line])


def makefile_lines(text):
    known = dict(re.findall(r'^(\w+) *[?:]?= *(.*)$', joined(text), re.M))
    for line in joined(text).splitlines():
        if line.startswith('\t'):
            line = line.strip().lstrip('@-+')
            line = re.sub(r'\$\((\w+)\)', lambda m: known.get(m[1], m[0]), line)
            yield re.sub(r'\$\(or [^)]*\)+', '1', line).replace('$$', '$')


def markdown_lines(text):
    for block in re.findall(r'```(?:sh|bash|console|shell)?\n(.*?)```', text, re.S):
        for line in joined(block).splitlines():
            line = re.sub(r'^\s*[$#>] ', '', line).strip()
            if line and re.match(r'[a-z./~$]', line) and not re.search(r'[─▶{}<>│]', line):
                yield line


def ci_lines(text):
    for line in re.findall(r'^\s*-?\s*run:\s*(?![|>])(.+)$', text, re.M):
        yield line.strip()
    for block in re.findall(r'run: [|>]\n((?:\s{6,}.+\n)+)', text):
        yield from script_lines(block)


def own():
    for path in tracked():
        full = os.path.join(ROOT, path)
        if not os.path.isfile(full):
            continue
        text = open(full, encoding='utf-8', errors='replace').read()
        if re.match(r'#!.*\b(ba|da)?sh\b', text) or path.endswith('.sh'):
            lines = script_lines(text)
        elif os.path.basename(path) in ('Makefile', 'GNUmakefile'):
            lines = makefile_lines(text)
        elif path.endswith('.md'):
            lines = markdown_lines(text)
        elif path.endswith(('.yml', '.yaml')):
            lines = ci_lines(text)
        else:
            continue
        for line in lines:
            yield path, line


def system():
    for top in ('/usr/bin', '/usr/sbin', '/etc/init.d', '/usr/lib/git-core', '/etc/cron.daily', '/usr/share/bash-completion/completions'):
        for name in sorted(os.listdir(top)) if os.path.isdir(top) else ():
            path = os.path.join(top, name)
            try:
                text = open(path, 'rb').read(200000).decode()
            except (OSError, UnicodeDecodeError):
                continue
            if re.match(r'#!.*\b(ba|da)?sh\b', text):
                for line in script_lines(text):
                    yield path, line


def measure(hookd, rows, show):
    rows = sorted(set(rows))
    lines = sorted({line for _, line in rows})
    complete = {line: True for line in lines}
    with_shell = [line for line in lines if re.search(r'\b(if|then|else|fi|do|done|case|esac|for|while|until)\b|[(){};"\']', line)]
    for line in with_shell:
        complete[line] = is_complete(line)
    rows = [r for r in rows if complete[r[1]]]
    count = collections.Counter()
    for (path, line), answer in zip(rows, decide(hookd, [r[1] for r in rows], ROOT, '/home/dev')):
        word = 'meant' if answer['rule'] in MEANT else answer['decision']
        count[word] += 1
        if show and word not in ('allow', 'meant'):
            print('%s: %s (%s): %s' % (path, word, answer['rule'], line[:160]))
    return len(rows), count


def main():
    hookd = sys.argv[1]
    n, count = measure(hookd, own(), True)
    print('own commands: %d, denied %d, asked %d, meant %d' % (n, count['deny'], count['ask'], count['meant']))
    if '--system' in sys.argv:
        total, c = measure(hookd, list(system())[:20000], '-v' in sys.argv)
        print('lines of system scripts: %d, denied %d (%.2f %%), asked %d (%.2f %%)' % (
            total, c['deny'], 100 * c['deny'] / max(total, 1), c['ask'], 100 * c['ask'] / max(total, 1)))
    return count['deny'] > 0 or count['ask'] > n / 100


if __name__ == '__main__':
    sys.exit(main())

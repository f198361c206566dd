#!/usr/bin/env python3
"""Command lines that people really wrote, from git repositories: what the guard makes of them.

    gather_commands.py gather REPOSITORY… > FILE       lines of JSON: id, command, kind, repo
    gather_commands.py rate HOOKD FILE [--sample N]    how many are denied and asked about, by kind; N of these at random

REPOSITORY is a git directory; nothing is checked out. Lines come from workflow files, Makefiles, package.json, Dockerfiles and
documentation. They are text: they are read, handed to `hookd guard check` on its standard input, and never run."""
import argparse
import collections
import json
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile

FILE_MAX, LINE_MAX, PER_REPO, SEED = 400_000, 2_000, 1_500, 7
POWERSHELL = re.compile(r'^\$\w+(\.\w+)* *=|\b(Get|New|Set|Remove|Invoke|Write|Out|Add|Test|Select|ForEach|Where)-[A-Z]\w+')
# Words in brackets, a sentence, an output.
PROSE = re.compile(r'^\([^)]*\)[:.]?\s|^[A-Z][a-z]+ [a-z]+ [a-z]+ |^\$\w+ *$|^\([^()]*\)$|^\[[\w.]+\]$|^(INFO|WARN|ERRO)\b|^"\w+":|;;$|'
                   r'^[A-Z]+ {2,}[A-Z]|^-\w, --|^\w+ = |^\w+: |^https?://|^\[[^ ]|^at \w|^\w+\(\d*\)|<%|%>|\w+:\d+:\d+\)|^[A-Z][\w-]+: <')
# A statement of Python, which steps of a workflow may be written in.
PYTHON = re.compile(r'^(import|from|with|def|class|return|raise|try|except|print|assert|for \w+ in .*:$|if .*:$)\b.*[):\w]$|^[\w.]+\(.*\)$|'
                    r'^\w+(\.\w+)+\(|^with .*:$')
CONTROL = re.compile(r'^(if|then|else|elif|fi|for|while|until|do|done|case|esac|function|\{|\}|\)|;;|EOF|select)\b|^[\w./-]+\)\s*$|^[)}]')
PROMPT = r'^(\([\w -]+\)[\w/~]*)? ?[$%] ?(?=[A-Za-z])'
KINDS = (('workflow', re.compile(r'^\.github/workflows/.*\.ya?ml$')), ('make', re.compile(r'(^|/)(Makefile|GNUmakefile|.*\.mk)$')),
         ('package', re.compile(r'(^|/)package\.json$')), ('docker', re.compile(r'(^|/)Dockerfile[^/]*$')),
         ('docs', re.compile(r'\.(md|rst|mdx)$')))


def kind_of(path):
    return next((kind for kind, pattern in KINDS if pattern.search(path)), None) if 'node_modules' not in path else None


def depth_of(line):
    """How many brackets are open at the end of a line; below 0 when one is closed that was not opened."""
    bare = re.sub(r"'[^']*'|\\\\.|(^|\s)#.*", ' ', line)
    bare = re.sub(r'\$\{[^{}]*\}', ' ', bare)
    depth = 0
    for mark in re.findall(r'\(|\)|(?:^|(?<=\s))\{(?=\s|$)|(?:^|(?<=[\s;]))\}', bare):
        depth += 1 if mark in '({' else -1
        if depth < 0:
            return depth
    return depth


def is_open(line):
    """A quote or a bracket that is not closed yet: the command goes on in the next line."""
    try:
        shlex.split(line, comments=True)
    except ValueError:
        return True
    return depth_of(line) > 0


def logical_lines(text):
    """Commands with their continuations and open quotes; one with a here-document is left out, and so is its text."""
    line, until = '', None
    for raw in text.splitlines():
        if until is not None:
            until = None if raw.strip() == until else until
            continue
        line += raw.rstrip()
        if line.endswith('\\'):
            line = line[:-1] + ' '
            continue
        if re.search(r'(&&|\|\||\||\()\s*$', line) and len(line) < LINE_MAX:
            line += '\n'
            continue
        here = re.search(r'<<-?\s*[\'"]?(\w+)[\'"]?', line)
        if here:
            until = here[1]
        elif is_open(line) and len(line) < LINE_MAX:
            line += '\n'
            continue
        else:
            yield line.strip()
        line = ''


def is_other_language(lines, at, indent):
    """The step says so, or what it would run in by default does."""
    step = []
    for direction in (range(at - 1, max(at - 12, -1), -1), range(at + 1, min(at + 4, len(lines)))):
        for i in direction:
            if lines[i].strip() and len(lines[i]) - len(lines[i].lstrip()) < indent:
                break
            step.append(lines[i])
    return bool(re.search(r'shell:\s*(pwsh|powershell|cmd|python)', '\n'.join(step)))


def from_workflow(text):
    lines = text.splitlines()
    for i, line in enumerate(lines):
        m = re.match(r'^(\s*)(?:- )?run:\s*(.*)$', line)
        if not m or is_other_language(lines, i, len(m[1])):
            continue
        if m[2] and m[2][0] not in '|>':
            quoted = re.fullmatch(r'(["\'])(.*)\1', m[2].strip())
            yield quoted[2] if quoted else m[2].strip()
            continue
        block, indent = [], len(m[1])
        for more in lines[i + 1:]:
            if more.strip() and len(more) - len(more.lstrip()) <= indent:
                break
            block.append(more)
        yield from logical_lines('\n'.join(block))


def recipes(text):
    """Lines of recipes; not those that go on with a variable or a list of goals."""
    in_list = False
    for line in text.splitlines():
        recipe = line.startswith('\t') and not in_list
        in_list = not recipe and line.rstrip().endswith('\\')
        yield line if recipe else ''


def from_make(text):
    values = {'RM': 'rm -f', 'CC': 'cc', 'CXX': 'c++', 'AR': 'ar', 'MAKE': 'make', 'INSTALL': 'install', 'CURDIR': '.'}
    values |= {name: value for name, value in re.findall(r'^(\w+)\s*[?:]?=\s*([^\n#]*?)\s*$', text, re.M)
               if name not in value}  # NAME=$(NAME)-more has no one value
    for line in logical_lines('\n'.join(recipes(text))):
        line = re.sub(r'^[@+-]+', '', line)
        for _ in range(4):
            line = re.sub(r'\$[({](\w+)[)}]', lambda m: values.get(m[1], '${%s}' % m[1]) if m[1] in values else m[0], line)
        # What make alone can expand is not what a shell is given.
        if not re.search(r'\$[({](call|if|shell|foreach|wildcard|filter|patsubst|subst|word|info|error|warning|eval|or|and|addprefix|'
                         r'notdir|dir|abspath|origin|strip|findstring|sort|firstword)\b|\$[@<^*?%+]', line) and \
                not re.match(r'(cd \S+ *&& *)?\$[({]?\w', line):
            yield re.sub(r'\$\$', '$', re.sub(r'\$\((\w+)\)', r'$\1', line))


def from_package(text):
    try:
        scripts = json.loads(text).get('scripts', {})
    except (ValueError, AttributeError):
        return
    yield from (s for s in scripts.values() if isinstance(s, str))


def from_docker(text):
    for line in logical_lines(re.sub(r'^\s*#.*\n', '', text, flags=re.M)):
        m = re.match(r'^RUN\s+(?:--\S+\s+)*(.*)$', line)
        if m and not m[1].startswith('['):
            # It runs in a container that is being built.
            yield 'docker run --rm image sh -c ' + shlex.quote(re.sub(r'\s+', ' ', m[1]))


def from_docs(text):
    # A bracket behind a word is a sentence or a call of another language.
    sentence = re.compile(r'[\w.:,\[]\s*\((?!\))')
    for m in re.finditer(r'^```(?:bash|sh|shell|console|zsh)\b[^\n]*\n(.*?)^```', text, re.M | re.S):
        lines = list(logical_lines(m[1]))
        prompts = [re.sub(PROMPT, '', l) for l in lines if re.match(PROMPT, l)]
        yield from (l for l in prompts or lines if not sentence.search(re.sub(r"'[^']*'|\"[^\"]*\"|[\w\[]*=\(|\w+ *\(\)", ' ', l)))


READERS = {'workflow': from_workflow, 'make': from_make, 'package': from_package, 'docker': from_docker, 'docs': from_docs}


def is_command(line):
    """Not what a shell would not be given: comments, drawings, placeholders, halves of a loop."""
    return (2 < len(line) < LINE_MAX and re.match(r'[\w./~$"\'({\[!-]', line) and not re.match(r'[-|]{2}|- ', line) and line.isascii()
            and not CONTROL.match(line) and '{{' not in line and not re.search(r'<[A-Za-z/][^<>]*>|\.\.\. |\[[a-z-]+\] ', line)
            and not POWERSHELL.search(line) and not PROSE.match(line) and not PYTHON.match(line) and not is_open(line)
            and depth_of(line) == 0 and line.count('`') % 2 == 0 and not re.search(r'<%|\bifn?eq\b|^\w+> |^-|^(SELECT|INSERT|UPDATE) |^\w+ [a-z]+[.,] [A-Z]|\$\([A-Z_]+\)|^\w+ \{$|^\w+ \{\s|^\{ \w+:', line)
            # One word that is a value: it stands in a list.
            and not re.fullmatch(r'"?(\$|https?:|/)[^\s"]*"?', line)
            # An expression of the workflow as the program: what it would be nobody can tell from the file.
            and not re.search(r'(^|[;&|(`])\s*[\w./-]*"?\$VALUE', line)
            # An assignment of make, half a loop.
            and not re.match(r'\w+ *[+:?]=', line) and not re.search(r'; *(do|then)$', line)
            # Cut off, or a word of another language.
            and not re.search(r'(&&|\|\||\|)\s*$|%%\w+%%', line))


def git(repo, *args):
    return subprocess.run(['git', '--git-dir', repo, *args], capture_output=True, check=True).stdout.decode('utf-8', 'replace')


def gather(repos):
    seen = set()
    for repo in repos:
        name = os.path.basename(os.path.dirname(repo.rstrip('/')))
        paths = [(p, kind_of(p)) for p in git(repo, 'ls-tree', '-r', '--name-only', 'HEAD').splitlines()]
        found = collections.defaultdict(list)
        for path, kind in paths:
            if not kind or len(found[kind]) > 4 * PER_REPO:
                continue
            try:
                text = git(repo, 'show', f'HEAD:{path}')
            except subprocess.CalledProcessError:
                continue
            for line in READERS[kind](text[:FILE_MAX]):
                line = re.sub(r'\$\{\{.*?\}\}', '$VALUE', line)
                if is_command(line) and line not in seen:
                    seen.add(line)
                    found[kind].append(line)
        for kind, lines in found.items():
            random.Random(1).shuffle(lines)
            for line in lines[:PER_REPO // len(KINDS)]:
                print(json.dumps({'id': str(len(seen)) + kind, 'command': line, 'kind': kind, 'repo': name}))


def rate(hookd, path, sample):
    rows = [json.loads(line) for line in open(path, encoding='utf-8')]
    calls = ''.join(json.dumps({'id': str(i), 'command': r['command'], 'cwd': '/home/dev/proj', 'home': '/home/dev'}) + '\n'
                    for i, r in enumerate(rows))
    with tempfile.TemporaryDirectory() as home:
        out = subprocess.run([hookd, 'guard', 'check'], input=calls, capture_output=True, text=True, check=True,
                             env={'HOME': home, 'HOOKD_DIR': home + '/h', 'PATH': '/usr/bin:/bin'}).stdout
    answers = [json.loads(line) for line in out.splitlines()]
    total, counts = collections.Counter(), collections.defaultdict(collections.Counter)
    for row, answer in zip(rows, answers):
        for kind in (row['kind'], 'all'):
            total[kind] += 1
            counts[kind][answer['decision']] += 1
    for kind in sorted(total):
        print('%-10s %6d  denied %.2f %%  asked %.2f %%' % (kind, total[kind], *(100 * counts[kind][d] / total[kind] for d in ('deny', 'ask'))))
    flagged = [(r, a) for r, a in zip(rows, answers) if a['decision'] != 'allow']
    rules = collections.Counter((a['rule'], a['decision']) for _, a in flagged)
    print('\n'.join('%5d %-5s %s' % (n, d, rule) for (rule, d), n in rules.most_common(40)))
    print('sample of seed %d' % SEED if sample else '')
    for row, answer in random.Random(SEED).sample(flagged, min(sample, len(flagged))):
        print('%s %s [%s %s] %s' % (answer['decision'], answer['rule'], row['repo'], row['kind'], row['command'][:300]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest='what', required=True)
    commands.add_parser('gather').add_argument('repositories', nargs='+')
    rating = commands.add_parser('rate')
    rating.add_argument('hookd')
    rating.add_argument('file')
    rating.add_argument('--sample', type=int, default=0)
    args = parser.parse_args()
    if args.what == 'gather':
        gather(args.repositories)
    else:
        rate(args.hookd, args.file, args.sample)


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""Compares shell/ with a second parser: differ.py SHELL_DUMP [--corpus FILE.jsonl]... [--scripts DIR]... [--limit N] [-v]

Each script is read by tests/guard/shell_dump and by `shfmt --to-json`; the simple commands, their words (with the value
where it is constant), assignments and redirections must be the same. Scripts are only read, never run. --scripts without
a directory takes what is installed on a Debian system. A difference is either explained by a row of EXPLAINED or it is a
bug; exit 1 when there is any.
"""
import argparse
import json
import os
import re
import subprocess
import sys

PLACES = ('/usr/bin', '/usr/sbin', '/etc', '/usr/lib', '/usr/libexec', '/usr/share', '/var/lib/dpkg/info', '/usr/include',
          '/usr/src', '/opt', '/usr/local')
MAINTAINER = ('.postinst', '.preinst', '.prerm', '.postrm', '.config')
LARGEST = 1 << 20


# -- shfmt's tree as a list of commands ---------------------------------------------------------------

ANSI = {'a': '\a', 'b': '\b', 'e': '\033', 'E': '\033', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v', '\\': '\\',
        "'": "'", '"': '"', '?': '?'}


def ansi(text):
    """What $'…' stands for; bytes as Latin-1."""
    def one(m):
        s = m[1]
        if s in ANSI:
            return ANSI[s]
        if s[0] in 'uU':
            return chr(int(s[1:], 16)).encode('utf-8', 'replace').decode('latin-1')
        if s[0] == 'x':
            return chr(int(s[1:], 16))
        if s[0] == 'c':
            return chr(ord(s[1]) & 31)
        return chr(int(s, 8) & 255)
    text = re.sub(r'\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|c.|[abeEfnrtv\\\'"?])', one, text,
                  flags=re.S)
    return text.split('\0')[0]


def latin(text):
    return text.encode('utf-8', 'surrogateescape').decode('latin-1')


class Refused(Exception):
    pass


class Walk:
    def __init__(self, source, tree):
        self.source = source
        self.commands = []
        self.visit(tree, None)

    def place(self, node, end=False):
        return node['End' if end else 'Pos']['Offset']

    def constant(self, word):
        """The value of a word with nothing to expand, or None."""
        out = ''
        for part in word.get('Parts', []):
            kind = part['Type']
            if kind == 'SglQuoted':
                value = latin(part.get('Value', ''))
                out += ansi(value) if part.get('Dollar') else value
            elif kind == 'Lit':
                raw = latin(part['Value'])
                if re.search(r'[*?\[{~]', re.sub(r'\\.', '', raw, flags=re.S)):
                    return None
                out += re.sub(r'\\(.)', lambda m: '' if m[1] == '\n' else m[1], raw, flags=re.S)
            elif kind == 'DblQuoted':
                for inner in part.get('Parts', []):
                    if inner['Type'] != 'Lit':
                        return None
                    out += re.sub(r'\\([$`"\\\n])', lambda m: '' if m[1] == '\n' else m[1], latin(inner['Value']), flags=re.S)
            else:
                return None
        return out

    def word(self, node, copied):
        place = None if copied else (self.place(node), self.place(node, True))
        value = self.constant(node) if 'Parts' in node else None
        # shfmt leaves the backslashes of a backquoted command where they are.
        return {'value': None if copied and value and '\\' in value else value, 'place': place}

    def simple(self, stmt, copied):
        cmd = stmt.get('Cmd') or {}
        kind = cmd.get('Type')
        words, assigns = [], []
        if kind == 'CallExpr':
            words = [self.word(w, copied) for w in cmd.get('Args', [])]
            assigns = [self.word(a, copied) for a in cmd.get('Assigns', [])]
        elif kind == 'DeclClause':
            words = [{'value': cmd['Variant']['Value'], 'place': None}]
            for a in cmd.get('Args', []):
                words.append(self.word(a, copied))
        elif kind == 'LetClause':
            words = [{'value': 'let', 'place': None}]
        redirects = [self.word(r['Word'], copied) for r in stmt.get('Redirs', [])]
        if not (words or assigns or redirects):
            return
        starts = [self.place(stmt.get('Cmd'))] if kind else []
        starts += [self.place(r) for r in stmt.get('Redirs', [])]
        self.commands.append({
            'at': copied if copied is not None else min(starts), 'words': words, 'assigns': assigns, 'redirects': redirects,
            'let': kind == 'LetClause', 'copied': copied is not None})

    def visit(self, node, copied):
        if isinstance(node, list):
            for one in node:
                self.visit(one, copied)
            return
        if not isinstance(node, dict):
            return
        if 'Position' in node:  # a statement
            cmd = node.get('Cmd')
            if cmd is None or cmd.get('Type') in ('CallExpr', 'DeclClause', 'LetClause'):
                self.simple(node, copied)
        if node.get('Backquotes') and copied is None:
            copied = self.place(node)
        for key, value in node.items():
            if key == 'Hdoc' and copied is None:
                text = self.source[self.place(value):self.place(value, True)]
                changed = '\\\n' in text or (node.get('Op') == 62 and re.search(r'^\t', text, re.M))
                self.visit(value, self.place(value) if changed else None)
            elif isinstance(value, (dict, list)):
                self.visit(value, copied)


def theirs(source):
    done = subprocess.run(['shfmt', '-ln', 'bash', '--to-json'], input=source, capture_output=True)
    if done.returncode:
        raise Refused(done.stderr.decode('utf-8', 'replace').strip())
    return Walk(source.decode('latin-1'), json.loads(done.stdout.decode('utf-8', 'surrogateescape'))).commands


def ours(dump, source):
    done = subprocess.run([dump], input=source, capture_output=True)
    rows = [json.loads(line) for line in done.stdout.decode().splitlines()]
    if done.returncode == 1 and rows and 'error' in rows[0]:
        raise Refused('%(line)d:%(col)d: %(error)s' % rows[0])
    if done.returncode:
        raise SystemExit('%s died: %s' % (dump, done.stderr.decode()))
    return rows


# -- comparison ---------------------------------------------------------------------------------------

def trimmed(source, end):
    """Without the joined lines behind a word, which shfmt counts as its own or not."""
    while source[end - 2:end] == b'\\\n':
        end -= 2
    return end


def same_word(source, mine, other, text_key, copied):
    if other['value'] is not None and mine['constant'] and mine[text_key] != other['value']:
        return False
    if other['value'] is not None and not mine['constant'] and '[' not in mine[text_key]:
        return False
    if copied or other['place'] is None:
        return True
    begin, end = other['place']
    return mine['begin'] == begin and trimmed(source, mine['end']) == trimmed(source, end)


def compare(source, mine, other):
    """None, or the first difference in words."""
    mine = sorted(mine, key=lambda c: c['at'])
    other = sorted(other, key=lambda c: c['at'])
    for a, b in zip(mine, other):
        line = source.count(b'\n', 0, a['at']) + 1
        shown = 'line %d: %r' % (line, source[a['at']:a['at'] + 60])
        if a['at'] != b['at']:
            return '%s: begins at %d, theirs at %d %r' % (shown, a['at'], b['at'], source[b['at']:b['at'] + 40])
        if len(a['words']) != len(b['words']) and not b['let']:
            return '%s: %d words, theirs %d' % (shown, len(a['words']), len(b['words']))
        for x, y in zip(a['words'], b['words']):
            if not same_word(source, x, y, 'text', b['copied']):
                return '%s: word %r, theirs %r' % (shown, x, y)
        if len(a['assigns']) != len(b['assigns']):
            return '%s: %d assignments, theirs %d' % (shown, len(a['assigns']), len(b['assigns']))
        for x, y in zip(a['assigns'], b['assigns']):
            if not b['copied'] and (x[0], trimmed(source, x[1])) != (y['place'][0], trimmed(source, y['place'][1])):
                return '%s: assignment %r, theirs %r' % (shown, x, y['place'])
        if len(a['redirects']) != len(b['redirects']):
            return '%s: %d redirections, theirs %d' % (shown, len(a['redirects']), len(b['redirects']))
        for x, y in zip(a['redirects'], b['redirects']):
            if not same_word(source, x, y, 'target', b['copied']):
                return '%s: target %r, theirs %r' % (shown, x, y)
    if len(mine) != len(other):
        longer, who = (mine, 'we') if len(mine) > len(other) else (other, 'they')
        extra = longer[min(len(mine), len(other))]
        return 'only %s have line %d: %r' % (who, source.count(b'\n', 0, extra['at']) + 1,
                                             source[extra['at']:extra['at'] + 60])
    return None


# Differences that are none of ours: what happened, what is said (a pattern), and why. The lines they are about were
# read one by one (but for the encodings), and the scripts pass `bash -O extglob -n`.
QUOTES = 'shfmt does not take away the backslashes in "`… \\"…\\"`", so that quoted words fall apart'
HASH = 'shfmt takes a # behind a quote or an expansion for a comment; only one at the start of a word is'
EXPLAINED = [
    ('they refuse', r'invalid UTF-8 encoding', 'shfmt wants UTF-8, a shell takes bytes'),
    ('they refuse', r'"\[x\]" must be followed by =', 'shfmt takes a pattern with [ ] in an array for a subscript'),
    ('they refuse', r'statements must be separated by', 'shfmt does not know comments behind let'),
    ('they refuse', r'without matching \(\( with \)\)|not a valid arithmetic operator: "',
     'shfmt takes $((…) …) for arithmetic; bash decides by how it is closed'),
    ('they refuse', r'can only contain words and redirects; encountered \($', QUOTES),
    ('differ', r'^line \d+: b["\']`[^`]*\\\\"', QUOTES),
    ('differ', r'^line \d+: b["\']sed [^\n]*["\\$}]#', HASH),
    ('differ', r'^line \d+: b["\'][^\n]*# [^\n]*\\\\\\n.*: 0 words', 'shfmt joins the line behind a comment that ends in \\'),
    ('differ', r'\)\) \]\]; then.*begins at', 'shfmt does not look for substitutions in @(…)'),
]


def explain(kind, text):
    for who, pattern, why in EXPLAINED:
        if who == kind and re.search(pattern, text):
            return why
    return None


def check(dump, source):
    """(kind, text): same, both refuse, we refuse, they refuse, differ."""
    try:
        mine, mine_error = ours(dump, source), None
    except Refused as e:
        mine, mine_error = None, str(e)
    try:
        other, other_error = theirs(source), None
    except Refused as e:
        other, other_error = None, str(e)
    if mine_error and other_error:
        return 'both refuse', '%s / %s' % (mine_error, other_error)
    if mine_error:
        return 'we refuse', mine_error
    if other_error:
        return 'they refuse', other_error
    difference = compare(source, mine, other)
    return ('differ', difference) if difference else ('same', str(len(mine)))


# -- what is compared ---------------------------------------------------------------------------------

def is_script(path):
    try:
        if os.path.islink(path) or not os.path.isfile(path) or not 0 < os.path.getsize(path) <= LARGEST:
            return False
        with open(path, 'rb') as f:
            head = f.readline(200)
    except OSError:
        return False
    if re.match(rb'#!\s*(/usr)?(/local)?(/bin/)?(/?usr/bin/env\s+|/?bin/)?(ba|da|k)?sh\b', head):
        return True
    if path.endswith(MAINTAINER) and path.startswith('/var/lib/dpkg/info'):
        return not head.startswith(b'#!') or b'sh' in head
    if head.startswith(b'#!'):
        return False
    return path.endswith(('.sh', '.bash', '.ebuild', '.shlib')) or '/bash-completion/completions/' in path or \
        path.startswith(('/etc/default/', '/etc/profile.d/', '/etc/bash'))


def scripts(places):
    for place in places:
        for folder, _, names in os.walk(place):
            for name in sorted(names):
                path = os.path.join(folder, name)
                if is_script(path):
                    with open(path, 'rb') as f:
                        yield path, f.read()


def corpus(path):
    with open(path, encoding='utf-8') as f:
        for line in f:
            row = json.loads(line)
            yield row['id'], row['command'].encode('utf-8', 'surrogatepass')


def main():
    args = argparse.ArgumentParser()
    args.add_argument('dump')
    args.add_argument('--corpus', action='append', default=[])
    args.add_argument('--scripts', action='append', nargs='?', const='', default=[])
    args.add_argument('--limit', type=int, default=1 << 30)
    args.add_argument('-v', action='store_true')
    args = args.parse_args()
    places = [p for p in args.scripts if p] or (PLACES if args.scripts else ())
    sources = [(c, corpus(c)) for c in args.corpus] + ([('scripts', scripts(places))] if places else [])
    bad = 0
    for title, items in sources:
        counts, commands, seen = {}, 0, set()
        for n, (name, source) in enumerate(items):
            if n >= args.limit or source in seen:
                continue
            seen.add(source)
            kind, text = check(args.dump, source)
            why = explain(kind, text) if kind not in ('same', 'both refuse') else None
            commands += int(text) if kind == 'same' else 0
            key = kind + (': ' + why if why else '')
            counts[key] = counts.get(key, 0) + 1
            if kind not in ('same', 'both refuse') and not why:
                bad += 1
                print('%s: %s: %s' % (name, kind, text))
            elif args.v and kind != 'same':
                print('%s: %s: %s' % (name, key, text))
        print('%s: %d different, %d commands in those that are the same' % (title, len(seen), commands))
        for key in sorted(counts):
            print('%6d  %s' % (counts[key], key))
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())

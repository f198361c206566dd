#!/usr/bin/env python3
"""Rules of the repository that a compiler does not check: lint.py BUILD-DIRECTORY

Every rule prints what is wrong, where, and what to do; exit 1 when there is anything. The tables
below are the rules: a module's layer, the few uses inside a layer, who may see which library.
"""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# A module includes only modules of lower layers, and itself.
LAYERS = {
    0: 'base',
    1: 'os json match event wire config loop project encoder',
    2: 'agents redact server http otlp shell journal store retrieve net chunk',
    3: 'transcript guard trust hooks install jobs llm',
    4: 'history capture memory index outbox effort remind fleet',
    5: 'context',
    6: 'engine',
    7: 'api daemon',
    8: 'cli client',
}
LAYER = {name: layer for layer, names in LAYERS.items() for name in names.split()}

# Uses inside a layer, each with its reason.
SAME_LAYER = {
    ('event', 'json'): 'an event holds the parsed payload',
    ('config', 'json'): 'the config file is JSON with comments',
    ('project', 'os'): 'paths that the kernel has cached',
    ('config', 'os'): 'the home of the account',
    ('loop', 'os'): 'waking up and thread names',
    ('wire', 'os'): 'talk.c checks who is at the other end',
    ('store', 'journal'): 'the writer folds what the journal holds',
    ('guard', 'trust'): 'rules of a project come from files that are read as trust reads them',
    ('hooks', 'install'): 'an entry that calls hookc is us, and install knows what that looks like',
    ('hooks', 'guard'): 'what a trusted command runs is resolved as the guard resolves it',
    ('hooks', 'trust'): 'hooks of a project run only as they were trusted',
    ('outbox', 'capture'): 'what is new is told by whoever stores it',
    ('daemon', 'api'): 'the daemon serves the operations',
}

# Headers other modules may include beside <module>/<module>.h.
PUBLIC = {
    'base/': 'each header of base is a module of its own',
    'json/edit.h': 'editing JSON as text: for config and install, who change files of people',
    'config/names.h': 'did-you-mean, for whoever reads what people wrote',
    'config/owner.h': 'who may change what runs, for the daemon and for commands',
    'config/paths.h': 'hookc-side code wants directories without the option table',
    'api/mcp.h': 'the protocol of MCP, for the daemon and for hookd mcp',
    'api/web.h': 'HTTP, which the daemon starts',
    'retrieve/vectors.h': 'files of vectors, for memory and index',
    'engine/learn.h': 'learning, which the daemon starts',
    'engine/output.h': 'reading what is said on the way, which the daemon starts and operations ask for',
    'engine/follow.h': 'reading transcripts, which the daemon starts',
    'daemon/spawn.h': 'starting a daemon must not link one',
}

# Headers that the build makes.
GENERATED = {'decision_names.h'}

# Third-party headers and the only modules that see them.
LIBRARIES = {'event2/': {'loop'}, 'sqlite3.h': {'store', 'transcript'}, 'pcre2.h': {'match'}, 'zlib.h': {'otlp'},
             'tree_sitter/': {'chunk'}}

# Records are made by redact(), by decoding, and from the rows of a damaged store; tests make samples.
RECORD_MAKERS = ('src/input/redact/', 'src/common/event/record.c', 'src/storage/store/salvage.c',
                 'src/storage/store/remains.c', 'src/storage/capture/fold.c',
                 'src/storage/capture/rewind.c')  # those of storage read rows back that were records

FILE_LINES, FUNCTION_LINES, COLUMNS = 1000, 80, 120

# Words that speak of a machine hookd was written on, not of hookd.
FOREIGN = [re.compile(p) for p in (
    r'(?<![\w.$}])/work(?![\w-])', r'registry' + r'\.npmjs', r'deb' + r'\.debian\.org')]
FOREIGN_EXEMPT = {
    'tests/lint/lint.py': 'names the words',
    'tests/agents/claude-code/package-lock.json': 'npm writes where packages come from',
}

problems = []


def problem(path, line, text):
    problems.append('%s:%d: %s' % (path, line, text) if line else '%s: %s' % (path, text))


def tracked():
    """Files of the repository, including those not yet committed."""
    out = subprocess.run(['git', 'ls-files', '-co', '--exclude-standard'], cwd=ROOT, check=True,
                         capture_output=True, text=True).stdout
    return [p for p in out.splitlines() if os.path.isfile(os.path.join(ROOT, p))]


def read(path):
    with open(os.path.join(ROOT, path), encoding='utf-8', errors='replace') as f:
        return f.read()


def module_of(path):
    parts = path.split('/')
    return parts[2] if parts[0] == 'src' and len(parts) > 3 else None


def check_include(path, line, module, header):
    target = header.split('/')[0]
    if header in GENERATED:
        return None
    if target not in LAYER:
        return problem(path, line, 'includes "%s", whose module has no layer in tests/lint/lint.py' % header)
    if target == module:
        return None
    if LAYER[target] > LAYER[module] or (LAYER[target] == LAYER[module] and (module, target) not in SAME_LAYER):
        problem(path, line, '%s (layer %d) may not include "%s" (layer %d)' % (
            module, LAYER[module], header, LAYER[target]))
    if header != '%s/%s.h' % (target, target) and not any(header.startswith(p) for p in PUBLIC):
        problem(path, line, '"%s" is internal to %s; include "%s/%s.h"' % (header, target, target, target))
    return None


def check_layers(path, text):
    module = module_of(path)
    if module not in LAYER:
        return problem(path, 0, 'module %s has no layer in tests/lint/lint.py' % module)
    for n, line in enumerate(text.splitlines(), 1):
        m = re.match(r'\s*#\s*include\s+(["<])([^">]+)', line)
        if not m:
            continue
        if m[1] == '"':
            check_include(path, n, module, m[2])
        for prefix, modules in LIBRARIES.items():
            if m[2].startswith(prefix) and module not in modules:
                problem(path, n, '<%s> is for %s only' % (m[2], ', '.join(sorted(modules))))
    return None


def check_records(path, text):
    """struct record is filled by redact() and record_decode(), or forgetting to redact would compile."""
    if path.startswith(RECORD_MAKERS):
        return
    made = r'(struct record \w+\s*=\s*\{|\(struct record\)\s*\{|\brecord(\.|->)(payload|native|session|host|agent)\s*=[^=])'
    for n, line in enumerate(text.splitlines(), 1):
        if re.search(made, line):
            problem(path, n, 'fills a struct record; only redact/ and event/record.c may')


def check_shape(path, text):
    lines = text.split('\n')
    # A list of cases may be longer than a file of code.
    limit = FILE_LINES + 200 if path.startswith('tests/') else FILE_LINES
    if len(lines) > limit:
        problem(path, 0, '%d lines; past %d a file holds two ideas' % (len(lines), limit))
    start = None
    for n, line in enumerate(lines, 1):
        if len(line.expandtabs(8)) > COLUMNS:
            problem(path, n, 'longer than %d columns' % COLUMNS)
        if re.match(r' {4,}\S', line):
            problem(path, n, 'indented with blanks; C is indented with tabs')
        if line.rstrip() != line:
            problem(path, n, 'blanks at the end of the line')
        if line == '{':
            start = n
        elif line == '}' and start:
            if n - start - 1 > FUNCTION_LINES:
                problem(path, start, 'a function of %d lines; past %d it holds two ideas' % (n - start - 1, FUNCTION_LINES))
            start = None


def check_words(path, text):
    if path in FOREIGN_EXEMPT:
        return
    for n, line in enumerate(text.splitlines(), 1):
        for word in FOREIGN:
            if word.search(line):
                problem(path, n, 'speaks of another machine: %s' % word.search(line)[0])


def compile_flags(build):
    """The flags one of our files is compiled with, from the build itself."""
    with open(os.path.join(build, 'compile_commands.json'), encoding='utf-8') as f:
        for row in json.load(f):
            if row['file'].endswith('src/common/base/str.c'):
                keep, skip = [], False
                for word in shlex.split(row['command']):
                    if not skip and word not in ('-c', '-o', '-MF', '-MQ', '-MD', '-MMD'):
                        keep.append(word)
                    skip = word in ('-c', '-o', '-MF', '-MQ')
                return row['directory'], keep
    raise SystemExit('lint: src/common/base/str.c is not in compile_commands.json')


def check_banned(build):
    where, flags = compile_flags(build)
    with tempfile.TemporaryDirectory() as temp:
        for name, want in (('char b[8]; void f(void) { strcpy(b, "x"); }', False),
                           ('char b[8]; void f(void) { memcpy(b, "x", 2); }', True)):
            path = os.path.join(temp, 'use.c')
            with open(path, 'w', encoding='utf-8') as f:
                f.write('void f(void);\n%s\n' % name)
            ok = subprocess.run(flags + ['-fsyntax-only', path], cwd=where, capture_output=True, check=False).returncode == 0
            if ok != want:
                problem('src/common/base/banned.h', 0, 'is not in force: strcpy compiles' if ok else 'a harmless file does not compile')


def check_format(files):
    """The formatter's word is final; its rules are in .clang-format (version 14, as Debian 12 has it)."""
    done = subprocess.run(['clang-format', '--dry-run', '--style=file', *files], cwd=ROOT, capture_output=True, text=True,
                          check=False)
    wrong = sorted(set(re.findall(r'^(\S+?):\d+:\d+: ', done.stderr, re.M)))
    for path in wrong:
        problem(path, 0, 'not as clang-format writes it; run: clang-format -i %s' % path)
    if done.returncode and not wrong:
        problem('.clang-format', 0, done.stderr.strip()[:300])


def main():
    if len(sys.argv) != 2:
        raise SystemExit('usage: lint.py BUILD-DIRECTORY')
    files = tracked()
    for path in files:
        text = read(path)
        if path.endswith(('.c', '.h')):
            check_shape(path, text)
            if path.startswith('src/'):
                check_layers(path, text)
                check_records(path, text)
        if '\0' not in text:
            check_words(path, text)
    check_format([p for p in files if p.endswith(('.c', '.h'))])
    check_banned(sys.argv[1])
    for p in problems:
        print(p)
    print('%d files, %d problems' % (len(files), len(problems)))
    sys.exit(1 if problems else 0)


if __name__ == '__main__':
    main()

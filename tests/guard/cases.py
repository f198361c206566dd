#!/usr/bin/env python3
"""cases.py HOOKD [FILE...]: decisions of `hookd guard check` for tests/guard/cases.txt and benign.txt.

Prints every row that is decided differently and a line per class; exit 1 when there is one. The commands are text for
hookd: nothing here runs them."""
import collections
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def rows(path):
    for number, line in enumerate(open(path, encoding='utf-8'), 1):
        line = line.rstrip('\n')
        if not line or line.startswith('#'):
            continue
        if os.path.basename(path).startswith('benign'):
            yield number, 'allow', 'benign', line
        else:
            yield (number, *line.split(' ', 2))


def plain(command):
    return command.replace('\\n', '\n').replace('\\t', '\t') if "printf" not in command and "tr '" not in command and \
        "$'" not in command and '-F' not in command else command


def decide(hookd, commands, cwd='/home/dev/proj', home='/home/dev'):
    lines = '\n'.join(json.dumps({'id': i, 'command': c, 'cwd': cwd, 'home': home}) for i, c in enumerate(commands))
    with tempfile.TemporaryDirectory() as d:
        out = subprocess.run([hookd, 'guard', 'check'], input=lines + '\n', capture_output=True, text=True, check=True,
                             env={'HOOKD_DIR': d, 'HOME': d, 'PATH': os.environ['PATH']}).stdout
    return [json.loads(line) for line in out.splitlines()]


def main():
    hookd, files = sys.argv[1], sys.argv[2:] or [os.path.join(HERE, f) for f in ('cases.txt', 'benign.txt')]
    wrong, classes = 0, collections.defaultdict(lambda: [0, 0])
    for path in files:
        table = list(rows(path))
        got = decide(hookd, [plain(r[3]) for r in table])
        for (number, want, name, command), answer in zip(table, got):
            ok = answer['decision'] == want or (want == 'ask' and answer['decision'] == 'deny')
            classes[name][0] += ok
            classes[name][1] += 1
            if not ok:
                wrong += 1
                print('%s:%d: %s, not %s: %s [%s]' % (os.path.basename(path), number, answer['decision'], want, command,
                                                   answer['rule']))
    for name, (good, all_) in sorted(classes.items()):
        print('%-20s %d/%d' % (name, good, all_))
    return wrong > 0


if __name__ == '__main__':
    sys.exit(main())

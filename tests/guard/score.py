#!/usr/bin/env python3
"""Score of the guard on a labelled corpus: score.py CORPUS OUT

CORPUS has one JSON object per line with id, command, rule, expect, class and why; OUT is what
`hookd guard check` printed for it: id, decision, rule and reason per line. Prints how each class
and each expectation fared, then the rows that were not decided as expected. A tool, not a test:
it exits 0 whatever the score.

Rows are text. Write them with an editor or from a program, never through a shell: a row may look like the end of a
here-document, and then what follows it runs.
"""
import json
import sys

DECISIONS = ('deny', 'ask', 'allow')

# What a decision is worth where another was expected; a stricter answer to "ask" is no error.
WORTH = {
    ('deny', 'deny'): 1, ('deny', 'ask'): 0.5, ('deny', 'allow'): 0,
    ('ask', 'deny'): 1, ('ask', 'ask'): 1, ('ask', 'allow'): 0,
    ('allow', 'deny'): 0, ('allow', 'ask'): 0.5, ('allow', 'allow'): 1,
}
SHOWN = 160


def rows(path):
    """The objects of a JSONL file; a line that is none is named and passed over."""
    found = []
    with open(path, encoding='utf-8') as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                row['id']
            except (ValueError, TypeError, KeyError):
                print('%s:%d: not an object with an id, passed over' % (path, number))
                continue
            found.append(row)
    return found


def table(title, groups):
    print('%-20s %5s %6s %7s' % (title, 'n', 'exact', 'score'))
    for name in groups:
        scores = groups[name]
        if scores:
            exact = sum(1 for same, _ in scores if same)
            worth = sum(value for _, value in scores)
            print('%-20s %5d %6d %6.1f%%' % (name, len(scores), exact, 100 * worth / len(scores)))
    print()


def short(command):
    text = json.dumps(command, ensure_ascii=False)
    return text if len(text) <= SHOWN else text[:SHOWN] + '… (%d characters)' % len(command)


def main(corpus, out):
    decided = {row['id']: row for row in rows(out)}
    classes, expects, misses, everything = {}, {name: [] for name in DECISIONS}, [], []
    shapes = {}
    for row in rows(corpus):
        got = decided.get(row['id'], {})
        decision = got.get('decision', 'none')
        # No answer is worth nothing, whatever was expected.
        score = (decision == row['expect'], WORTH.get((row['expect'], decision), 0))
        for group in (classes.setdefault(row['class'], []), expects[row['expect']], everything):
            group.append(score)
        if not score[0]:
            misses.append((score[1], row, decision, got))
            shape = '%s -> %s' % (row['expect'], decision)
            shapes[shape] = shapes.get(shape, 0) + 1
    table('class', {name: classes[name] for name in sorted(classes)})
    table('expected', dict(expects, all=everything))
    print('not as expected: %d' % len(misses))
    for shape in sorted(shapes):
        print('  %-16s %4d' % (shape, shapes[shape]))
    for _, row, decision, got in sorted(misses, key=lambda miss: (miss[0], miss[1]['id'])):
        print('\n%s %s -> %s  [%s, %s] %s' % (
            row['id'], row['expect'], decision, row['class'], row['rule'], row['why']))
        print('  ' + short(row['command']))
        if got.get('rule') or got.get('reason'):
            print('  guard: %s %s' % (got.get('rule') or '-', got.get('reason') or ''))


if __name__ == '__main__':
    if len(sys.argv) != 3:
        sys.exit('usage: score.py CORPUS OUT')
    try:
        main(sys.argv[1], sys.argv[2])
    except BrokenPipeError:
        sys.stderr.close()  # the reader saw enough
    except OSError as error:
        print(error)

#!/usr/bin/env python3
"""Turns data/programs/*.json into C: embed_programs.py OUT DIRECTORY

Each file is kept as text, without what only people and tests read; the program reads it when it needs it. OUT is only
written when it changes."""
import json
import os
import sys


def c_string(text):
    return '"%s"' % text.replace('\\', '\\\\').replace('"', '\\"')


out, directory = sys.argv[1:]
files = sorted(os.path.join(directory, f) for f in os.listdir(directory) if f.endswith('.json'))
texts, names = [], {}
for number, path in enumerate(files):
    with open(path, encoding='utf-8') as f:
        try:
            program = json.load(f)
        except ValueError as e:
            sys.exit('%s: %s' % (path, e))
    for name in program['names']:
        if name in names:
            sys.exit('%s: "%s" is known from %s already' % (path, name, files[names[name]]))
        names[name] = number
    for key in ('about', 'examples'):
        program.pop(key, None)
    texts.append((os.path.basename(path), json.dumps(program, ensure_ascii=False, separators=(',', ':'))))

lines = ['#include "guard/descriptor.h"', '', 'const struct program_text program_texts[] = {']
for file, text in texts:
    pieces = [text[i:i + 900] for i in range(0, len(text), 900)]
    lines.append('\t{ %s,\n\t  %s, %d },' % (c_string(file), '\n\t  '.join(c_string(p) for p in pieces), len(text.encode())))
lines += ['};', 'const size_t program_texts_count = sizeof program_texts / sizeof program_texts[0];', '',
          'const struct program_name program_names[] = {']
lines += ['\t{ %s, %d },' % (c_string(n), names[n]) for n in sorted(names, key=lambda n: n.encode())]
lines += ['};', 'const size_t program_names_count = sizeof program_names / sizeof program_names[0];', '']
text = '\n'.join(lines)
if not os.path.exists(out) or open(out, encoding='utf-8').read() != text:
    with open(out, 'w', encoding='utf-8') as f:
        f.write(text)

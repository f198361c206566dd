#!/usr/bin/env python3
"""Turns schema/*.sql into a C table: embed_sql.py OUT FILE..."""
import os
import sys

out, files = sys.argv[1], sys.argv[2:]
lines = ['#include "store/migrations.h"', '', 'const struct migration migrations[] = {']
for path in files:
    name = os.path.splitext(os.path.basename(path))[0]
    lines.append('\t{ "%s",' % name)
    with open(path, encoding='utf-8') as f:
        for line in f:
            line = line.rstrip('\n').replace('\\', '\\\\').replace('"', '\\"')
            lines.append('\t  "%s\\n"' % line)
    lines.append('\t},')
lines += ['};', '', 'const size_t migrations_count = sizeof migrations / sizeof migrations[0];', '']
with open(out, 'w', encoding='utf-8') as f:
    f.write('\n'.join(lines))

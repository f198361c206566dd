#!/usr/bin/env python3
"""Turns a file into C: embed_bytes.py OUT FILE HEADER NAME"""
import sys

out, path, header, name = sys.argv[1:]
with open(path, 'rb') as f:
    data = f.read()
lines = ['#include "%s"' % header, '', 'const unsigned char %s[] = {' % name]
lines += ['\t' + ','.join(str(b) for b in data[i:i + 24]) + ',' for i in range(0, len(data), 24)]
lines += ['};', 'const size_t %s_size = sizeof %s;' % (name, name), '']
with open(out, 'w', encoding='utf-8') as f:
    f.write('\n'.join(lines))

#!/usr/bin/env python3
"""Proves what `hookd offline` does not link: linkmap.py MAP

MAP is the linker's map of offline-probe. Objects whose sections were all thrown away do not count:
they are in the map as discarded, not as loaded.
"""
import re
import sys

# Modules and libraries that have no place in a process an agent waits for.
FORBIDDEN_MODULES = {'store', 'loop', 'server', 'capture', 'engine', 'api'}
FORBIDDEN_LIBRARIES = ('sqlite3', 'event_core', 'libevent')


def placed(text):
    """Object files with at least one byte in the program."""
    start = text.index('Linker script and memory map')
    found = {}
    # " .text.name  0x000000000000123  0x45 path/to/libhookd.a(storage_store_store.c.o)"; long names wrap.
    for m in re.finditer(r'^ (\.[\w.$-]+)\s+0x([0-9a-f]+)\s+0x([0-9a-f]+) (\S.*)$', text[start:], re.M):
        section, address, size, origin = m.groups()
        if int(address, 16) and int(size, 16) and not section.startswith(('.debug', '.comment', '.note', '.stab')):
            found.setdefault(origin, section)
    return found


def main():
    with open(sys.argv[1], encoding='utf-8', errors='replace') as f:
        text = f.read()
    objects = placed(text)
    modules = {}
    for origin, section in objects.items():
        m = re.search(r'[(/][a-z]+_([a-z]+)_[\w]+\.c\.o\)?$', origin)
        if m:
            modules.setdefault(m[1], (origin, section))
    bad = ['%s (%s, for %s)' % (name, *modules[name]) for name in sorted(FORBIDDEN_MODULES & set(modules))]
    bad += [origin for origin in objects if 'daemon_daemon' in origin]
    # Linked with --as-needed, a shared library is named only if something needs it.
    needed = re.findall(r'^(\S*(?:%s)\S*\.so\S*)\s+\S+ \(([^)]+)\)$' % '|'.join(FORBIDDEN_LIBRARIES), text, re.M)
    bad += ['%s, for the symbol %s' % pair for pair in needed]
    for line in bad:
        print('hookd offline links', line)
    if 'journal' not in modules or 'agents' not in modules:
        print('the map does not look like that of offline-probe: no journal or no agents')
        bad.append('')
    print('offline links: ' + ' '.join(sorted(modules)))
    sys.exit(1 if bad else 0)


if __name__ == '__main__':
    main()

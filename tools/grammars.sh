#!/bin/bash
# Makes the grammars that code is cut by: tools/grammars.sh DIRECTORY [--again]
#
# The sources of tree-sitter and of its grammars are pinned by tools/grammars/package-lock.json (versions and checksums)
# and are downloaded once, into a cache of the user. Each grammar becomes DIRECTORY/<language>.so, tree-sitter itself
# runtime.so; LICENSES has the terms of all of them. What is up to date is left alone. Without npm or a network this says so in one line and succeeds: hookd then
# cuts code by lines. After a failure the network is asked again an hour later, or with --again.
set -uo pipefail

[ $# -ge 1 ] || { echo "usage: tools/grammars.sh DIRECTORY [--again]" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
pins=$root/tools/grammars
mkdir -p "$1" || exit 1
out=$(cd "$1" && pwd)
cc=${CC:-cc}
flags="-std=gnu11 -O2 -fPIC -shared -fvisibility=hidden -w ${GRAMMAR_CFLAGS:-}"

# language, and the folder with its parser.c below node_modules
languages='
bash        tree-sitter-bash/src
c           tree-sitter-c/src
cpp         tree-sitter-cpp/src
go          tree-sitter-go/src
java        tree-sitter-java/src
javascript  tree-sitter-javascript/src
json        tree-sitter-json/src
markdown    @tree-sitter-grammars/tree-sitter-markdown/tree-sitter-markdown/src
python      tree-sitter-python/src
ruby        tree-sitter-ruby/src
rust        tree-sitter-rust/src
tsx         tree-sitter-typescript/tsx/src
typescript  tree-sitter-typescript/typescript/src
yaml        @tree-sitter-grammars/tree-sitter-yaml/src
'

without() { # why
	echo "hookd: no grammars ($1); code will be cut by lines" >&2
	exit 0
}

sum() { # files
	cat "$@" | sha256sum | cut -c1-16
}

pinned=$(sum "$pins/package-lock.json")
made_by="$($cc --version 2>/dev/null | head -1) $flags $pinned"
shim=$(sum "$root/src/recall/chunk/runtime.c" "$root/src/recall/chunk/syntax.h")

# What a file was made from stands beside it.
is_made() { # name, from
	[ -f "$out/$1.so" ] && [ "$(cat "$out/.$1.from" 2>/dev/null)" = "$2" ]
}

missing=$(
	is_made runtime "$made_by $shim" || echo runtime
	while read -r language _; do
		[ -z "$language" ] || is_made "$language" "$made_by" || echo "$language"
	done <<<"$languages"
)
[ -n "$missing" ] || exit 0

# -- sources ---------------------------------------------------------------------------------------

cache=${XDG_CACHE_HOME:-$HOME/.cache}/hookd
sources=$cache/grammars-$pinned
failed=$out/.failed

download() {
	local fresh
	mkdir -p "$cache" && fresh=$(mktemp -d "$cache/.grammars.XXXXXX") || return 1
	cp "$pins/package.json" "$pins/package-lock.json" "$fresh/"
	# Nothing of a package is run: only its C sources are wanted.
	if ! (cd "$fresh" && timeout 300 npm ci --ignore-scripts --legacy-peer-deps --no-audit --no-fund --loglevel=error \
		--fetch-retries=1 --fetch-timeout=60000 --cache "$fresh/.npm") >"$fresh/log" 2>&1; then
		rm -rf "$fresh"
		return 1
	fi
	rm -rf "$fresh/.npm" "$fresh"/node_modules/*/prebuilds "$fresh"/node_modules/*/*/prebuilds
	# Of two at once one comes second.
	mv -T "$fresh" "$sources" 2>/dev/null || rm -rf "$fresh"
	[ -d "$sources/node_modules" ]
}

if [ ! -d "$sources/node_modules" ]; then
	command -v npm >/dev/null 2>&1 || without "npm is missing"
	if [ "${2:-}" != --again ] && [ -n "$(find "$failed" -mmin -60 2>/dev/null)" ]; then
		without "their sources could not be downloaded a while ago; tools/grammars.sh $1 --again"
	fi
	echo "hookd: downloading the sources of grammars into $sources" >&2
	download || { : >"$failed"; without "their sources could not be downloaded"; }
fi
rm -f "$failed"

# Whoever passes the compiled files on passes these on too.
(
	cd "$sources/node_modules" && find tree-sitter* @tree-sitter-grammars -name LICENSE -not -path '*/bindings/*' | sort |
		while read -r file; do
			printf -- '---- %s\n\n' "$file" && cat "$file" && echo
		done
) >"$out/.LICENSES.new" && mv -f "$out/.LICENSES.new" "$out/LICENSES"

# -- compiling -------------------------------------------------------------------------------------

# Renamed into place: an indexer may have the old one mapped.
compile() { # name, from, sources and flags...
	local name=$1 from=$2
	shift 2
	if $cc $flags -o "$out/.$name.new" "$@" 2>"$out/.$name.log"; then
		mv -f "$out/.$name.new" "$out/$name.so" && echo "$from" >"$out/.$name.from"
		rm -f "$out/.$name.log"
	else
		echo "hookd: the grammar $name could not be compiled; see $out/.$name.log" >&2
		rm -f "$out/.$name.new"
	fi
}

make_one() { # name
	local lib=$sources/node_modules/tree-sitter/vendor/tree-sitter/lib folder scanner=
	if [ "$1" = runtime ]; then
		compile runtime "$made_by $shim" -D_GNU_SOURCE -DTREE_SITTER_HIDE_SYMBOLS -I "$lib/include" -I "$lib/src" \
			-I "$root/src/recall" "$root/src/recall/chunk/runtime.c" "$lib/src/lib.c"
		return
	fi
	folder=$sources/node_modules/$(awk -v name="$1" '$1 == name { print $2 }' <<<"$languages")
	[ -f "$folder/scanner.c" ] && scanner=$folder/scanner.c
	compile "$1" "$made_by" -I "$folder" "$folder/parser.c" $scanner
}

# Two at a time: the largest parser takes most of a gigabyte to compile.
running=0
for name in $missing; do
	make_one "$name" &
	running=$((running + 1))
	if [ $running -ge 2 ]; then
		wait -n
		running=$((running - 1))
	fi
done
wait
exit 0

#!/bin/sh
# Installs the Debian packages hookd is built and tested with, and only those that are missing.
# Quiet when there is nothing to do. `tools/setup.sh --print` lists what is missing and stops.
set -eu

missing=
need() { # package, and the command or file that shows it is there whatever it was installed from
	case $2 in
	/*) [ -e "$2" ] || missing="$missing $1" ;;
	*)  command -v "$2" >/dev/null 2>&1 || missing="$missing $1" ;;
	esac
}
package() { # libraries: dpkg knows
	dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $1"
}

need build-essential cc
need git git
need meson meson
need ninja-build ninja
need pkg-config pkg-config
need musl-tools musl-gcc
need npm npm
need nodejs node
package libc6-dev
package libevent-dev
package libsqlite3-dev
package libpcre2-dev
package libzstd-dev
package zlib1g-dev
package libcmocka-dev
package python3-pytest
need iproute2 ip
need shfmt shfmt
need clang-format clang-format
need curl curl

[ -z "$missing" ] && exit 0
if [ "${1:-}" = --print ]; then
	echo "$missing"
	exit 0
fi

sudo=
if [ "$(id -u)" != 0 ]; then
	if command -v sudo >/dev/null 2>&1; then
		sudo=sudo
	else
		echo "hookd: packages are missing and this user cannot install them; as root, run:" >&2
		echo "  apt-get update && apt-get install -y$missing" >&2
		exit 1
	fi
fi
echo "hookd: installing$missing" >&2
log=$(mktemp)
if ! { $sudo apt-get update && $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1; then
	tail -20 "$log" >&2
	echo "hookd: the packages could not be installed (full output: $log); install them and run make again" >&2
	exit 1
fi
rm -f "$log"

#!/bin/sh
# Installs what brink's real apps (and, with "test", its tests) need and the
# machine lacks, from the distribution. Says in one line what and why.
set -eu

want=""
need() { # need PACKAGE COMMAND...: the package is wanted when the command fails
	package=$1
	shift
	"$@" >/dev/null 2>&1 || want="$want $package"
}

need python3-flask /usr/bin/python3 -c 'import flask'
need gunicorn /usr/bin/python3 -c 'import gunicorn'
need python3-gevent /usr/bin/python3 -c 'import gevent'
need python3-uvicorn /usr/bin/python3 -c 'import uvicorn'
need nodejs node --version
need npm npm --version
if [ "${1:-}" = test ]; then
	need chromium chromium --version
	need fonts-dejavu-core test -d /usr/share/fonts/truetype/dejavu
	need iproute2 ss --version
	need procps pgrep --version
	need util-linux taskset --version
	need gcc cc --version
	need qemu-system-x86 qemu-system-x86_64 --version
	need mmdebstrap mmdebstrap --version
	need e2fsprogs sh -c 'command -v mke2fs || test -x /sbin/mke2fs'
	need uwsgi-core uwsgi-core --version
	need uwsgi-plugin-python3 test -e /usr/lib/uwsgi/plugins/python3_plugin.so
	need php-fpm sh -c 'command -v php-fpm || ls /usr/sbin/php-fpm*'
	need apache2-bin test -x /usr/sbin/apache2
	need nginx-light test -x /usr/sbin/nginx
	need puma test -x /usr/bin/puma
	need prometheus promtool --version
fi
[ "${1:-}" != bench ] || need prometheus-node-exporter prometheus-node-exporter --version
[ -n "$want" ] || exit 0

if ! command -v apt-get >/dev/null; then
	echo "brink: missing$want and no apt-get here: install them with your package manager" >&2
	exit 2
fi
sudo=""
if [ "$(id -u)" != 0 ]; then
	if ! command -v sudo >/dev/null; then
		echo "brink: missing$want; run as root or install sudo: apt-get install$want" >&2
		exit 2
	fi
	sudo=sudo
fi
echo "brink: installing$want (the apps under test run on the distribution's own packages)"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
# Debian starts the servers that it installs, unless this file forbids it.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
	trap '$sudo rm -f $policy' EXIT
	printf '#!/bin/sh\nexit 101\n' | $sudo tee $policy >/dev/null
	$sudo chmod +x $policy
fi
# shellcheck disable=SC2086
if ! { $sudo apt-get update -q && $sudo apt-get install -q -y --no-install-recommends $want; } >"$log" 2>&1; then
	tail -n 5 "$log" >&2
	echo "brink: could not install$want; the full output is in $log" >&2
	exit 2
fi
rm -f "$log"

#!/bin/sh
# Installs what the tests need and is missing: as root with apt-get, silently when nothing is missing. Otherwise it
# prints one line for each missing package, and the tests that need it say so when they skip.
# No service is started. A package may enable its service for the next boot: use a container if that matters.
set -eu

PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
log=
policy=/usr/sbin/policy-rc.d
made_policy=

# A program and the package it is in. A pattern is a path.
wanted='
strace                           strace
chromium                         chromium
flock                            util-linux
ip                               iproute2
setsid                           util-linux
redis-server                     redis-server
prometheus                       prometheus
prometheus-node-exporter         prometheus-node-exporter
prometheus-redis-exporter        prometheus-redis-exporter
prometheus-postgres-exporter     prometheus-postgres-exporter
/usr/lib/postgresql/*/bin/initdb postgresql
pgbouncer                        pgbouncer
mariadbd                         mariadb-server
ldb                              rocksdb-tools
java                             default-jre-headless
/usr/share/java/lucene-core-4*   liblucene4.10-java
/usr/share/java/zookeeper.jar    zookeeper
systemd-analyze                  systemd
python3                          python3
setcap                           libcap2-bin
chattr                           e2fsprogs
ps                               procps
rpm                              rpm
man                              man-db
/usr/share/bash-completion/bash_completion bash-completion
gcc                              gcc
wine                             wine
/usr/lib/wine/wine64             wine64
x86_64-w64-mingw32-gcc           gcc-mingw-w64-x86-64
'

missing() {
	printf '%s' "$wanted" | while read -r program package; do
		case $program in
		'') continue ;;
		/*) # shellcheck disable=SC2086 # the pattern is meant to expand
			set -- $program
			[ -e "$1" ] && continue ;;
		*) command -v "$program" >/dev/null 2>&1 && continue ;;
		esac
		echo "$package"
	done
	# A compiler without the C library's headers links nothing.
	if command -v dpkg >/dev/null 2>&1 && [ ! -e /usr/include/stdlib.h ]; then echo libc6-dev; fi
}

tell() {
	for package in $(missing); do
		echo "missing: $package; get it: apt-get install $package"
	done
}

clean_up() {
	[ -z "$made_policy" ] || rm -f "$policy"
	[ -z "$log" ] || rm -f "$log"
}

install() {
	log=$(mktemp)
	trap clean_up EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	# 101 tells the packages' own scripts not to start anything.
	if [ ! -e "$policy" ]; then
		made_policy=1
		printf '#!/bin/sh\nexit 101\n' >"$policy"
		chmod 755 "$policy"
	fi
	echo "installing:" "$@"
	export DEBIAN_FRONTEND=noninteractive
	if ! { apt-get update && apt-get install -y --no-install-recommends "$@"; } </dev/null >"$log" 2>&1; then
		tail -n 20 "$log" >&2
	fi
}

packages=$(missing)
[ -n "$packages" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	# shellcheck disable=SC2086 # one word for each package
	install $packages
fi
tell
[ "${SOLEHOLD_NO_SKIP:-}" != 1 ] || [ -z "$(missing)" ]

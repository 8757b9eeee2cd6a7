#!/bin/sh
# Puts the lslocks of Debian 13 below DIR, for `make bench-doctor`: from util-linux 2.40 on it asks every process, as
# doctor does, and Debian 12 has an older one. Nothing of it is installed; it is started as DIR/bin/lslocks.
set -eu

[ $# = 1 ] || { echo "usage: $0 DIR" >&2; exit 64; }
case $1 in
*[[:space:]]*) echo "$0: no spaces in $1, please: it goes into a file of apt" >&2; exit 64 ;;
/*) to=$1 ;;
*) to=$PWD/$1 ;;
esac
[ ! -x "$to/bin/lslocks" ] || exit 0
mkdir -p "$to/bin" "$to/deb/partial" "$to/lists/partial"

# From the place this machine takes its Debian from.
# shellcheck disable=SC2016 # the words with dollars are apt's
place=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' |
	awk '$2 == "Debian" && $3 !~ /-/ && $4 == "main" { print $1; exit }')
[ -n "$place" ] || { echo "$0: apt knows no place with Debian's main packages" >&2; exit 69; }
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $place trixie main" >"$to/sources.list"

apt() {
	apt-get -q -o Dir::Etc::SourceList="$to/sources.list" -o Dir::Etc::SourceParts=- \
		-o Dir::State::Lists="$to/lists" -o Dir::Cache="$to" "$@" >&2
}
apt update
cd "$to/deb"
apt download util-linux libmount1 libblkid1 libsmartcols1 libselinux1 libpcre2-8-0 libc6
for package in *.deb; do dpkg-deb -x "$package" "$to/root"; done

# Its own loader and C library: those of the machine are older.
loader=$(find "$to/root" -name 'ld-linux*.so.*' -o -name 'ld64.so.*' | head -n 1)
printf '#!/bin/sh\nexec %s --library-path %s %s "$@"\n' "$loader" "$(dirname "$loader")" "$to/root/usr/bin/lslocks" >"$to/bin/lslocks"
chmod 755 "$to/bin/lslocks"
"$to/bin/lslocks" --version >&2

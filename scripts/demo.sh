#!/bin/sh
# The story of 13:20: a logon task and a watchdog each start the same service in
# the same minute. Before, two copies worked on one directory and hung each other.
# Here both fire in the same instant, five times over: one copy serves, the other
# one learns who the owner is and leaves, and the history has both.
#
# PORT is where the service listens (default 18120), BIN where the programs are,
# ROUNDS how often. Everything is started and stopped by its pid.
set -eu
bin=${BIN:-bin}
port=${PORT:-18120}
rounds=${ROUNDS:-5}
work=$(mktemp -d)
data=$work/data
url=http://127.0.0.1:$port/healthz
mkdir "$data"

solehold() { "$bin/solehold" "$@"; }
bad() { echo "BAD: $*" >&2; cat "$work/run.err" "$work/watch.err" >&2 || :; solehold history "$data" >&2 || :; exit 1; }
clean() {
	solehold release --timeout 10s --reason "the demo is over" "$data" >/dev/null 2>&1 || :
	rm -rf "$work"
}
trap clean EXIT
trap 'exit 1' INT TERM HUP

events() { solehold history --json "$data" | grep -c "\"kind\":\"$1\"" || :; }


round=1
while [ "$round" -le "$rounds" ]; do
	before=$(events refused)
	rm -f "$work/go"
	# Both wait for the same starting shot.
	(until [ -e "$work/go" ]; do :; done; exec "$bin/solehold" run --name logon-task "$data" -- "$bin/kb" --addr "127.0.0.1:$port") >"$work/run.out" 2>"$work/run.err" &
	task=$!
	(until [ -e "$work/go" ]; do :; done; exec "$bin/solehold" watch --once --name kb-watch --health-http "$url" --health-period 1s "$data" -- "$bin/kb" --addr "127.0.0.1:$port") >"$work/watch.out" 2>"$work/watch.err" &
	watch=$!
	: >"$work/go"
	wait "$watch" || bad "round $round: the watch ended with code $?"

	tries=0
	until "$bin/solehold-probe" http "$url" --timeout 5s >/dev/null 2>&1; do
		tries=$((tries + 1))
		[ "$tries" -lt 300 ] || bad "round $round: no answer within 30 s"
		sleep 0.1
	done
	owner=$(solehold status --json "$data" | sed 's/.*"owner":{"pid":\([0-9]*\).*/\1/')
	[ "$(events acquired)" -eq "$round" ] || bad "round $round: $(events acquired) owners so far, not $round"
	refused=$(($(events refused) - before))

	# Afterwards a watch has nothing to do and nothing to say.
	said=$(solehold watch --once --health-http "$url" --health-period 1s "$data" -- "$bin/kb" --addr "127.0.0.1:$port" 2>&1) || bad "round $round: a watch of a healthy service ended with code $?"
	[ -z "$said" ] || bad "round $round: a watch of a healthy service said: $said"

	echo "round $round: pid $owner serves on $url, $refused turned away: $(cat "$work/run.err" "$work/watch.err" | grep 'already has its owner' | head -n 1)"
	solehold release --timeout 10s --reason "next round" "$data" >/dev/null
	wait "$task" || bad "round $round: the task ended with code $?"
	round=$((round + 1))
done

echo
solehold history "$data" | head -n 16
echo
echo "GOOD: $rounds rounds, $(events acquired) owners, one at a time; $(events refused) starts turned away; $(events recovery) started by the watch"

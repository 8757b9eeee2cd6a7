package drill_test

import (
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/drill"
	"github.com/solehold/solehold/internal/testneed"
)

// pidFile guards as scripts do that are found everywhere: by a number in a file. What it guards is its child.
const pidFile = `
if [ -s "$1/pid" ] && kill -0 "$(cat "$1/pid")" 2>/dev/null; then echo "already running"; exit 3; fi
: look around once more
echo $$ >"$1/pid"
sleep 1000 9>"$1/data" &
wait
`

// slowPidFile is the same, and goes on only when another one has looked as well: what is luck elsewhere happens here.
const slowPidFile = `
if [ -s "$1/pid" ] && kill -0 "$(cat "$1/pid")" 2>/dev/null; then echo "already running"; exit 3; fi
: >"$1/../looked.$2"
until [ -e "$1/../looked.1" ] && [ -e "$1/../looked.2" ]; do sleep 0.05; done
echo $$ >"$1/pid"
exec sleep 1000 9>"$1/data"
`

// guards are commands that keep others out, each in its way.
func guards(t *testing.T) map[string][]string {
	flock := testneed.Program(t, "flock", "apt-get install util-linux")
	worker := self("write", "{dir}/data")
	return map[string][]string{
		"nothing":  worker,
		"flock -n": append([]string{flock, "-n", "{dir}/lock"}, worker...),
		"flock -o": append([]string{flock, "-n", "-o", "{dir}/lock"}, worker...),
		"pid file": script(t, pidFile, "{dir}"),
		"raced":    script(t, slowPidFile, "{dir}", "{n}"),
		"bbolt":    self("lock-and-write", "{dir}/data"),
		"socket":   self("listen", "{dir}/socket"),
	}
}

// TestGuards runs scenarios on guards that keep their promise there, and on some that do not.
func TestGuards(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scenario, guard string
		want            drill.Verdict
		because         string
	}{
		{"race", "nothing", drill.Failed, "owners at once"},
		{"race", "flock -n", drill.Pass, ""},
		{"race", "flock -o", drill.Pass, ""},
		{"race", "raced", drill.Failed, "owners at once"},
		{"race", "bbolt", drill.Pass, ""},
		{"race", "socket", drill.Failed, "round 2: no owner"}, // the socket's file is left, and nobody removes it
		{"crash", "nothing", drill.Failed, "owners at once"},
		{"crash", "flock -n", drill.Pass, ""},
		{"crash", "bbolt", drill.Pass, ""},
		{"crash", "socket", drill.Failed, "no owner"},
		{"hang", "flock -n", drill.Pass, ""},
		{"hang", "nothing", drill.Failed, "owners at once"},
		{"orphan", "flock -n", drill.Pass, ""},
		{"orphan", "flock -o", drill.Failed, "owners at once"},
		{"orphan", "pid file", drill.Failed, "owners at once"},
		{"orphan", "bbolt", drill.Pass, ""},
		{"slow-stop", "bbolt", drill.Pass, ""},
		{"slow-stop", "flock -n", drill.Failed, "TERM does not reach all of start 1: pid "}, // flock ends, what it has started does not
		{"slow-stop", "nothing", drill.Failed, "owners at once"},
	} {
		t.Run(c.scenario+"/"+strings.ReplaceAll(c.guard, " ", "-"), func(t *testing.T) {
			t.Parallel()
			r := run(t, drill.Config{Scenario: c.scenario, Command: guards(t)[c.guard], Rounds: 2, Starters: 3, Grace: short})
			expect(t, r, c.want, c.because)
		})
	}
}

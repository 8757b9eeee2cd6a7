//go:build !solehold_portable

package supervise_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/testneed"
)

// yard is a site with a service that is well as long as the file "well" is there.
// Each of its lives writes down when it starts and ends.
type yard struct {
	*site
	service, probe string
}

func newYard(t *testing.T) *yard {
	t.Helper()
	s := newSite(t)
	at := func(name string) string { return s.path(name) }
	return &yard{
		site: s,
		service: s.script("service", `echo "start $$" >>`+at("lives")+`
end() { [ -e `+at("deaf")+` ] && return; trap "" TERM; rm -f `+at("well")+`; echo "end $$" >>`+at("lives")+`; exit 0; }
trap end TERM
: >`+at("well")+`
echo "service $1"
while :; do sleep 1000 & wait $!; done`),
		probe: s.script("probe", `echo asked >>`+at("asked")+`; [ -e `+at("well")+` ] && exit; echo "no file"; exit 1`),
	}
}

// flags are those of a watch that asks often and may start often.
func (y *yard) flags(more ...string) []string {
	return append([]string{
		"watch", y.dir, "--health-exec=" + y.probe, "--health-period=1s", "--health-timeout=10s", "--health-failure-threshold=2",
		"--restart-delay=0", "--restart-max=0", "--min-failing=0", "--grace=2s",
	}, more...)
}

// watch starts a watch of the service.
func (y *yard) watch(flags ...string) *running { return y.watchAs(nil, flags...) }

func (y *yard) watchAs(hows []how, flags ...string) *running {
	y.t.Helper()
	return y.start(hows, tool, slices.Concat(y.flags(flags...), []string{"--", y.service, "by the watch"})...)
}

// serve starts the service without a watch.
func (y *yard) serve(flags ...string) *running {
	y.t.Helper()
	r := y.run(nil, slices.Concat(flags, []string{"--", y.service, "by hand"})...)
	r.out.await("service by hand", 1)
	return r
}

func (y *yard) sick() {
	y.t.Helper()
	must(y.t, os.Remove(y.path("well")))
}

// rounds waits for so many more questions to the service.
func (y *yard) rounds(n int) {
	y.t.Helper()
	most := y.count("asked", "asked") + n
	testneed.Until(y.t, itoa(n)+" more rounds", func() bool { return y.count("asked", "asked") >= most })
}

// count tells how often a file beside the directory has a text.
func (y *yard) count(file, text string) int {
	y.t.Helper()
	all, err := os.ReadFile(y.path(file))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		y.t.Fatal(err)
	}
	return strings.Count(string(all), text)
}

func (y *yard) starts() int { return y.count("lives", "start") }

// started waits for that many lives, and checks that no two were at once.
func (y *yard) started(n int) {
	y.t.Helper()
	testneed.Until(y.t, itoa(n)+" lives", func() bool { return y.starts() >= n })
	if got := y.starts(); got != n {
		y.t.Fatalf("%d lives, want %d", got, n)
	}
}

// events reads the history.
func (y *yard) events(kind string) (found []solehold.Event) {
	y.t.Helper()
	text, err := os.ReadFile(filepath.Join(y.dir, ".solehold", "history.jsonl"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		y.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var e solehold.Event
		must(y.t, json.Unmarshal([]byte(line), &e))
		if kind == "" || string(e.Kind) == kind {
			found = append(found, e)
		}
	}
	return found
}

// alone checks the history for two owners at a time.
func (y *yard) alone() {
	y.t.Helper()
	if why := overlap(y.events("")); why != "" {
		y.t.Error(why)
	}
}

// overlap finds an acquisition while the owner before was not seen to end.
func overlap(events []solehold.Event) string {
	held := uint64(0)
	for _, e := range events {
		switch e.Kind {
		case "acquired":
			if held != 0 {
				return "token " + strconv.FormatUint(e.Token, 10) + " was acquired while " + strconv.FormatUint(held, 10) + " was held"
			}
			held = e.Token
		case "released", "vanished":
			held = 0
		}
	}
	return ""
}

// The check of every test below sees what it is for.
func TestOverlapIsSeen(t *testing.T) {
	t.Parallel()
	good := []solehold.Event{{Kind: "acquired", Token: 1}, {Kind: "released", Token: 1}, {Kind: "acquired", Token: 2}}
	if why := overlap(good); why != "" {
		t.Error(why)
	}
	if overlap([]solehold.Event{good[0], good[2], good[1]}) == "" {
		t.Error("two owners at once are not seen")
	}
}

// kept is what a directory has, file by file.
func kept(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, path))
		all[path] = string(text)
		return err
	}))
	return all
}

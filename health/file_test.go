package health_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/solehold/solehold/health"
)

// beat is a heartbeat file and its probe, in a bubble's time.
type beat struct {
	t     *testing.T
	path  string
	probe health.Probe
}

const maxAge = 30 * time.Second

// beating runs do with a probe of a file that is not there yet.
func beating(t *testing.T, do func(b beat)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(dir, "alive")
		do(beat{t, path, must(t)(health.File(path, maxAge))})
	})
}

// touch sets the file's time to now, as seen by a clock that is ahead.
func (b beat) touch(ahead time.Duration) {
	b.t.Helper()
	if err := os.WriteFile(b.path, nil, 0o600); err != nil {
		b.t.Fatal(err)
	}
	now := time.Now().Add(ahead)
	if err := os.Chtimes(b.path, now, now); err != nil {
		b.t.Fatal(err)
	}
}

func (b beat) want(v health.Verdict, detail string) {
	b.t.Helper()
	want(b.t, within(time.Second, b.probe), v, detail)
}

func pass(d time.Duration) { <-time.After(d) }

func TestFileKeptFresh(t *testing.T) {
	beating(t, func(b beat) {
		b.want(health.Fail, "no such file")
		b.touch(0)
		b.want(health.OK, "file touched 0s ago")
		pass(maxAge)
		b.want(health.OK, "file touched 30s ago")
		pass(time.Second)
		b.want(health.Fail, "file not touched for 31s, longer than 30s")
		b.touch(0)
		b.want(health.OK, "file touched 0s ago")
		os.Remove(b.path)
		b.want(health.Fail, "no such file")
	})
}

func TestFileOldAtFirst(t *testing.T) {
	beating(t, func(b beat) {
		b.touch(-time.Hour)
		b.want(health.Fail, "file not touched for 1h0m0s")
	})
}

// TestClockSteppedForward has a service that touches its file each 10 s and a wall clock that jumps: the files touched
// since then have times that look old here.
func TestClockSteppedForward(t *testing.T) {
	for _, ahead := range []time.Duration{-time.Hour, time.Hour} {
		beating(t, func(b beat) {
			b.touch(0)
			b.want(health.OK, "")
			for range 5 {
				pass(10 * time.Second)
				b.touch(ahead)
				b.want(health.OK, "file touched 0s ago")
			}
			pass(maxAge - time.Second)
			b.want(health.OK, "file touched 29s ago")
			pass(2 * time.Second)
			b.want(health.Fail, "file not touched for 31s")
		})
	}
}

// TestClockDoesNotRenew has a service that hangs: no clock makes its file fresh.
func TestClockDoesNotRenew(t *testing.T) {
	for _, ahead := range []time.Duration{0, time.Hour, 24 * 365 * time.Hour} {
		beating(t, func(b beat) {
			b.touch(ahead)
			within(time.Second, b.probe)
			pass(maxAge + time.Second)
			b.want(health.Fail, "not touched for 31s")
		})
	}
}

func TestFileFromTheFuture(t *testing.T) {
	beating(t, func(b beat) {
		b.touch(500 * time.Millisecond) // as coarse as some file systems are
		b.want(health.OK, "file touched 0s ago")
		b.touch(time.Hour)
		b.want(health.OK, "file touched 0s ago") // it was touched since the last check
	})
	beating(t, func(b beat) {
		b.touch(time.Hour)
		b.want(health.Unknown, "lies 1h0m0s in the future")
		pass(10 * time.Second)
		b.want(health.Unknown, "in the future")
		b.touch(time.Hour)
		b.want(health.OK, "file touched 0s ago")
	})
}

func TestFileThatCannotBeSeen(t *testing.T) {
	dir := t.TempDir()
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	want(t, within(ample, must(t)(health.File(loop, maxAge))), health.Unknown, "cannot be looked at")
	want(t, within(ample, must(t)(health.File(filepath.Join(dir, strings.Repeat("x", 300)), maxAge))), health.Unknown, "cannot be looked at")
	want(t, within(ample, must(t)(health.File(filepath.Join(dir, "no", "such"), maxAge))), health.Fail, "no such file")
}

func TestFileThatCannotBe(t *testing.T) {
	for path, text := range map[string]string{"": "no path", "alive": "relative"} {
		_, err := health.File(path, maxAge)
		if bad := asTarget(t, err); !strings.Contains(bad.Error(), text) {
			t.Errorf("%q: %v", path, err)
		}
	}
	abs := filepath.Join(t.TempDir(), "alive")
	if _, err := health.File(abs, 0); err == nil || !strings.Contains(err.Error(), "must be positive") {
		t.Errorf("no age: %v", err)
	}
	if p := must(t)(health.File(abs, maxAge)); p.String() != "file "+abs {
		t.Errorf("name %q", p)
	}
}

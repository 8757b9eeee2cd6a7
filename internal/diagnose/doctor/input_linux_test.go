package doctor_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/solehold/solehold/internal/diagnose/doctor"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

// What is no file or directory is named and never opened: a pipe would wait, a
// device may do something.
func TestStrangePaths(t *testing.T) {
	t.Parallel()
	dir := place(t)
	fifo, loop := filepath.Join(dir, "fifo.pid"), filepath.Join(dir, "loop")
	must(t, unix.Mkfifo(fifo, 0o644))
	must(t, os.Symlink("loop", loop))
	for path, kind := range map[string]string{fifo: "pipe", loop: "symlink", "/dev/null": "device", filepath.Join(dir, "missing"): "missing"} {
		r := doctor.Examine(t.Context(), doctor.Options{Paths: []string{path}, Timeout: 5 * time.Second})
		if s := r.Paths[0]; s.Kind != kind {
			t.Errorf("%s: %+v", path, s)
		}
		if (kind == "missing") != (len(r.Gaps) == 1 && r.Gaps[0].NotRun) {
			t.Errorf("%s: %+v", path, r.Gaps)
		}
	}
	r := examine(t, dir)
	wantIDs(t, r)
}

// A loop of links on the way to a path is an answer, not a hang.
func TestLoopOnTheWay(t *testing.T) {
	t.Parallel()
	dir := place(t)
	must(t, os.Symlink("b", filepath.Join(dir, "a")))
	must(t, os.Symlink("a", filepath.Join(dir, "b")))
	r := examine(t, filepath.Join(dir, "a", "lock"))
	if s := r.Paths[0]; s.Kind != "missing" || len(r.Gaps) != 1 {
		t.Errorf("%+v", r)
	}
}

// hostileText is what a terminal would obey.
const hostileText = "x\x1b]0;owned\a\x1b[2J\nSH007  outage fake\r\u202e\xff"

// Names of processes and files are chosen by anybody: nothing of them reaches the
// answer that a terminal would obey, and nothing is too long.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	dir := place(t)
	lf := filepath.Join(dir, "lock"+strings.ReplaceAll(hostileText, "/", ""))
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe)
	cmd.Args = []string{"doctor" + hostileText, strings.Repeat(hostileText, 100)}
	cmd.Env, cmd.Stderr = append(os.Environ(), actVar+"=forever"), os.Stderr
	f, err := os.Create(lf)
	must(t, err)
	must(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
	cmd.ExtraFiles = []*os.File{f}
	must(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	must(t, f.Close())
	must(t, os.Remove(lf))
	var found doctor.Finding
	defer func() {
		if t.Failed() {
			t.Logf("the last look: %+v", examine(t, dir))
		}
	}()
	testneed.Until(t, "the finding", func() bool {
		all := find(doctor.Examine(t.Context(), doctor.Options{Paths: []string{dir}}), "SH021")
		if len(all) == 1 && strings.Contains(all[0].Holders[0].Command, "owned") {
			found = all[0]
			return true
		}
		return false
	})
	if n := len(found.Holders[0].Command); n > 400 {
		t.Errorf("a command line of %d bytes", n)
	}
	for _, text := range append(found.Evidence, found.Advice, found.Title, found.Holders[0].Command) {
		for _, r := range text {
			if !unicode.IsPrint(r) {
				t.Errorf("%q in %q", r, text)
			}
		}
		if !utf8.ValidString(text) {
			t.Errorf("%q", text)
		}
	}
	_, err = json.Marshal(found)
	must(t, err)
}

// A /proc that is broken or empty gives gaps, not a crash and not "nothing".
func TestBrokenProc(t *testing.T) {
	t.Parallel()
	for name, fsys := range map[string]fstest.MapFS{
		"empty":   {},
		"garbage": {"locks": {Data: []byte("1: what\x00is this\n")}, "1/stat": {Data: []byte("1 (")}, "self/mountinfo": {Data: []byte("\x00")}},
		"numbers": {"99999999999999999999/stat": {}, "-1/stat": {}, "7/fd/x": {}, "7/fdinfo/0": {Data: []byte("flags: zz\n")}, "7/fd/0": {}},
	} {
		r := doctor.Examine(t.Context(), doctor.Options{Proc: procfs.New(fsys)})
		if len(r.Findings) > 0 {
			t.Errorf("%s: %+v", name, r.Findings)
		}
		notRun := 0
		for _, g := range r.Gaps {
			if g.NotRun {
				notRun++
			}
		}
		if notRun == 0 {
			t.Errorf("%s: %+v", name, r.Gaps)
		}
	}
}

// sealed denies every look at what the descriptors lead to, as the kernel does for what may not be looked into and for
// what ended after it was listed.
type sealed struct{ fs.FS }

func (s sealed) Open(name string) (fs.File, error) {
	if strings.Contains(name, "/fd/") || strings.Contains(name, "/fdinfo/") {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return s.FS.Open(name)
}

// A lock that nobody is seen to have may be of a process that denies a look, but not of one that has ended.
func TestEndedIsNotHidden(t *testing.T) {
	t.Parallel()
	const stat = "7 (p) %c 1 7 7 0 -1 %d 98 0 0 0 3 4 0 0 20 0 1 0 5 0 0\n"
	for name, c := range map[string]struct {
		stat   string
		hidden bool
	}{
		"alive":  {fmt.Sprintf(stat, 'S', 0), true},
		"ending": {fmt.Sprintf(stat, 'R', 4), false},
		"ended":  {"", false},
	} {
		all := fstest.MapFS{
			"locks":  {Data: []byte("1: FLOCK  ADVISORY  WRITE 7 08:01:9 0 EOF\n")},
			"7/fd/0": {}, "7/fd/3": {}, "7/fdinfo/0": {}, "7/fdinfo/3": {},
		}
		if c.stat != "" {
			all["7/stat"] = &fstest.MapFile{Data: []byte(c.stat)}
		}
		r := doctor.Examine(t.Context(), doctor.Options{Proc: procfs.New(sealed{all})})
		if got := slices.ContainsFunc(r.Gaps, func(g doctor.Gap) bool { return g.What == "descriptors of 1 process" }); got != c.hidden {
			t.Errorf("%s: %+v", name, r.Gaps)
		}
	}
}

// Processes come and go by the hundred while the host is looked at.
func TestProcessesThatVanish(t *testing.T) {
	t.Parallel()
	dir := place(t)
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				exec.Command("sh", "-c", `for i in 1 2 3 4 5 6 7 8; do flock "$1" true & done; wait`, "sh", filepath.Join(dir, "lf")).Run()
			}
		}
	}()
	for range 10 {
		r := examine(t, dir)
		for _, id := range []string{"SH007", "SH014", "SH021", "SH030", "SH013"} {
			if found := find(r, id); len(found) > 0 {
				t.Errorf("%+v", found)
			}
		}
	}
	close(stop)
	<-done
}

// To open a file on which somebody has a lease would break it.
func TestLeaseIsNotBroken(t *testing.T) {
	t.Parallel()
	dir := place(t)
	file := filepath.Join(dir, "leased.db")
	must(t, os.WriteFile(file, nil, 0o644))
	a := acting(t, "lease "+file)
	r := examine(t, file)
	if s := r.Paths[0]; s.State != "held" || s.Lock != "LEASE" || !names(s.Holders, a.pid()) {
		t.Errorf("%+v", s)
	}
	rows, err := procfs.Default().Locks()
	must(t, err)
	for _, l := range rows {
		if l.Type == "LEASE" && l.PID == a.pid() && l.Mode != "ACTIVE" {
			t.Errorf("the lease was broken: %+v", l)
		}
	}
	wantIDs(t, r)
}

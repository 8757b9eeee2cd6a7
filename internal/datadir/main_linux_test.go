package datadir_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold/internal/datadir"
	"golang.org/x/sys/unix"
)

const (
	roleVar   = "SOLEHOLD_TEST_ROLE"       // what a copy of the test binary does instead of tests
	insideVar = "SOLEHOLD_TEST_INSIDE"     // the test that a copy runs in another place
	quickExit = "GORACE=atexit_sleep_ms=0" // a copy with the race detector would end a second late
)

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleVar); role {
	case "":
		os.Exit(m.Run())
	case "start":
		starter()
	default:
		fmt.Fprintln(os.Stderr, "no role", role)
		os.Exit(2)
	}
}

// starter opens all that a service's start opens in the directory that it reads
// from its input, and prints an error for each that failed.
func starter() {
	var dir string
	failed := map[string]string{}
	note := func(what string, err error) {
		if err != nil {
			failed[what] = err.Error()
		}
	}
	json.NewDecoder(os.Stdin).Decode(&dir)
	d, err := datadir.Open(dir)
	note("dir", err)
	if err == nil {
		s, err := d.OpenState(true)
		note("state", err)
		if err == nil {
			_, err = s.OpenLock(true)
			note("lock", err)
			_, err = s.OpenAppend("history.jsonl")
			note("history", err)
			_, err = s.OpenWrite("refusals")
			note("refusals", err)
		}
	}
	json.NewEncoder(os.Stdout).Encode(failed)
}

// startAs has a user of that number do what a service's start does in dir.
func startAs(t *testing.T, uid uint32, dir string) (failed map[string]string) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe") // which others may run as well
	_, env := measured(t, user(uid))
	cmd.Env = append(env, roleVar+"=start")
	cmd.Dir, cmd.SysProcAttr = "/", user(uid)
	text, err := json.Marshal(dir)
	must(t, err)
	cmd.Stdin, cmd.Stderr = strings.NewReader(string(text)), os.Stderr
	out, err := cmd.Output()
	must(t, err)
	must(t, json.Unmarshal(out, &failed))
	return failed
}

func user(uid uint32) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
}

func ownMounts() *syscall.SysProcAttr { return &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS} }

// inside reports whether this is the copy of the test that runs in another
// place, or alone. In the first copy it starts the other one and takes over its
// outcome.
func inside(t *testing.T, attr *syscall.SysProcAttr) bool {
	t.Helper()
	if os.Getenv(insideVar) == t.Name() {
		return true
	}
	args := []string{"-test.run=^" + t.Name() + "$", "-test.v", "-test.timeout=60s"}
	covered, env := measured(t, attr)
	if covered != "" {
		args = append(args, "-test.gocoverdir="+covered, "-test.coverprofile="+os.DevNull)
	}
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(env, insideVar+"="+t.Name())
	cmd.Dir, cmd.SysProcAttr = "/", attr
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("inside: %v\n%s", err, out)
	}
	return false
}

// measured is the environment of a copy: where it leaves its coverage, if that is
// measured. Another user cannot write where go test collects it.
func measured(t *testing.T, attr *syscall.SysProcAttr) (dir string, env []string) {
	t.Helper()
	env = append(os.Environ(), quickExit)
	if testing.CoverMode() == "" {
		return "", env
	}
	if f := flag.Lookup("test.gocoverdir"); f != nil {
		dir = f.Value.String()
	}
	if dir == "" || attr != nil && attr.Credential != nil {
		dir = t.TempDir()
		must(t, os.Chmod(filepath.Dir(dir), 0o755))
		must(t, os.Chmod(dir, 0o777))
	}
	return dir, append(env, "GOCOVERDIR="+dir)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// place is an empty directory that all users can get to.
func place(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	must(t, os.Chmod(dir, 0o755))
	return dir
}

// mkdir makes a directory with exactly this mode, owned by a user where uid is not negative.
func mkdir(t *testing.T, path string, uid int, mode fs.FileMode) string {
	t.Helper()
	must(t, os.Mkdir(path, 0o700))
	must(t, os.Chown(path, uid, uid))
	must(t, os.Chmod(path, mode))
	return path
}

func open(t *testing.T, path string) *datadir.Dir {
	t.Helper()
	d, err := datadir.Open(path)
	must(t, err)
	t.Cleanup(func() { d.Close() })
	return d
}

// fresh is a data directory with an open state directory.
func fresh(t *testing.T) (*datadir.State, string) {
	t.Helper()
	dir := mkdir(t, filepath.Join(place(t), "data"), -1, 0o750)
	return state(t, open(t, dir)), dir
}

func state(t *testing.T, d *datadir.Dir) *datadir.State {
	t.Helper()
	s, err := d.OpenState(true)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func lock(t *testing.T, s *datadir.State) datadir.File {
	t.Helper()
	return file(t)(s.OpenLock(true))
}

// file takes the result of an open; it closes the file with the test.
func file(t *testing.T) func(datadir.File, error) datadir.File {
	return func(f datadir.File, err error) datadir.File {
		t.Helper()
		must(t, err)
		t.Cleanup(func() { f.Close() })
		return f
	}
}

func write(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o600))
	must(t, os.Chmod(path, mode))
}

// refused wants a refusal of this path for a reason with all the words.
func refused(t *testing.T, err error, path string, words ...string) {
	t.Helper()
	var r *datadir.RefusedError
	if !errors.As(err, &r) || r.Path != path {
		t.Errorf("got %v, want a refusal of %s", err, path)
		return
	}
	for _, w := range words {
		if !strings.Contains(r.Why, w) {
			t.Errorf("%q is not in %q", w, r.Why)
		}
	}
}

// failed wants an error of the system that names the path.
func failed(t *testing.T, err, errno error, path string) {
	t.Helper()
	var p *fs.PathError
	if !errors.Is(err, errno) || !errors.As(err, &p) || p.Path != path {
		t.Errorf("got %v, want %v of %s", err, errno, path)
	}
}

func stat(t *testing.T, path string) unix.Stat_t {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		t.Fatal(path, err)
	}
	return st
}

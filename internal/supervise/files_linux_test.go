//go:build !solehold_portable

package supervise_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold"
)

// sight runs a command that tells what it was given.
func sight(t *testing.T, r *running) seen {
	t.Helper()
	r.exits(0)
	var v seen
	must(t, json.Unmarshal([]byte(r.out.all()), &v))
	return v
}

// extra are the descriptors beyond the standard three.
func (v seen) extra() (fds []int) {
	for fd := range v.Files {
		if fd > 2 {
			fds = append(fds, fd)
		}
	}
	slices.Sort(fds)
	return fds
}

func TestCommandHasTheLocksFilesAndNothingElse(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	v := sight(t, s.run(nil, self(t), "files"))
	fds := v.extra()
	if len(fds) != 2 || fds[0] < 64 || v.Files[fds[0]] != s.dir || v.Files[fds[1]] != s.dir+"/.solehold/lock" {
		t.Errorf("files: %v, want directory and lock from 64 on", v.Files)
	}
	want := []string{solehold.DirVar + "=" + s.dir, solehold.NameVar + "=" + name(t), solehold.TokenVar + "=1"}
	slices.Sort(v.Env)
	if !slices.Equal(v.Env, want) {
		t.Errorf("environment: %v, want %v", v.Env, want)
	}
}

// name is what a run calls a command of this binary.
func name(t *testing.T) string {
	path := self(t)
	return path[strings.LastIndexByte(path, '/')+1:]
}

func TestHoldNoneSharesNoFiles(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if v := sight(t, s.run(nil, "--hold", "none", "--", self(t), "files")); len(v.extra()) != 0 {
		t.Errorf("files: %v", v.Files)
	}
}

// As a socket activator passes them.
func TestGivenFilesStayWhereTheyAre(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	third, err := os.CreateTemp(s.base, "given")
	must(t, err)
	_, err = third.WriteString("content of three")
	must(t, err)
	_, err = third.Seek(0, 0)
	must(t, err)
	fourth, err := os.Open("/dev/null")
	must(t, err)
	for _, flags := range [][]string{{"--hold", "tree"}, {"--hold", "none"}, {"--exec"}} {
		v := sight(t, s.run([]how{given(third, fourth)}, slices.Concat(flags, []string{"--", self(t), "files"})...))
		if v.Third != "content of three" || v.Files[3] != third.Name() || v.Files[4] != "/dev/null" {
			t.Errorf("%v: files: %v, in 3: %q", flags, v.Files, v.Third)
		}
		_, err = third.Seek(0, 0)
		must(t, err)
	}
}

// A run inside of a run keeps the locks of both; the environment is its own.
func TestNestedRun(t *testing.T) {
	t.Parallel()
	outer, inner := newSite(t), newSite(t)
	v := sight(t, outer.run(nil, "--", tool, "run", inner.dir, "--", self(t), "files"))
	targets := map[string]bool{}
	for _, fd := range v.extra() {
		targets[v.Files[fd]] = true
		if fd < 64 {
			t.Errorf("descriptor %d leads to %s", fd, v.Files[fd])
		}
	}
	for _, want := range []string{outer.dir, outer.dir + "/.solehold/lock", inner.dir, inner.dir + "/.solehold/lock"} {
		if !targets[want] {
			t.Errorf("no %s in %v", want, v.Files)
		}
	}
	if len(v.Env) != 3 || !slices.Contains(v.Env, solehold.DirVar+"="+inner.dir) {
		t.Errorf("environment: %v", v.Env)
	}
	outer.free()
	inner.free()
}

// Shells use low numbers for their own redirections; children inherit.
func TestShellsRedirectionsDoNotDropTheLock(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.sh(nil, `trap "" TERM; exec 3>x 4>x 5>x 9>x; exec 3>&- 9>&-; sh -c 'echo up; exec sleep 1000'`)
	r.out.await("up", 1)
	r.kill()
	st := s.status()
	if st.State != solehold.Held || !st.Owner.WrapperGone {
		t.Fatalf("status is %s, owner %+v", st.State, st.Owner)
	}
	// The first process goes; the one below keeps it.
	must(t, syscall.Kill(st.Owner.PID, syscall.SIGKILL))
	gone(t, st.Owner.PID)
	if st := s.status(); st.State != solehold.Held || !strings.Contains(strings.Join(st.Owner.Command, " "), "sleep 1000") {
		t.Errorf("status is %s, owner %+v", st.State, st.Owner)
	}
}

// closedPipe is a file whose reader has gone.
func closedPipe(t *testing.T) *os.File {
	t.Helper()
	from, to, err := os.Pipe()
	must(t, err)
	must(t, from.Close())
	t.Cleanup(func() { to.Close() })
	return to
}

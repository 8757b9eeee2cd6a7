//go:build !solehold_portable

package supervise_test

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold/internal/testneed"
)

// As pid 1 of a container the wrapper is everybody's parent.
func TestPIDOneReapsPassesOnAndKills(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	s := newSite(t)
	r := s.sh([]how{inPIDs}, `
		for i in 1 2 3 4 5 6 7 8; do setsid -f true; done
		setsid -f sh -c 'trap "" TERM; echo up; exec sleep 1000'
		trap 'echo asked; exit 7' TERM
		while grep -q "^State:.*zombie" /proc/[0-9]*/status; do sleep 0.01; done
		echo up $$ of $PPID
		while :; do sleep 0.01; done`, "--grace", "200ms")
	if text := r.out.await("up", 2); !strings.Contains(text, "of 1\n") {
		t.Errorf("not below pid 1: %s", text)
	}
	r.signal(syscall.SIGTERM)
	r.out.await("asked", 1)
	r.exits(7)
	s.free()
}

// In a new pid namespace without a /proc of its own all numbers in /proc mean
// others: nobody there may be touched, and the tree ends all the same.
func TestPIDOneUnderAForeignProc(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	s := newSite(t)
	bystander := s.beside().start(nil, "sh", "-c", "echo up; exec sleep 1000")
	bystander.out.await("up", 1)
	const script = `
		setsid -f sh -c 'trap "" TERM; echo up; exec sleep 1000'
		setsid -f sh -c 'echo up; exec sleep 1000'
		while [ ! -e go ]; do sleep 0.01; done; exit 7`
	for _, places := range [][]how{{newPIDs}, {withoutCgroups, newPIDs}} {
		r := s.sh(places, script, "--grace", "200ms")
		r.out.await("up", 2)
		must(t, exec.Command("touch", s.path("go")).Run())
		r.exits(7)
		s.free()
		must(t, exec.Command("rm", s.path("go")).Run())
	}
	if st := state(bystander.pid()); st != 'S' {
		t.Errorf("a process outside is in state %c", st)
	}
}

// newPIDs makes a pid namespace and leaves /proc as it is.
func newPIDs(c *exec.Cmd) { c.SysProcAttr.Cloneflags |= syscall.CLONE_NEWPID }

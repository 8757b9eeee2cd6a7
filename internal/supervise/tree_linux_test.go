//go:build !solehold_portable

package supervise_test

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

// brood is a command with five kinds of processes that a signal to the first
// one, or to its group, does not end. Each says when it is what it shall be.
const brood = `
(trap "" TERM INT HUP; echo up; exec sleep 1001) &
setsid -f sh -c 'trap "" TERM INT HUP; echo up; exec sleep 1002'
setsid -f sh -c 'cd /; echo up; exec sleep 1003 </dev/null >/dev/null 2>&1'
sh -c 'echo up; kill -STOP $$; exec sleep 1004' &
setsid sh -c 'setsid -f sh -c "trap \"\" TERM; echo up; exec sleep 1005 64<&- 65<&-"; exit' &
echo leader up
`

// places are the two ways to reach a whole tree: its cgroup, and a sweep
// through the descendants of a subreaper.
func places(t *testing.T, each func(t *testing.T, place how)) {
	t.Helper()
	t.Parallel()
	testneed.Root(t)
	t.Run("cgroup", func(t *testing.T) {
		t.Parallel()
		testneed.Feature(t, groupRoot() != "", "a writable cgroup of version 2", "mount one: mount -t cgroup2 none /sys/fs/cgroup")
		each(t, func(*exec.Cmd) {})
	})
	t.Run("sweep", func(t *testing.T) {
		t.Parallel()
		each(t, withoutCgroups)
	})
}

// groupRoot is the directory in which a run of this process makes its cgroup.
func groupRoot() string {
	proc := procfs.Default()
	groups, _ := proc.Cgroups(0)
	mounts, _ := proc.Mounts(0)
	for _, g := range groups {
		for _, m := range mounts {
			path := filepath.Join(m.Point, g.Path)
			if g.Hierarchy == 0 && m.Type == "cgroup2" && m.Root == "/" && unix.Access(path, unix.W_OK) == nil {
				return path
			}
		}
	}
	return ""
}

// groupsOf lists the cgroups that a wrapper has made.
func groupsOf(pid int) []string {
	found, _ := filepath.Glob(filepath.Join(groupRoot(), fmt.Sprintf("solehold-run-%d-*", pid)))
	return found
}

func TestWholeTreeIsGoneBeforeRelease(t *testing.T) {
	ends := map[string]func(*running){
		"term":   func(r *running) { r.signal(syscall.SIGTERM) },
		"exit":   func(r *running) { must(r.t, os.WriteFile(filepath.Join(r.cmd.Dir, "go"), nil, 0o600)) },
		"killed": func(r *running) { must(r.t, syscall.Kill(leader(r), syscall.SIGKILL)) },
	}
	places(t, func(t *testing.T, place how) {
		for name, end := range ends {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := newSite(t)
				r := s.sh([]how{place}, brood+"while [ ! -e go ]; do sleep 0.01; done; exit 5", "--grace", "300ms")
				r.out.await("up", 6)
				if n := len(marked(s.mark)); n < 6 {
					t.Fatalf("only %d processes", n)
				}
				// Who gets the directory next must find nobody.
				next := s.beside().run(nil, "--wait", "forever", "--", self(t), "census", s.mark, strconv.Itoa(r.pid()))
				next.errs.await("waiting", 1)
				end(r)
				switch ws := r.wait(); name {
				case "exit":
					r.exits(5)
				default:
					if !ws.Signaled() {
						t.Errorf("ended with %s", ending(ws))
					}
				}
				if text := next.out.await("counted", 1); text != "counted\n" {
					t.Errorf("when the directory was free:\n%s", text)
				}
				next.exits(0)
				s.free()
				if left := groupsOf(r.pid()); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
				if h := s.history(); !strings.Contains(h, "child-exited") || !strings.Contains(h, "forced") {
					t.Errorf("history: %s", h)
				}
			})
		}
	})
}

// headless is a process whose first thread has exited: it shows as a zombie, and works on.
func headless([]string) {
	testneed.Headless(func() {
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("up", os.Getpid())
		<-time.After(time.Hour)
	})
	os.Exit(3)
}

// A process whose first thread has exited is stopped like any other, and before the directory is free.
func TestHeadlessIsStopped(t *testing.T) {
	places(t, func(t *testing.T, place how) {
		s := newSite(t)
		r := s.sh([]how{place}, `until "$SELF" headless; do :; done & while [ ! -e go ]; do sleep 0.01; done; kill $!; exit 5`, "--grace", "300ms")
		_, text, _ := strings.Cut(r.out.await("up", 1), "up ")
		pid, err := strconv.Atoi(strings.TrimSpace(text))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(r.cmd.Dir, "go"), nil, 0o600))
		r.exits(5)
		if err := unix.Kill(pid, 0); err != unix.ESRCH {
			t.Errorf("pid %d is left: %v", pid, err)
		}
		s.free()
	})
}

// leader is the command's first process. It may speak before the wrapper has
// written it down.
func leader(r *running) int {
	r.t.Helper()
	child := 0
	testneed.Until(r.t, "the child is in the record", func() bool {
		st, err := solehold.Inspect(r.t.Context(), r.cmd.Dir+"/data", nil)
		must(r.t, err)
		child = st.Record.Child
		return child != 0
	})
	return child
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	must(t, err)
	return path
}

// hop is a process that flees: into a session of its own, with a new pid, a few
// hundred times in a second. Now and then one stays behind.
const hop = `
trap "" TERM INT HUP
[ $(($1 % 100)) = 0 ] && echo hop
[ $1 -gt 0 ] || exec sleep 1000
setsid "$0" $(($1 - 1)) &
[ $(($1 % 9)) = 0 ] && exec sleep 1000
exit 0
`

func TestForkBombEnds(t *testing.T) {
	places(t, func(t *testing.T, place how) {
		s := newSite(t)
		s.script("hop", hop)
		r := s.sh([]how{place}, "./hop 500 & ./hop 500 & ./hop 500 & wait; exec sleep 1000", "--grace", "100ms")
		r.out.await("hop", 4)
		next := s.beside().run(nil, "--wait", "forever", "--", self(t), "census", s.mark, strconv.Itoa(r.pid()))
		next.errs.await("waiting", 1)
		r.signal(syscall.SIGTERM)
		r.wait()
		if text := next.out.await("counted", 1); text != "counted\n" {
			t.Errorf("when the directory was free:\n%s", text)
		}
		next.exits(0)
		s.free()
	})
}

// The leader is the only one that is waited for; what it leaves may be just
// moving when it is looked for.
func TestLeaderThatLeavesMovingTargets(t *testing.T) {
	places(t, func(t *testing.T, place how) {
		s := newSite(t)
		s.script("hop", hop)
		r := s.sh([]how{place}, "./hop 300 & ./hop 300 & exit 3", "--grace", "200ms")
		r.exits(3)
		s.free()
	})
}

// SIGCONT follows the request, or a stopped service would wait for SIGKILL.
func TestStoppedCommandStillStops(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.sh(nil, `trap 'echo bye; exit 9' TERM; echo up; kill -STOP $$; while :; do sleep 0.01; done`)
	r.out.await("up", 1)
	pid := leader(r)
	testneed.Until(t, "stopped", func() bool { return state(pid) == 'T' })
	r.signal(syscall.SIGTERM)
	r.exits(9)
	r.out.await("bye", 1)
	s.free()
}

// A service may take its time: whoever waits gets the directory only after it.
func TestSlowStopIsNeverOverlapped(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const slow = `trap 'sleep 1.5; echo end $1 >>log; exit 0' TERM; echo start $1 >>log; echo up; while :; do sleep 0.02; done`
	r := s.run(nil, "sh", "-c", slow, "sh", "1")
	r.out.await("up", 1)
	next := s.beside().run(nil, "--wait", "forever", "--", "sh", "-c", slow, "sh", "2")
	next.errs.await("waiting", 1)
	r.signal(syscall.SIGTERM)
	r.exits(0)
	next.out.await("up", 1)
	next.signal(syscall.SIGTERM)
	next.exits(0)
	log, err := os.ReadFile(s.path("log"))
	must(t, err)
	if want := "start 1\nend 1\nstart 2\nend 2\n"; string(log) != want {
		t.Errorf("log:\n%swant:\n%s", log, want)
	}
}

// What a script started before it became the wrapper is not the command's.
func TestStrangersAreLeftAlone(t *testing.T) {
	const script = `
		sleep 900 & echo stranger $!
		sh -c 'sleep 901 & echo stranger $!; echo far up; wait' & echo stranger $!
		while [ ! -e go ]; do sleep 0.01; done
		exec "$@"`
	places(t, func(t *testing.T, place how) {
		s := newSite(t)
		mine := s.beside() // the wrapper and its strangers; the command has another mark
		r := mine.sh([]how{through(script), place}, markVar+"="+s.mark+`; export `+markVar+`; `+brood+`exit 4`, "--grace", "200ms")
		r.out.await("far up", 1)
		must(t, os.WriteFile(s.path("go"), nil, 0o600))
		r.exits(4)
		var want []int
		for line := range strings.Lines(r.out.text()) {
			if n, ok := strings.CutPrefix(strings.TrimSpace(line), "stranger "); ok {
				pid, err := strconv.Atoi(n)
				must(t, err)
				want = append(want, pid)
			}
		}
		if len(want) != 3 {
			t.Fatalf("%d strangers: %s", len(want), r.out.text())
		}
		left := marked(mine.mark)
		for _, pid := range want {
			if !slices.ContainsFunc(left, func(p process) bool { return p.pid == pid }) {
				t.Errorf("stranger %d was ended; left are %v", pid, left)
			}
		}
		s.free()
	})
}

// A group of a killed wrapper goes with the next run, also with what it had below.
func TestLeftOverGroupsAreSwept(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	testneed.Feature(t, groupRoot() != "", "a writable cgroup of version 2", "mount one: mount -t cgroup2 none /sys/fs/cgroup")
	s := newSite(t)
	r := s.sh(nil, "echo up; exec sleep 1000")
	r.out.await("up", 1)
	made := groupsOf(r.pid())
	if len(made) != 1 {
		t.Fatalf("groups: %v", made)
	}
	must(t, os.Mkdir(made[0]+"/below", 0o755))
	child := leader(r)
	r.kill()
	gone(t, child)
	testneed.Until(t, "the next run sweeps the group", func() bool {
		newSite(t).sh(nil, "true").exits(0)
		return len(groupsOf(r.pid())) == 0
	})
}

// A run inside of a run makes its group inside of that one's.
func TestNestedRunsLeaveNoGroups(t *testing.T) {
	t.Parallel()
	s, inner := newSite(t), newSite(t)
	r := s.sh(nil, `"$SOLEHOLD" run `+inner.dir+` -- sh -c 'echo up; exec sleep 1000' & wait $!`)
	r.out.await("up", 1)
	below := 0
	for _, p := range marked(s.mark) {
		if strings.HasPrefix(p.command, tool+" run "+inner.dir) {
			below = p.pid
		}
	}
	must(t, syscall.Kill(below, syscall.SIGKILL))
	r.exits(128 + 9) // the shell's word for it; what is below was told by the kernel
	s.free()
	if left := append(groupsOf(r.pid()), groupsOf(below)...); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Another user than root, who may make no group.
func TestOtherUser(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	s := newSite(t)
	must(t, os.Chown(s.dir, 65534, 65534))
	r := s.sh([]how{asUser(65534)}, brood+"exec sleep 1000", "--grace", "200ms")
	r.out.await("up", 6)
	r.signal(syscall.SIGTERM)
	r.dies(syscall.SIGTERM)
	s.free()
}

// Five hundred children at once, most of them orphans: each is reaped, none of
// their codes is taken for the command's.
func TestStormOfChildren(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.sh(nil, `
		i=0
		while [ $i -lt 250 ]; do
			( (exit $((i % 200))) & )
			(exit $((i % 200))) & p=$!
			wait $p; [ $? = $((i % 200)) ] || echo wrong $i
			i=$((i + 1))
		done
		echo done; while [ ! -e go ]; do sleep 0.01; done; exit 42`)
	r.out.await("done", 1)
	testneed.Until(t, "no zombies", func() bool {
		children, err := procfs.Default().Children(r.pid())
		must(t, err)
		return len(children) == 1
	})
	must(t, os.WriteFile(s.path("go"), nil, 0o600))
	r.exits(42)
	if text := r.out.all(); strings.Contains(text, "wrong") {
		t.Error(text)
	}
}

// Grace 0 asks and kills at once.
func TestNoGrace(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.sh(nil, `trap "" TERM; echo up; exec sleep 1000`, "--grace", "0")
	r.out.await("up", 1)
	begin := time.Now()
	r.signal(syscall.SIGTERM)
	r.dies(syscall.SIGKILL)
	if took := time.Since(begin); took > patience/4 {
		t.Errorf("took %v", took)
	}
	r.errs.await("killing", 1)
}

package doctor_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/diagnose/doctor"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

// patience bounds every wait for something that has to happen.
const patience = 30 * time.Second

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// actVar makes this test binary an actor: it does the steps, prints a line and
// stays until its input ends.
const actVar = "SOLEHOLD_TEST_ACT"

func TestMain(m *testing.M) {
	steps, ok := os.LookupEnv(actVar)
	if !ok {
		os.Exit(m.Run())
	}
	os.Unsetenv(actVar)
	if err := act(strings.Split(steps, "\n")); err != nil {
		fmt.Println("actor:", err)
		os.Exit(1)
	}
}

// act does one step after the other. What it opens stays open.
func act(steps []string) error {
	for _, step := range steps {
		verb, arg, _ := strings.Cut(step, " ")
		if err := do(verb, arg); err != nil {
			return fmt.Errorf("%s: %w", step, err)
		}
	}
	return nil
}

func do(verb, arg string) error {
	if known, err := engineStep(verb, arg); known {
		return err
	}
	switch verb {
	case "posix", "ofd", "posix-wait", "ofd-wait", "posix-share", "lease", "flock", "flock-wait", "flock-dir":
		return lockFile(verb, arg)
	case "write", "read":
		flags := map[string]int{"write": os.O_RDWR | os.O_CREATE, "read": os.O_RDONLY}[verb]
		_, err := unix.Open(arg, flags, 0o644)
		return err
	case "map":
		return mapFile(arg)
	case "flock-map":
		return flockMapped(arg)
	case "fill":
		return fill(arg)
	case "remove":
		return os.Remove(arg)
	case "memfd":
		fd, err := unix.MemfdCreate("doctor", 0)
		if err != nil {
			return err
		}
		_, err = unix.Write(fd, make([]byte, 4<<20))
		return err
	case "acquire", "acquire-wait":
		o := &solehold.Options{}
		if verb == "acquire-wait" {
			o.Wait = solehold.WaitForever
		}
		_, err := solehold.Acquire(context.Background(), arg, o)
		return err
	case "judge":
		dead, why := doctor.DeadPidfile(context.Background(), arg, doctor.Options{Timeout: patience})
		return os.WriteFile(arg+".judged", fmt.Appendf(nil, "%v %s", dead, why), 0o600)
	case "examine":
		r := doctor.Examine(context.Background(), doctor.Options{Timeout: 4 * patience, Paths: []string{arg}})
		return json.NewEncoder(os.Stdout).Encode(r)
	case "nobody":
		return errors.Join(syscall.Setgroups(nil), syscall.Setgid(65534), syscall.Setuid(65534))
	case "chdir":
		return os.Chdir(arg)
	case "leave":
		return leave()
	case "say":
		fmt.Println("ready")
		return nil
	case "stay":
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	case "forever": // a select that is empty ends the program where nothing else in it waits for a time
		for {
			<-time.After(time.Hour)
		}
	case "headless":
		return headless()
	case "gate":
		_, err := os.Stdin.Read(make([]byte, 1))
		return err
	}
	return errors.New("no such step")
}

// headless ends the first thread, says so from another, and stays.
func headless() error {
	testneed.Headless(func() {
		fmt.Println("ready")
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	})
	return errors.New("on another thread")
}

func lockFile(verb, path string) error {
	flags := os.O_RDWR | os.O_CREATE
	if verb == "flock-dir" || verb == "lease" {
		flags = os.O_RDONLY
	}
	fd, err := unix.Open(path, flags, 0o644)
	if err != nil {
		return err
	}
	lk := &unix.Flock_t{Type: unix.F_WRLCK}
	switch verb {
	case "posix":
		return unix.FcntlFlock(uintptr(fd), unix.F_SETLK, lk)
	case "posix-share":
		lk.Type = unix.F_RDLCK
		return unix.FcntlFlock(uintptr(fd), unix.F_SETLK, lk)
	case "ofd":
		return unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, lk)
	case "posix-wait":
		return unix.FcntlFlock(uintptr(fd), unix.F_SETLKW, lk)
	case "ofd-wait":
		return unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLKW, lk)
	case "flock-wait":
		return unix.Flock(fd, unix.LOCK_EX)
	case "lease":
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_WRLCK)
		return err
	}
	return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
}

// mapFile maps a file and closes it.
func mapFile(path string) error {
	fd, err := unix.Open(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	_, err = unix.Mmap(fd, 0, int(st.Size), unix.PROT_READ, unix.MAP_SHARED)
	return err
}

// flockMapped locks a file, maps it and closes it: the mapping keeps the lock.
func flockMapped(path string) error {
	fd, err := unix.Open(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return err
	}
	_, err = unix.Mmap(fd, 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_SHARED)
	return err
}

// fill writes 3 MiB and keeps the file open.
func fill(path string) error {
	fd, err := unix.Open(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = unix.Write(fd, make([]byte, 3<<20))
	return err
}

// kept keeps what an actor has opened from the garbage collector.
var kept []any

// leave starts a process that inherits every file of this one, as a daemon does
// that a service starts carelessly, and prints its pid.
func leave() error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(exe)
	cmd.Env, cmd.Stderr = append(os.Environ(), actVar+"=forever"), os.Stderr
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		fd, err2 := strconv.Atoi(e.Name())
		if err == nil && err2 == nil && fd > 2 && strings.HasPrefix(target, "/") && !strings.HasPrefix(target, "/proc/") && !strings.HasPrefix(target, "/dev/") {
			cmd.ExtraFiles = append(cmd.ExtraFiles, os.NewFile(uintptr(fd), target))
		}
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	kept = append(kept, cmd)
	fmt.Println(cmd.Process.Pid)
	return nil
}

// actor is a process that did its steps.
type actor struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func (a *actor) pid() int { return a.cmd.Process.Pid }

// end lets it end.
func (a *actor) end() {
	a.in.Close()
	a.cmd.Wait()
}

// open lets it through its gate.
func (a *actor) open(t testing.TB) {
	t.Helper()
	_, err := a.in.Write([]byte{'\n'})
	must(t, err)
}

// starting starts an actor below a command, if one is given.
func starting(t testing.TB, below []string, steps ...string) *actor {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	line := append(slices.Clone(below), exe)
	a := &actor{cmd: exec.Command(line[0], line[1:]...)}
	a.cmd.Env = append(os.Environ(), actVar+"="+strings.Join(steps, "\n"))
	a.cmd.Stderr = os.Stderr
	in, err := a.cmd.StdinPipe()
	must(t, err)
	out, err := a.cmd.StdoutPipe()
	must(t, err)
	a.in, a.out = in, bufio.NewReader(out)
	must(t, a.cmd.Start())
	t.Cleanup(func() {
		a.cmd.Process.Signal(syscall.SIGCONT)
		a.cmd.Process.Kill()
		a.end()
	})
	return a
}

// acting returns when the actor has done its steps, and stays.
func acting(t testing.TB, steps ...string) *actor {
	t.Helper()
	return startedBelow(t, nil, steps...)
}

func startedBelow(t testing.TB, below []string, steps ...string) *actor {
	t.Helper()
	a := starting(t, below, append(steps, "say", "stay")...)
	a.ready(t)
	return a
}

func (a *actor) ready(t testing.TB) {
	t.Helper()
	line, err := a.out.ReadString('\n')
	if err != nil || line != "ready\n" {
		t.Fatalf("actor: %q, %v", line, err)
	}
}

// place makes an empty directory.
func place(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}

// examine looks at one directory, so that whatever else runs on this machine does
// not matter.
func examine(t testing.TB, paths ...string) doctor.Report {
	t.Helper()
	return doctor.Examine(t.Context(), doctor.Options{Timeout: 4 * patience, Paths: paths})
}

// find returns the findings of an id.
func find(r doctor.Report, id string) []doctor.Finding {
	return slices.DeleteFunc(slices.Clone(r.Findings), func(f doctor.Finding) bool { return f.ID != id })
}

// until examines until there is a finding of an id. In vain it says what there was.
func until(t testing.TB, id string, paths ...string) (r doctor.Report) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("the last look: %+v", r)
		}
	}()
	testneed.Until(t, id, func() bool {
		r = examine(t, paths...)
		return len(find(r, id)) > 0
	})
	return r
}

// only returns the one finding of an id and fails where there is none or more.
func only(t testing.TB, r doctor.Report, id string) doctor.Finding {
	t.Helper()
	found := find(r, id)
	if len(found) != 1 {
		t.Fatalf("%d findings %s in %+v, gaps %+v", len(found), id, r.Findings, r.Gaps)
	}
	return found[0]
}

// wantIDs checks which findings there are.
func wantIDs(t testing.TB, r doctor.Report, want ...string) {
	t.Helper()
	var got []string
	for _, f := range r.Findings {
		got = append(got, f.ID)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("findings %q, want %q: %+v", got, want, r.Findings)
	}
}

// has says whether one of the lines has all the texts.
func has(lines []string, texts ...string) bool {
	return slices.ContainsFunc(lines, func(line string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) })
	})
}

// names says whether a process is among those of a finding.
func names(all []doctor.Process, pid int) bool {
	return slices.ContainsFunc(all, func(p doctor.Process) bool { return p.PID == pid })
}

package procid_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/procid"
	"github.com/solehold/solehold/internal/testneed"
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
	case "judge":
		judgeAll()
	case "leaderless":
		leaderless()
	default:
		fmt.Fprintln(os.Stderr, "no role", role)
		os.Exit(2)
	}
}

// opinion is what another process says of an identity.
type opinion struct {
	Verdict procid.Verdict
	Opened  bool // it could have sent a signal
}

// judgeAll prints who this process is, then an opinion of each identity that it
// reads, until its input ends.
func judgeAll() {
	if os.Getpid() == 1 { // in a pid namespace of its own, with a mount namespace
		if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
			fmt.Fprintln(os.Stderr, "mount /proc:", err)
		}
	}
	o := procid.NewObserver(procfs.Default())
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	out.Encode(o.Self())
	for {
		var id procid.ID
		if in.Decode(&id) != nil {
			return
		}
		h, err := procid.Open(procfs.Default(), id)
		if err == nil {
			h.Close()
		}
		out.Encode(opinion{o.Judge(id, procid.MachineID()), err == nil})
	}
}

// leaderless ends its first thread, says so, and lives on until its input ends.
func leaderless() {
	testneed.Headless(func() {
		fmt.Println("ready")
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	})
	os.Exit(3)
}

// process is a child that lives until its input is closed.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// start starts cmd, and ends it with the test at the latest.
func start(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	cmd.Stderr = os.Stderr
	must(t, cmd.Start())
	p := &process{cmd: cmd, in: in, out: bufio.NewReader(out)}
	t.Cleanup(p.end)
	return p
}

// cat starts a child that repeats what it is told.
func cat(t *testing.T) *process {
	t.Helper()
	return start(t, exec.Command(testneed.Program(t, "cat", "install coreutils")))
}

// copyAs starts a copy of this binary in a role, by wrap's program if one is given.
func copyAs(t *testing.T, role string, attr *syscall.SysProcAttr, wrap ...string) *process {
	t.Helper()
	args := []string{"/proc/self/exe"} // which also others may run
	if len(wrap) > 0 {
		exe, err := os.Executable()
		must(t, err)
		args = append(wrap, exe)
	}
	cmd := exec.Command(args[0], args[1:]...)
	_, env := measured(t, attr)
	cmd.Env = append(env, roleVar+"="+role)
	cmd.SysProcAttr, cmd.Dir = attr, "/"
	return start(t, cmd)
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// end lets the process end and reaps it.
func (p *process) end() {
	p.in.Close()
	p.cmd.Wait()
}

// exit lets the process end, waits for that and does not reap it.
func (p *process) exit(t *testing.T) {
	t.Helper()
	p.in.Close()
	must(t, unix.Waitid(unix.P_PID, p.pid(), nil, unix.WEXITED|unix.WNOWAIT, nil))
}

// answers fails the test unless the child, a cat, still works.
func (p *process) answers(t *testing.T) {
	t.Helper()
	_, err := io.WriteString(p.in, "still here\n")
	must(t, err)
	if line, err := p.out.ReadString('\n'); line != "still here\n" {
		t.Errorf("pid %d answers %q, %v", p.pid(), line, err)
	}
}

// id is the identity of a child.
func (p *process) id(t *testing.T) procid.ID {
	t.Helper()
	id, err := procid.Of(procfs.Default(), p.pid())
	must(t, err)
	return id
}

// read reads one line of JSON that a copy of this binary printed.
func read[T any](t *testing.T, p *process) (v T) {
	t.Helper()
	line, err := p.out.ReadBytes('\n')
	must(t, err)
	must(t, json.Unmarshal(line, &v))
	return v
}

// asked has a child in the role judge say its verdict. It may open only what it
// takes for alive.
func (p *process) asked(t *testing.T, id procid.ID) procid.Verdict {
	t.Helper()
	must(t, json.NewEncoder(p.in).Encode(id))
	o := read[opinion](t, p)
	if o.Opened && o.Verdict.Life != procid.Alive && o.Verdict.Why != procid.Zombie {
		t.Errorf("%+v was opened, and is %+v", id, o.Verdict)
	}
	return o.Verdict
}

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
	cmd.SysProcAttr = attr
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("inside: %v\n%s", err, out)
	}
	return false
}

// newPIDs makes a pid namespace, and a mount namespace for its /proc.
func newPIDs() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID, Unshareflags: unix.CLONE_NEWNS}
}

// mountProc mounts the /proc of this pid namespace. Only for a mount namespace
// of the test's own: a remount would change the machine's /proc as well.
func mountProc(t *testing.T, options string) {
	t.Helper()
	must(t, unix.Mount("proc", "/proc", "proc", 0, options))
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

// want compares life and reason, and looks for words in the detail.
func want(t *testing.T, got procid.Verdict, life procid.Life, why procid.Why, words ...string) {
	t.Helper()
	if got.Life != life || got.Why != why {
		t.Errorf("got %s %s (%s), want %s %s", got.Life, got.Why, got.Detail, life, why)
	}
	for _, w := range words {
		if !strings.Contains(got.Detail, w) {
			t.Errorf("%q is not in %q", w, got.Detail)
		}
	}
}

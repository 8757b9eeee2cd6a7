//go:build !solehold_portable

package supervise_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/procfs"
	"golang.org/x/sys/unix"
)

// patience bounds each wait, so that a test that hangs says where. Nothing that
// works takes a tenth of it.
const patience = time.Minute

// site is one data directory, and everything that a test starts around it.
type site struct {
	t    *testing.T
	dir  string
	base string // beside the directory
	mark string
}

// newSite makes a data directory. All processes that were started there, and
// all that those started, end with the test.
func newSite(t *testing.T) *site {
	t.Helper()
	base := t.TempDir()
	s := &site{t: t, base: base, dir: filepath.Join(base, "data"), mark: base}
	must(t, os.Mkdir(s.dir, 0o755))
	must(t, os.Chmod(filepath.Dir(base), 0o755)) // other users work there too
	t.Cleanup(func() {
		killMarked(t, s.mark)
		s.documented()
	})
	return s
}

// documented checks that docs/protocol.md names each file that is left.
func (s *site) documented() {
	s.t.Helper()
	protocol, err := os.ReadFile("../../docs/protocol.md")
	must(s.t, err)
	left, _ := os.ReadDir(filepath.Join(s.dir, ".solehold"))
	for _, e := range left {
		name := strings.TrimRight(e.Name(), ".0123456789") // of older histories
		if name == "incidents" {
			name += "/" // a test has made it a file
		}
		if !strings.Contains(string(protocol), "**`"+name+"`**") {
			s.t.Errorf("docs/protocol.md does not name %s", name)
		}
	}
}

// beside is another site with the same directory and a mark of its own.
func (s *site) beside() *site {
	other := *s
	other.mark += "-beside"
	s.t.Cleanup(func() { killMarked(s.t, other.mark) })
	return &other
}

// path is a file beside the data directory.
func (s *site) path(name string) string { return filepath.Join(s.base, name) }

// script writes a shell script.
func (s *site) script(name, text string) string {
	s.t.Helper()
	must(s.t, os.WriteFile(s.path(name), []byte("#!/bin/sh\n"+text), 0o755))
	return s.path(name)
}

// how changes a command before it is started.
type how func(*exec.Cmd)

// withEnv adds to the environment.
func withEnv(v string) how { return func(c *exec.Cmd) { c.Env = append(c.Env, v) } }

// asUser runs as another user, who may not make cgroups either.
func asUser(uid uint32) how {
	return func(c *exec.Cmd) { c.SysProcAttr.Credential = &syscall.Credential{Uid: uid, Gid: uid} }
}

// given passes files as 3, 4 and so on.
func given(files ...*os.File) how {
	return func(c *exec.Cmd) { c.ExtraFiles = append(c.ExtraFiles, files...) }
}

// through puts a shell script before the command: it must exec "$@".
func through(script string) how {
	return func(c *exec.Cmd) {
		c.Args = append([]string{"/bin/sh", "-c", script, "sh"}, append([]string{c.Path}, c.Args[1:]...)...)
		c.Path = "/bin/sh"
	}
}

// traced puts strace before the command.
func traced(strace string, args ...string) how {
	return func(c *exec.Cmd) {
		all := append([]string{strace, "-f", "-qq"}, args...)
		c.Args = append(append(all, "--", c.Path), c.Args[1:]...)
		c.Path = strace
	}
}

// withoutCgroups runs where no cgroup of version 2 can be seen.
func withoutCgroups(c *exec.Cmd) {
	through(`for m in $(sed -n 's/^[^ ]* [^ ]* [^ ]* [^ ]* \([^ ]*\) .* - cgroup2 .*/\1/p' /proc/self/mountinfo); do umount -l "$m" || exit; done; exec "$@"`)(c)
	c.SysProcAttr.Unshareflags |= syscall.CLONE_NEWNS
}

// inPIDs runs as pid 1 of a new pid namespace that sees its own /proc.
func inPIDs(c *exec.Cmd) {
	through(`mount -t proc proc /proc && exec "$@"`)(c)
	c.SysProcAttr.Cloneflags |= syscall.CLONE_NEWPID
	c.SysProcAttr.Unshareflags |= syscall.CLONE_NEWNS
}

// running is a process that a test started, as a rule a wrapper.
type running struct {
	t         *testing.T
	cmd       *exec.Cmd
	mark      string
	out, errs *screen
	done      chan struct{}
}

// run starts `solehold run [flags] DIR -- command`; flags end with "--" where
// there are any.
func (s *site) run(hows []how, args ...string) *running {
	s.t.Helper()
	flags := []string{}
	if i := slices.Index(args, "--"); i >= 0 {
		flags, args = args[:i], args[i+1:]
	}
	return s.start(hows, tool, slices.Concat([]string{"run"}, flags, []string{s.dir, "--"}, args)...)
}

// sh starts a run of a shell script.
func (s *site) sh(hows []how, script string, flags ...string) *running {
	s.t.Helper()
	return s.run(hows, slices.Concat(flags, []string{"--", "sh", "-c", script})...)
}

func (s *site) start(hows []how, path string, args ...string) *running {
	s.t.Helper()
	self, err := os.Executable()
	must(s.t, err)
	cmd := exec.Command(path, args...)
	cmd.Dir = s.base
	cmd.Env = append(os.Environ(), partVar+"=1", markVar+"="+s.mark, selfVar+"="+self, toolVar+"="+tool, "DIR="+s.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r := &running{t: s.t, cmd: cmd, mark: s.mark, out: newScreen(s.t), errs: newScreen(s.t), done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = r.out.in, r.errs.in
	for _, h := range hows {
		h(cmd)
	}
	must(s.t, cmd.Start())
	r.out.in.Close()
	r.errs.in.Close()
	go func() {
		cmd.Wait()
		close(r.done)
	}()
	s.t.Cleanup(func() {
		cmd.Process.Kill()
		<-r.done
	})
	return r
}

func (r *running) pid() int { return r.cmd.Process.Pid }

func (r *running) signal(s syscall.Signal) {
	r.t.Helper()
	must(r.t, r.cmd.Process.Signal(s))
}

// kill kills only this process, and returns when it is gone.
func (r *running) kill() {
	r.t.Helper()
	r.signal(syscall.SIGKILL)
	r.wait()
}

// wait returns how the process ended.
func (r *running) wait() syscall.WaitStatus {
	r.t.Helper()
	select {
	case <-r.done:
	case <-time.After(patience):
		r.t.Fatalf("%v does not end\nstdout: %s\nstderr: %s\nalive: %v", r.cmd.Args, r.out.text(), r.errs.text(), marked(r.mark))
	}
	return r.cmd.ProcessState.Sys().(syscall.WaitStatus)
}

// exits checks the exit code.
func (r *running) exits(code int) {
	r.t.Helper()
	if ws := r.wait(); !ws.Exited() || ws.ExitStatus() != code {
		r.t.Fatalf("ended with %s, want exit code %d\nstderr: %s", ending(ws), code, r.errs.text())
	}
}

// dies checks for the death by a signal.
func (r *running) dies(s syscall.Signal) {
	r.t.Helper()
	if ws := r.wait(); !ws.Signaled() || ws.Signal() != s {
		r.t.Fatalf("ended with %s, want death by %s\nstderr: %s", ending(ws), unix.SignalName(s), r.errs.text())
	}
}

func ending(ws syscall.WaitStatus) string {
	if ws.Signaled() {
		return "death by " + unix.SignalName(ws.Signal())
	}
	return fmt.Sprintf("exit code %d", ws.ExitStatus())
}

// screen collects what processes print.
type screen struct {
	t    *testing.T
	in   *os.File
	mu   sync.Mutex
	got  strings.Builder
	more chan struct{} // closed and made anew with each piece
	end  bool
}

func newScreen(t *testing.T) *screen {
	t.Helper()
	from, in, err := os.Pipe()
	must(t, err)
	s := &screen{t: t, in: in, more: make(chan struct{})}
	t.Cleanup(func() { from.Close() })
	go s.read(from)
	return s
}

func (s *screen) read(from *os.File) {
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		s.mu.Lock()
		s.got.Write(buf[:n])
		s.end = err != nil
		close(s.more)
		s.more = make(chan struct{})
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (s *screen) now() (text string, end bool, more chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got.String(), s.end, s.more
}

func (s *screen) text() string {
	text, _, _ := s.now()
	return text
}

// await waits until the text is there, n times.
func (s *screen) await(what string, n int) string {
	s.t.Helper()
	return s.until(fmt.Sprintf("%d times %q", n, what), func(text string, _ bool) bool { return strings.Count(text, what) >= n })
}

// all waits until nobody can print any more.
func (s *screen) all() string {
	s.t.Helper()
	return s.until("its end", func(_ string, end bool) bool { return end })
}

func (s *screen) until(what string, done func(text string, end bool) bool) string {
	s.t.Helper()
	late := time.After(patience)
	for {
		text, end, more := s.now()
		if done(text, end) {
			return text
		}
		if end {
			s.t.Fatalf("output ended without %s: %q", what, text)
		}
		select {
		case <-more:
		case <-late:
			s.t.Fatalf("no %s in the output: %q", what, text)
		}
	}
}

// status is what the library tells of the directory.
func (s *site) status() solehold.Status {
	s.t.Helper()
	st, err := solehold.Inspect(context.Background(), s.dir, nil)
	must(s.t, err)
	return st
}

// free checks that nobody has the directory and nobody of the tree is left.
func (s *site) free() {
	s.t.Helper()
	if left := marked(s.mark); len(left) > 0 {
		s.t.Errorf("still alive: %v", left)
	}
	if st := s.status(); st.State != solehold.Free || st.Record.Class != "released" {
		s.t.Errorf("status is %s, record %s, want FREE and released", st.State, st.Record.Class)
	}
}

// history lists the kinds of events that were written down.
func (s *site) history() string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, ".solehold", "history.jsonl"))
	must(s.t, err)
	var kinds []string
	for line := range strings.Lines(string(text)) {
		var e solehold.Event
		must(s.t, json.Unmarshal([]byte(line), &e))
		kinds = append(kinds, string(e.Kind))
	}
	return strings.Join(kinds, " ")
}

// process is one that is alive.
type process struct {
	pid     int
	command string
}

func (p process) String() string { return fmt.Sprintf("pid %d (%s)", p.pid, p.command) }

// marked lists the living processes with a mark in their environment. It does
// not ask who is whose child, which is what is tested.
func marked(mark string) []process {
	proc := procfs.Default()
	pids, _ := proc.Pids()
	var found []process
	for _, pid := range pids {
		if pid == os.Getpid() || !strings.Contains("\x00"+environ(pid), "\x00"+markVar+"="+mark+"\x00") {
			continue
		}
		if st := state(pid); st != 'Z' && st != 'X' {
			found = append(found, process{pid, commandOf(pid)})
		}
	}
	return found
}

// environ is the environment of a process. One that is just becoming another
// program has none for a moment, as the dead have and the kernel's own.
func environ(pid int) string {
	for range 20 {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if len(env) > 0 || err != nil {
			return string(env)
		}
		st, err := procfs.Default().Stat(pid)
		if err != nil || st.Kernel || st.State == 'Z' || st.State == 'X' {
			return ""
		}
		unix.Poll(nil, 1)
	}
	return ""
}

// killMarked kills them until none is left.
func killMarked(t *testing.T, mark string) {
	for range 1000 {
		all := marked(mark)
		if len(all) == 0 {
			return
		}
		for _, p := range all {
			killOne(mark, p.pid)
		}
	}
	t.Errorf("cannot be killed: %v", marked(mark))
}

// killOne proves the mark behind a descriptor, kills and waits.
func killOne(mark string, pid int) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if !slices.ContainsFunc(marked(mark), func(p process) bool { return p.pid == pid }) {
		return
	}
	unix.PidfdSendSignal(fd, syscall.SIGKILL, nil, 0)
	unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 1000)
}

// gone waits until a process has ended.
func gone(t *testing.T, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(patience.Milliseconds()))
		if err == unix.EINTR {
			continue
		}
		if n != 1 {
			t.Fatalf("pid %d does not end", pid)
		}
		return
	}
}

func state(pid int) byte {
	st, err := procfs.Default().Stat(pid)
	if err != nil {
		return 'X'
	}
	return st.State
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func itoa(n int) string { return fmt.Sprint(n) }

package agent_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/cluster/clustertest"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/testneed"
)

// ttl is the time to live in these tests; the lock-delay has its least value.
const ttl = 5 * time.Second

// host is one machine: a data directory of its own, and a network that can be cut.
type host struct {
	t     *testing.T
	name  string // of the lock
	dir   string
	base  string
	proxy *clustertest.Proxy
	env   []string
	runs  int

	through []string // what a run is started through
	at      string   // the engine's address in place of the proxy
	ttl     string   // in place of ttl
	command []string // in place of work
	shared  *shared  // the agent of the host; nil is for one of its own

	fixedURL, extra string // in place of the proxy's; at the end of it
	user            *syscall.Credential
}

func newHost(t *testing.T, lock, engine string) *host {
	t.Helper()
	h := &host{t: t, name: lock, base: t.TempDir(), proxy: clustertest.NewProxy(t, engine)}
	h.dir = filepath.Join(h.base, "data")
	if err := os.Mkdir(h.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *host) url() string {
	at := h.at
	if at == "" {
		at = h.proxy.Addr()
	}
	if h.fixedURL != "" {
		return h.fixedURL
	}
	return "etcd://" + at + "/test/dir?ttl=" + cmp.Or(h.ttl, ttl.String()) + h.extra
}

// run is one `solehold run` on a host.
type run struct {
	t      *testing.T
	cmd    *exec.Cmd
	file   string
	called time.Duration
	stderr lockedBuffer
	done   chan struct{}
	shared *shared
}

// lockedBuffer is read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// start starts a run of this binary with flags; what follows -- are the words for work.
func (h *host) start(args ...string) *run {
	h.t.Helper()
	var how []string
	if i := slices.Index(args, "--"); i >= 0 {
		args, how = args[:i], args[i+1:]
	}
	h.runs++
	r := &run{t: h.t, file: filepath.Join(h.base, "work"+string(rune('0'+h.runs))), done: make(chan struct{})}
	line := append([]string{"run", "--cluster", h.url(), "--cluster-name", h.name, "--timeout", patience.String()}, args...)
	if r.shared = h.shared; h.shared != nil {
		line = append(line, "--cluster-agent", h.shared.socket)
	}
	command := h.command
	if command == nil {
		command = append([]string{os.Args[0]}, how...)
	}
	line = slices.Concat(h.through, []string{tool}, line, []string{h.dir, "--"}, command)
	r.cmd = exec.Command(line[0], line[1:]...)
	r.cmd.Env = append(append(os.Environ(), workVar+"="+r.file), h.env...)
	r.cmd.Stderr = &r.stderr
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: h.user}
	r.cmd.WaitDelay = 2 * time.Second // a command that outlives its run keeps this pipe: a fault that is planted would hang the test
	r.called = cluster.SystemClock().Now()
	if err := r.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	go func() { r.cmd.Wait(); close(r.done) }()
	h.t.Cleanup(func() {
		r.cmd.Process.Signal(syscall.SIGCONT)
		r.cmd.Process.Signal(syscall.SIGTERM)
		r.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-r.done:
		case <-time.After(patience):
			r.cmd.Process.Kill()
		}
		if b, ok := r.begun(); ok && r.isWork(b.PID) {
			syscall.Kill(b.PID, syscall.SIGKILL)
		}
	})
	return r
}

// isWork reports whether a pid is still our command.
func (r *run) isWork(pid int) bool {
	env, err := procfs.Default().Text(pid, "environ")
	return err == nil && strings.Contains(env, workVar+"="+r.file)
}

// begun is what the command found, once it has started.
func (r *run) begun() (b begun, ok bool) {
	text, err := os.ReadFile(r.file)
	if err != nil || len(text) < 9 {
		return b, false
	}
	return b, json.Unmarshal(text[8:], &b) == nil
}

// works waits until the command acts.
func (r *run) works() begun {
	r.t.Helper()
	var b begun
	testneed.Until(r.t, "the command does not start: "+r.stderr.String(), func() (ok bool) {
		b, ok = r.begun()
		select {
		case <-r.done:
			if !ok {
				r.t.Fatalf("the run ended: %s", r.stderr.String())
			}
		default:
		}
		return ok
	})
	return b
}

// acted is the time of the command's last act.
func (r *run) acted() time.Duration {
	text, err := os.ReadFile(r.file)
	if err != nil || len(text) < 8 {
		r.t.Fatal("it has never acted", err)
	}
	return time.Duration(binary.LittleEndian.Uint64(text))
}

// ended waits for the end of the run and gives its code: 128+n for signal n.
func (r *run) ended() int {
	r.t.Helper()
	select {
	case <-r.done:
	case <-time.After(patience):
		r.t.Fatalf("it does not end: %s", r.stderr.String())
	}
	if s := r.cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signaled() {
		return 128 + int(s.Signal())
	}
	return r.cmd.ProcessState.ExitCode()
}

func (r *run) signal(s syscall.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		r.t.Fatal(err)
	}
}

// agent gives the pid of the agent.
func (r *run) agent() int {
	r.t.Helper()
	if r.shared != nil {
		return r.shared.cmd.Process.Pid
	}
	children, err := procfs.Default().Children(r.cmd.Process.Pid)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, pid := range children {
		if exe, err := procfs.Default().Exe(pid); err == nil && filepath.Base(exe) == clusterProgram {
			return pid
		}
	}
	r.t.Fatal("it has no agent")
	return 0
}

// exited runs a command to its end.
func exited(t *testing.T, name string, args ...string) (code int, text string) {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.ExitCode(), string(out)
	case err != nil:
		t.Fatal(err)
	}
	return 0, string(out)
}

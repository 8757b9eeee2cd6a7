package agent_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/internal/testneed"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// shared is the agent of a host: a real process.
type shared struct {
	t      *testing.T
	socket string
	mode   os.FileMode
	cmd    *exec.Cmd
	stderr lockedBuffer
	done   chan struct{}
}

// share starts the agent of a host, and waits until it listens.
func share(t *testing.T, dir, url string, flags ...string) *shared {
	t.Helper()
	return shareAs(t, nil, dir, url, flags...)
}

// shareAs is share for another user.
func shareAs(t *testing.T, user *syscall.Credential, dir, url string, flags ...string) *shared {
	t.Helper()
	s := &shared{t: t, socket: filepath.Join(dir, "agent.sock"), mode: 0o600, done: make(chan struct{})}
	if slices.Contains(flags, "--group") {
		s.mode = 0o660 // it is its own user's alone first
	}
	s.cmd = exec.Command(filepath.Join(filepath.Dir(tool), clusterProgram), append([]string{"agent", "--listen", s.socket, "--cluster", url}, flags...)...)
	s.cmd.Stderr, s.cmd.SysProcAttr = &s.stderr, &syscall.SysProcAttr{Credential: user}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.cmd.Wait(); close(s.done) }()
	t.Cleanup(func() {
		s.cmd.Process.Kill()
		<-s.done
	})
	s.listens()
	return s
}

func (s *shared) listens() {
	s.t.Helper()
	testneed.Until(s.t, "the agent does not listen: "+s.stderr.String(), func() bool {
		select {
		case <-s.done:
			s.t.Fatalf("the agent ended: %s", s.stderr.String())
		default:
		}
		st, err := os.Lstat(s.socket)
		return err == nil && st.Mode().Perm() == s.mode
	})
}

func (s *shared) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// ended waits for its end and gives the code.
func (s *shared) ended() int {
	s.t.Helper()
	select {
	case <-s.done:
	case <-time.After(patience):
		s.t.Fatalf("the agent does not end: %s", s.stderr.String())
	}
	return s.cmd.ProcessState.ExitCode()
}

// leases counts those of an etcd.
func leases(t *testing.T, engine string) int {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{engine}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	all, err := c.Leases(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return len(all.Leases)
}

// Whatever happens to an owner whose agent is that of its host: the same as to one with an agent of its own.
func TestSharedFaults(t *testing.T) {
	t.Parallel()
	play(t, func(first *host) { first.shared = share(t, first.base, first.url()) })
}

// many starts n runs of a host at its agent, each with a directory and a lock of its own, and waits until their commands
// work.
func many(t *testing.T, n int, etcd string, s *shared, url string) []*run {
	t.Helper()
	all := make([]*run, n)
	for i := range all {
		h := newHost(t, fmt.Sprint("lock ", i), etcd)
		h.shared, h.fixedURL = s, url
		all[i] = h.start()
	}
	for _, r := range all {
		r.works()
	}
	return all
}

// A hundred runs have one lease. When their agent is killed, or frozen, every command is dead before the time to live is
// over, those that do not heed SIGTERM too.
func TestSharedByAHundred(t *testing.T) { // alone: it is work for a machine
	etcd := engine(t)
	const long = 15 * time.Second
	url := "etcd://" + etcd + "/test/dir?ttl=" + long.String()
	for _, c := range []struct {
		how string
		sig syscall.Signal
		n   int
	}{{"killed", syscall.SIGKILL, 100}, {"frozen", syscall.SIGSTOP, 20}} {
		s := share(t, t.TempDir(), url)
		runs := crowd(t, c.n, etcd, s, url)
		if n := leases(t, etcd); n != 1 {
			t.Errorf("%d leases of %d runs", n, c.n)
		}
		s.signal(c.sig)
		at := cluster.SystemClock().Now()
		testneed.Until(t, "a command lives", func() bool { return !slices.ContainsFunc(runs, (*run).sleeps) })
		last := cluster.SystemClock().Now() - at
		t.Logf("the last of %d commands was dead %v after the agent was %s, with a ttl of %v", c.n, last, c.how, long)
		if last >= long {
			t.Error("a command worked on without a lock")
		}
		s.cmd.Process.Kill()
		for _, r := range runs {
			if code := r.ended(); code != lost {
				t.Errorf("code %d: %s", code, r.stderr.String())
			}
		}
		testneed.Until(t, "the lease does not run out", func() bool { return leases(t, etcd) == 0 })
	}
}

// crowd starts n runs whose commands do nothing, ten at a time; every tenth does not heed SIGTERM.
func crowd(t *testing.T, n int, etcd string, s *shared, url string) []*run {
	t.Helper()
	var all []*run
	for i := range n {
		h := newHost(t, fmt.Sprint("lock ", i), etcd)
		h.shared, h.fixedURL = s, url
		trap := ""
		if i%10 == 0 {
			trap = `trap "" TERM; `
		}
		h.command = []string{"sh", "-c", trap + `echo $$ >"$0"; exec sleep 1000`, h.base + "/started"}
		all = append(all, h.start())
		if i%10 < 9 && i < n-1 {
			continue
		}
		for _, r := range all[i/10*10:] {
			testneed.Until(t, "the command does not start", func() bool {
				select {
				case <-r.done:
					t.Fatalf("the run ended: %s", r.stderr.String())
				default:
				}
				return r.sleeps()
			})
		}
	}
	return all
}

// sleeps reports whether the command of one in a crowd lives.
func (r *run) sleeps() bool {
	text, err := os.ReadFile(filepath.Join(filepath.Dir(r.file), "started"))
	pid := number(string(text))
	return err == nil && pid > 0 && r.isWork(int(pid))
}

// One run after another is given back, killed or loses its own claim; the others go on, and the lease ends with the last.
func TestSharedRunsAreApart(t *testing.T) {
	t.Parallel()
	etcd := engine(t)
	url := "etcd://" + etcd + "/test/dir?ttl=" + ttl.String()
	s := share(t, t.TempDir(), url)
	runs := many(t, 4, etcd, s, url)
	runs[0].signal(syscall.SIGTERM)
	if code := runs[0].ended(); code != 128+int(syscall.SIGTERM) {
		t.Errorf("code %d: %s", code, runs[0].stderr.String())
	}
	runs[1].signal(syscall.SIGKILL)
	runs[1].ended()
	if code, text := exited(t, tool, "cluster", "break", "--cluster", url, "lock 2", "--token", fmt.Sprint(runs[2].works().Token), "--reason", "test"); code != 0 {
		t.Fatalf("code %d: %s", code, text)
	}
	if code := runs[2].ended(); code != lost {
		t.Errorf("code %d: %s", code, runs[2].stderr.String())
	}
	for i := range 3 { // each lock is free again, and its directory
		h := newHost(t, fmt.Sprint("lock ", i), etcd)
		h.fixedURL = url
		again := h.start("--wait", "forever")
		again.works()
		again.signal(syscall.SIGTERM)
		again.ended()
	}
	from := runs[3].acted()
	testneed.Until(t, "the last one does not work", func() bool { return runs[3].acted() > from })
	runs[3].signal(syscall.SIGTERM)
	runs[3].ended()
	testneed.Until(t, "the lease is not given back", func() bool { return leases(t, etcd) == 0 })
}

// Asked to end the agent serves what it has and nobody else, asked again it stops that; a successor may listen meanwhile.
func TestSharedAgentDrains(t *testing.T) {
	t.Parallel()
	etcd := engine(t)
	h := newHost(t, "x", etcd)
	h.shared = share(t, h.base, h.url())
	first := h.shared
	a := h.start()
	b := a.works()
	first.signal(syscall.SIGTERM)
	testneed.Until(t, "the socket is still there", func() bool { _, err := os.Lstat(first.socket); return err != nil })
	other := newHost(t, "y", etcd)
	other.shared = first
	if r := other.start(); r.ended() != 74 || r.started() || !strings.Contains(r.stderr.String(), "solehold-cluster agent --listen") {
		t.Errorf("a new run: %s", r.stderr.String())
	}
	successor := share(t, h.base, h.url())
	other.shared = successor
	other.proxy = h.proxy
	r := other.start()
	r.works()
	from := max(a.acted(), b.Owned)
	testneed.Until(t, "the command has stopped", func() bool { return a.acted() > from+ttl+ttl/2 })
	first.signal(syscall.SIGTERM)
	if code := a.ended(); code != lost || !strings.Contains(a.stderr.String(), "is being stopped") {
		t.Errorf("code %d: %s", code, a.stderr.String())
	}
	if code := first.ended(); code != 0 {
		t.Errorf("code %d: %s", code, first.stderr.String())
	}
	r.signal(syscall.SIGTERM)
	r.ended()
	successor.signal(syscall.SIGTERM)
	if code := successor.ended(); code != 0 {
		t.Errorf("code %d: %s", code, successor.stderr.String())
	}
}

// A second agent is refused where one listens; a socket that a killed one has left is taken over, another file never.
func TestSharedSocket(t *testing.T) {
	t.Parallel()
	dir, url := t.TempDir(), "etcd://127.0.0.1:1/p"
	s := share(t, dir, url)
	if st, err := os.Lstat(s.socket); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
	program := filepath.Join(filepath.Dir(tool), clusterProgram)
	refused := func(code int, says string, args ...string) {
		t.Helper()
		if got, text := exited(t, "timeout", append([]string{"60", program, "agent"}, args...)...); got != code || !strings.Contains(text, says) {
			t.Errorf("%q: code %d: %s", args, got, text)
		}
	}
	refused(74, "listens there already", "--listen", s.socket, "--cluster", url)
	s.signal(syscall.SIGKILL)
	<-s.done
	share(t, dir, url)
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(74, "no socket", "--listen", file, "--cluster", url)
	refused(64, "which engines", "--listen", file)
	refused(64, "--listen PATH", "--cluster", url)
	refused(64, "no arguments", "--listen", file, "--cluster", url, "more")
	refused(64, "there is no engine", "--listen", file+".sock", "--cluster", "paper://h/p")
	refused(64, "--group", "--listen", file+".sock", "--cluster", url, "--group", "no such group")
	if text, err := os.ReadFile(file); err != nil || string(text) != "precious" {
		t.Errorf("%q, %v", text, err)
	}
}

// The password is the agent's: a run needs none, gets none, and cannot have it sent elsewhere.
func TestSharedSecrets(t *testing.T) {
	t.Parallel()
	etcd := engine(t)
	h := newHost(t, "x", etcd)
	secret := filepath.Join(h.base, "password")
	if err := os.WriteFile(secret, []byte("hunter2"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.shared = share(t, h.base, h.url()+"&password-file="+secret)
	a := h.start()
	a.works()
	a.signal(syscall.SIGTERM)
	a.ended()
	evil := newHost(t, "x", etcd) // somebody else's engine
	evil.shared = h.shared
	for _, extra := range []string{"", "&password-file=" + secret, "&user=root"} {
		evil.extra = extra
		if r := evil.start(); r.ended() != 64 || r.started() || strings.Contains(r.stderr.String(), "hunter2") {
			t.Errorf("%q: %s", extra, r.stderr.String())
		}
	}
}

// A directory that another run of this host has taken since an owner died is that run's: the agent of the dead one, which
// comes late, touches nothing there.
func TestSuccessorOnTheSameHostLives(t *testing.T) {
	t.Parallel()
	for name, isShared := range map[string]bool{"own": false, "shared": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, "x", engine(t))
			if isShared {
				h.shared = share(t, h.base, h.url())
			}
			a := h.start()
			b := a.works()
			late := a.agent()
			kill(t, late, syscall.SIGSTOP)
			t.Cleanup(func() { syscall.Kill(late, syscall.SIGCONT) })
			a.signal(syscall.SIGKILL)
			a.ended()
			testneed.Until(t, "the command lives", func() bool { return !a.isWork(b.PID) })
			h.shared = nil
			next := h.start("--wait", "forever")
			testneed.Until(t, "it has not got the directory", func() bool { // the kernel wakes an own one whose parent has died
				return next.started() || strings.Contains(next.stderr.String(), "waiting: lock")
			})
			kill(t, late, syscall.SIGCONT)
			next.works()
			next.signal(syscall.SIGTERM)
			if code := next.ended(); code != 128+int(syscall.SIGTERM) {
				t.Errorf("code %d: %s", code, next.stderr.String())
			}
		})
	}
}

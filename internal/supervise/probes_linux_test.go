//go:build !solehold_portable

package supervise_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/testneed"
)

// asked starts a service that does nothing and a probe that does a lot: every
// second, for at most one, and its failures are only reported.
func (s *site) asked(script string, more ...string) *running {
	s.t.Helper()
	flags := append([]string{
		"--health-exec", s.script("probe", script), "--health-period", "1s", "--health-timeout", "300ms", "--health-failure-threshold", "1", "--on-unhealthy", "report",
	}, more...)
	return s.run(nil, append(flags, "--", "sleep", "1000")...)
}

// childrenOf lists those of a process, dead or alive.
func childrenOf(t *testing.T, pid int) []int {
	t.Helper()
	all, err := procfs.Default().Children(pid)
	must(t, err)
	return all
}

// Whatever a probe's command does, it is gone when its time is, and nothing of it
// is taken for the service.
func TestProbesLeaveNothing(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"hangs":       `trap "" TERM; sleep 2001 & sleep 2002`,
		"forks away":  `sleep 2003 & (sleep 2004 &) ; exit 0`,
		"new session": `setsid -f sleep 2005; setsid -f sh -c 'setsid -f sleep 2006; exec sleep 2007'; exit 0`,
		"floods":      `exec yes`,
		"many":        `i=0; while [ $i -lt 50 ]; do sleep 2008 & i=$((i+1)); done; exit 1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			r := s.asked(script)
			v := &served{site: s, running: r}
			leader(r)
			v.rounds(3)

			testneed.Until(t, "only the service is left, between two questions", func() bool {
				all := childrenOf(t, r.pid())
				left := 0
				for _, p := range marked(s.mark) {
					if strings.Contains(p.command, "sleep 20") || strings.HasPrefix(p.command, "yes") {
						left++
					}
				}
				return len(all) == 1 && left == 0
			})
			if own := field(t, "/proc/"+itoa(r.pid())+"/smaps_rollup", "Anonymous:"); own > 12<<10 {
				t.Errorf("%d KiB of its own", own)
			}
			if n := len(s.of(journal.ChildStarted)); n != 1 {
				t.Errorf("%d lives", n)
			}
			r.signal(syscall.SIGTERM)
			r.wait()
			if end := s.await(journal.ChildExited, 1); strings.Contains(end.Detail, "left behind") {
				t.Errorf("taken for the service's: %s", end.Detail)
			}
			s.free()
		})
	}
}

// A probe that cannot be run says nothing about the service, and is said.
func TestProbeThatCannotRun(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.asked("exit 0", "--on-unhealthy", "restart", "--min-failing", "0s")
	s.await(journal.Ready, 1)
	must(t, os.WriteFile(s.path("probe.new"), []byte("#!/nowhere/sh\n"), 0o755))
	must(t, os.Rename(s.path("probe.new"), s.path("probe")))
	r.errs.await("cannot tell whether it is well", 1)
	v := &served{site: s, running: r}
	v.rounds(3)
	if strings.Count(r.errs.text(), "cannot tell") != 1 || strings.Count(s.history(), "child-started") != 1 || strings.Contains(s.history(), "incident") {
		t.Errorf("stderr: %s\nhistory: %s", r.errs.text(), s.history())
	}
	r.signal(syscall.SIGTERM)
	r.wait()
}

// What is wrong with a probe from the start is the user's to mend: nothing is started.
func TestWrongProbesAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	must(t, os.WriteFile(s.path("plain"), nil, 0o644))
	for _, flags := range [][]string{
		{"--health-exec", "no-such-program-here"},
		{"--health-exec", s.path("plain")},
		{"--health-exec", ""},
		{"--health-http", "127.0.0.1:80/x"},
		{"--health-http", "ftp://127.0.0.1/"},
		{"--health-tcp", "127.0.0.1"},
		{"--health-tcp", "127.0.0.1:99999"},
		{"--health-period", "1s"},
		{"--health-tcp", "127.0.0.1:1", "--health-unix", "/x"},
		{"--health-tcp", "127.0.0.1:1", "--health-period", "10ms"},
		{"--health-tcp", "127.0.0.1:1", "--health-failure-threshold", "0"},
		{"--health-http", "http://127.0.0.1/", "--health-http-status", "900"},
		{"--startup-exec", "no-such-program-here"},
	} {
		r := s.run(nil, append(flags, "--", "touch", s.path("started"))...)
		r.exits(64)
		if lines := strings.Count(strings.TrimSpace(r.errs.all()), "\n"); lines > 3 {
			t.Errorf("%q: %s", flags, r.errs.text())
		}
	}
	if _, err := os.Stat(s.path("started")); err == nil {
		t.Error("something was started")
	}
	if _, err := os.Stat(filepath.Join(s.dir, ".solehold")); err == nil {
		t.Error("something was taken")
	}
}

// A server that takes connections and never answers costs one descriptor at a time.
func TestHangingServerCostsOneDescriptor(t *testing.T) {
	t.Parallel()
	v := newSite(t).serve(nil, "--on-unhealthy", "report", "--health-timeout", "900ms")
	v.healthy(1)
	v.rounds(1)
	count := func() int {
		fds, err := os.ReadDir("/proc/" + itoa(v.pid()) + "/fd")
		must(t, err)
		return len(fds)
	}
	before := count()
	v.is("hang")
	v.await(journal.Incident, 1)
	v.rounds(4)
	if now := count(); now > before+2 {
		t.Errorf("%d descriptors, %d before", now, before)
	}
	v.signal(syscall.SIGTERM)
	v.wait()
}

// lasting listens on a port that stays free when it is closed: the kernel gives
// none of these to connections and to those who ask for any.
func lasting(t *testing.T) net.Listener {
	t.Helper()
	for range 100 {
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(10000))); err == nil {
			return l
		}
	}
	t.Fatal("no free port")
	return nil
}

// What another process answers on the service's port neither keeps the service
// alive nor kills it; its own answers do.
func TestStrangerOnThePort(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"200 OK", "500 Internal Server Error"} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			l := lasting(t)
			defer l.Close()
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					io.WriteString(c, "HTTP/1.1 "+answer+"\r\nContent-Length: 0\r\n\r\n")
					c.Close()
				}
			}()
			flags := []string{"--health-http", "http://" + l.Addr().String() + "/", "--health-period", "1s", "--health-failure-threshold", "3", "--min-failing", "0s", "--restart-delay", "0s", "--grace", "1s"}
			script := `until [ -e go ]; do sleep 0.02; done; exec "$0" serve mode "$1"`
			r := s.run(nil, append(flags, "--", "sh", "-c", script, self(t), l.Addr().String())...)
			v := &served{site: s, running: r, mode: s.path("mode")}
			text := r.errs.await("which does not belong to the service, listens at", 1)
			if !strings.Contains(text, "pid "+itoa(os.Getpid())+" (") {
				t.Errorf("the stranger is not named: %s", text)
			}
			v.rounds(3)
			if h := s.history(); strings.Contains(h, "ready") || strings.Contains(h, "incident") {
				t.Errorf("the stranger's answer counted: %s", h)
			}
			l.Close()
			must(t, os.WriteFile(s.path("go"), nil, 0o600))
			s.await(journal.Ready, 1)
			v.is("fail")
			s.await(journal.Forced, 1)
			v.is("ok")
			s.await(journal.Ready, 2)
			r.signal(syscall.SIGTERM)
			r.wait()
			for _, fault := range wrong(s.events()) {
				t.Error(fault)
			}
			s.free()
		})
	}
}

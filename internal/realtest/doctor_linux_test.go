package realtest_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/testneed"
)

// advice is what `solehold doctor --json` says.
type advice struct {
	Findings []struct {
		ID, Severity, Path, Title string
		Evidence                  []string
		Holders                   []struct{ PID int }
	}
	Paths []struct{ Kind, State, Lock string }
}

// doctor asks about a directory.
func doctor(t *testing.T, dir string) (a advice) {
	t.Helper()
	out, err := exec.Command(tool, "doctor", "--timeout", "30s", "--json", dir).Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &a); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return a
}

// healthy checks that doctor recognises the data of a server that runs as it
// should, and finds nothing wrong with it.
func (s *server) healthy() {
	s.t.Helper()
	a := doctor(s.t, s.dir)
	if len(a.Findings) > 0 {
		s.t.Errorf("doctor: %+v", a.Findings)
	}
	if len(a.Paths) != 1 || !strings.HasPrefix(a.Paths[0].Kind, s.engine+" data directory") {
		s.t.Errorf("doctor: %+v", a.Paths)
	}
}

// bare starts a server without solehold, in a session of its own as another
// supervisor would.
func (s *server) bare(port int) *exec.Cmd {
	s.t.Helper()
	cmd := exec.Command("setsid", s.command(port)...)
	cmd.Dir, cmd.Env = s.base, append(os.Environ(), markVar+"="+s.base)
	must(s.t, cmd.Start())
	s.started[cmd.Process.Pid] = true
	s.t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !s.answers(port); <-tick.C {
		if time.Now().After(end) {
			s.t.Fatal("it does not answer")
		}
	}
	return cmd
}

// wantTwo checks that two servers on one directory are told as that.
func (s *server) wantTwo(a, b *exec.Cmd) {
	s.t.Helper()
	found := doctor(s.t, s.dir)
	for _, f := range found.Findings {
		if f.ID != "SH030" {
			continue
		}
		seen := map[int]bool{}
		for _, p := range f.Holders {
			seen[p.PID] = true
		}
		if seen[a.Process.Pid] && seen[b.Process.Pid] && f.Severity == "danger" {
			return
		}
	}
	s.t.Errorf("pids %d and %d: %+v", a.Process.Pid, b.Process.Pid, found)
}

// Redis has no lock of its own: two write to one directory without a word.
func TestDoctorTwoRedis(t *testing.T) {
	t.Parallel()
	redis := testneed.Program(t, "redis-server", "apt-get install redis-server")
	s := newServer(t)
	s.command = func(port int) []string {
		return []string{redis, "--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", s.dir, "--appendonly", "yes"}
	}
	s.answers = func(port int) bool { return asks(port, "PING\r\n", "+PONG") }
	a := s.bare(freePort(t))
	if found := doctor(t, s.dir); len(found.Findings) > 0 {
		t.Errorf("%+v", found.Findings)
	}
	s.wantTwo(a, s.bare(freePort(t)))
}

// Prometheus has a lock, which is often switched off.
func TestDoctorTwoPrometheus(t *testing.T) {
	t.Parallel()
	prometheus := testneed.Program(t, "prometheus", "apt-get install prometheus")
	s := newServer(t)
	config := filepath.Join(s.base, "prometheus.yml")
	must(t, os.WriteFile(config, []byte("global: {scrape_interval: 1s}\n"), 0o644))
	// Debian's does not lock unless it is told to.
	on, off := []string(nil), []string{"--storage.tsdb.no-lockfile"}
	if help, err := exec.Command(prometheus, "--help").CombinedOutput(); err == nil && strings.Contains(string(help), "--storage.tsdb.use-lockfile") {
		on, off = []string{"--storage.tsdb.use-lockfile"}, nil
	}
	flags := on
	s.command = func(port int) []string {
		return append([]string{prometheus, "--config.file=" + config, "--storage.tsdb.path=" + s.dir, "--web.listen-address=127.0.0.1:" + strconv.Itoa(port)}, flags...)
	}
	s.answers = func(port int) bool { return asks(port, "GET /-/ready HTTP/1.0\r\n\r\n", "HTTP/1.0 200") }
	a := s.bare(freePort(t))
	if found := doctor(t, s.dir); len(found.Findings) > 0 || found.Paths[0].Lock != "FLOCK" || found.Paths[0].State != "held by Prometheus's own lock" {
		t.Errorf("%+v", found)
	}
	flags = off
	s.wantTwo(a, s.bare(freePort(t)))
}

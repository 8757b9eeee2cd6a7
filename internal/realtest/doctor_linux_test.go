package realtest_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/testneed"
)

// advice is what `solehold doctor --json` says.
type advice struct {
	Findings []finding
	Paths    []struct {
		Kind, State, Lock string
		Holders           []struct{ PID int }
	}
}

type finding struct {
	ID, Severity, Path, Title string
	Evidence                  []string
	Holders                   []struct{ PID int }
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
	args := s.command(port)
	if s.as != nil {
		args = append([]string{"setpriv"}, s.asUser(args)...)
	}
	cmd := exec.Command("setsid", args...)
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
	a := s.bare(testneed.Port(t))
	if found := doctor(t, s.dir); len(found.Findings) > 0 {
		t.Errorf("%+v", found.Findings)
	}
	s.wantTwo(a, s.bare(testneed.Port(t)))
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
	a := s.bare(testneed.Port(t))
	if found := doctor(t, s.dir); len(found.Findings) > 0 || found.Paths[0].Lock != "FLOCK" || found.Paths[0].State != "held by Prometheus's own lock" {
		t.Errorf("%+v", found)
	}
	flags = off
	s.wantTwo(a, s.bare(testneed.Port(t)))
}

// PostgreSQL goes by its pid file. While that is there a second server is refused
// by PostgreSQL itself; where somebody has removed it by hand, doctor tells what
// could start beside the first; and after a crash, that it names nobody.
func TestDoctorPostmaster(t *testing.T) {
	t.Parallel()
	testneed.Program(t, "setpriv", "apt-get install util-linux")
	s := newPostgreSQL(t)
	a := s.bare(testneed.Port(t))
	s.healthy()
	second := exec.Command("setpriv", s.asUser(s.command(testneed.Port(t)))...)
	second.Dir = s.base
	if out, err := second.CombinedOutput(); err == nil || !strings.Contains(string(out), "postmaster.pid") {
		t.Errorf("a second server: %v, %s", err, out)
	}
	s.healthy()

	pidfile := filepath.Join(s.dir, "postmaster.pid")
	text, err := os.ReadFile(pidfile)
	must(t, err)
	must(t, os.WriteFile(pidfile, []byte("4999999\n"), 0o600))
	if found := doctor(t, s.dir).of("SH032"); found == nil || found.Severity != "danger" {
		t.Errorf("a pid file that names nobody: %+v", found)
	}
	must(t, os.WriteFile(pidfile, text, 0o600))
	s.healthy()

	must(t, a.Process.Kill())
	a.Wait()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); ; <-tick.C {
		found := doctor(t, s.dir).of("SH040")
		if found != nil && strings.Contains(found.Title, "gone") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("a left-over pid file: %+v", found)
		}
	}
}

// A sqlite3 whose parent is gone holds its own lock: it is the holder, and nothing
// was left behind.
func TestDoctorSQLiteChild(t *testing.T) {
	t.Parallel()
	sqlite := testneed.Program(t, "sqlite3", "apt-get install sqlite3")
	dir := t.TempDir()
	input, db := filepath.Join(dir, "input"), filepath.Join(dir, "kb.sqlite")
	must(t, syscall.Mkfifo(input, 0o600))
	in, err := os.OpenFile(input, os.O_RDWR, 0)
	must(t, err)
	defer in.Close()
	out, err := exec.Command("sh", "-c", `"$1" "$2" <"$3" >/dev/null 2>&1 & echo $!`, "sh", sqlite, db, input).Output()
	must(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	must(t, err)
	t.Cleanup(func() { syscall.Kill(pid, syscall.SIGKILL) })
	_, err = in.WriteString("CREATE TABLE t(x); BEGIN EXCLUSIVE; INSERT INTO t VALUES(1);\n")
	must(t, err)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); ; <-tick.C {
		a := doctor(t, db)
		if len(a.Paths) == 1 && a.Paths[0].State == "held" {
			if a.Paths[0].Lock != "POSIX" || a.Paths[0].Kind != "SQLite file" || len(a.Paths[0].Holders) != 1 || a.Paths[0].Holders[0].PID != pid || len(a.Findings) != 0 {
				t.Errorf("%+v", a)
			}
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%+v", a)
		}
	}
}

// of returns the first finding of an id.
func (a advice) of(id string) *finding {
	for i := range a.Findings {
		if a.Findings[i].ID == id {
			return &a.Findings[i]
		}
	}
	return nil
}

// asUser are the arguments of setpriv for the server's user.
func (s *server) asUser(command []string) []string {
	if s.as == nil {
		return command
	}
	uid, gid := strconv.FormatUint(uint64(s.as.Uid), 10), strconv.FormatUint(uint64(s.as.Gid), 10)
	return append([]string{"--reuid", uid, "--regid", gid, "--clear-groups"}, command...)
}

package realtest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

const (
	markVar = "SOLEHOLD_REAL_MARK" // inherited by everything that a test starts: how it is found again
	// patience bounds each wait. A server starts in a second.
	patience = 60 * time.Second
)

// tool is the path of the solehold binary.
var tool string

func TestMain(m *testing.M) {
	if part := parts()[filepath.Base(os.Args[0])]; part != nil {
		part(os.Args[1:])
		return
	}
	os.Exit(withTool(m.Run))
}

func withTool(run func() int) int {
	dir, err := os.MkdirTemp("", "realtest")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	os.Chmod(dir, 0o755) // other users run it too
	tool = filepath.Join(dir, "solehold")
	build := exec.Command("go", "build", "-trimpath", "-o", tool, "../../cmd/solehold")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%s%v\n", out, err)
		return 1
	}
	if err := copyParts(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// Wrappers that a test has killed leave their cgroups to the next run.
	defer exec.Command(tool, "run", dir, "--", "true").Run()
	return run()
}

// server is a program with a data directory, and how to tell that it serves.
type server struct {
	t       *testing.T
	base    string
	dir     string
	flags   []string // of run
	as      *syscall.Credential
	command func(port int) []string
	answers func(port int) bool
	code    int // its exit code when TERM ended it
	started map[int]bool
	engine  string // what doctor calls it
}

// newServer makes an empty data directory.
func newServer(t *testing.T) *server {
	t.Helper()
	base := t.TempDir()
	must(t, os.Chmod(filepath.Dir(base), 0o755)) // the server may be another user
	s := &server{t: t, base: base, dir: filepath.Join(base, "data"), started: map[int]bool{}}
	must(t, os.Mkdir(s.dir, 0o700))
	t.Cleanup(s.crash)
	return s
}

// started is one `solehold run`.
type started struct {
	cmd         *exec.Cmd
	port        int
	out         bytes.Buffer
	errs        bytes.Buffer
	done        chan struct{}
	begin, left time.Time
}

// start starts a run on a free port when gate is closed, nil for at once.
func (s *server) start(gate *os.File) *started {
	s.t.Helper()
	r := &started{port: testneed.Port(s.t), done: make(chan struct{})}
	r.cmd = exec.Command("sh", "-c", `read wait; exec "$@" </dev/null`, "sh", tool, "run")
	r.cmd.Args = append(r.cmd.Args, s.flags...)
	r.cmd.Args = append(append(r.cmd.Args, s.dir, "--"), s.command(r.port)...)
	r.cmd.Dir, r.cmd.Env = s.base, append(os.Environ(), markVar+"="+s.base)
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: s.as}
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.errs
	r.cmd.WaitDelay = patience
	if gate != nil {
		r.cmd.Stdin = gate
	}
	r.begin = time.Now()
	must(s.t, r.cmd.Start())
	s.started[r.cmd.Process.Pid] = true
	go func() {
		r.cmd.Wait()
		r.left = time.Now()
		close(r.done)
	}()
	s.t.Cleanup(func() {
		r.cmd.Process.Kill()
		<-r.done
	})
	return r
}

// race starts two runs at the same instant and returns the one that serves and
// the one that was refused.
func (s *server) race() (winner, loser *started) {
	s.t.Helper()
	gate, open, err := os.Pipe()
	must(s.t, err)
	a, b := s.start(gate), s.start(gate)
	must(s.t, gate.Close())
	must(s.t, open.Close()) // both read the end of it now
	select {
	case <-a.done:
		return b, a
	case <-b.done:
		return a, b
	case <-time.After(patience):
		s.t.Fatalf("none of the two was refused\n%s\n%s", &a.errs, &b.errs)
		return nil, nil
	}
}

// serves waits until it answers, and says how long that took.
func (s *server) serves(r *started) time.Duration {
	s.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for !s.answers(r.port) {
		select {
		case <-tick.C:
		case <-r.done:
			s.t.Fatalf("ended: %v\n%s%s", r.cmd.ProcessState, &r.out, &r.errs)
		case <-late:
			s.t.Fatalf("does not answer\n%s%s", &r.out, &r.errs)
		}
	}
	return time.Since(r.begin)
}

// ended waits for the end and returns the exit code.
func (s *server) ended(r *started) int {
	s.t.Helper()
	select {
	case <-r.done:
	case <-time.After(patience):
		s.t.Fatal("does not end")
	}
	return r.cmd.ProcessState.ExitCode()
}

// crash kills everything that was started here, all at once, and lets nothing of
// it remain, as pid 1 would: PostgreSQL takes a dead process that nobody has
// reaped for a live one.
func (s *server) crash() {
	for range 100 {
		all := s.alive()
		if len(all) == 0 {
			return
		}
		for _, p := range all {
			p.Kill()
		}
		for _, p := range all {
			s.reap(p)
		}
	}
	s.t.Errorf("%d processes cannot be killed", len(s.alive()))
}

// reap waits for a killed process. Those that were started here are waited for
// already; of the others this process is the parent when theirs has died.
func (s *server) reap(p *os.Process) {
	if s.started[p.Pid] {
		return
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range patience.Milliseconds() {
		syscall.Wait4(p.Pid, nil, syscall.WNOHANG, nil)
		if p.Signal(syscall.Signal(0)) != nil {
			return
		}
		<-tick.C
	}
	s.t.Errorf("pid %d does not go", p.Pid)
}

// alive finds the living processes by their environment. A pid means the same
// process until it was killed: each is held by a descriptor while it is looked at.
func (s *server) alive() (found []*os.Process) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		p, err := os.FindProcess(pid)
		if err != nil {
			continue
		}
		if env, err := os.ReadFile("/proc/" + e.Name() + "/environ"); err == nil && strings.Contains(string(env), markVar+"="+s.base+"\x00") {
			found = append(found, p)
		} else {
			p.Release()
		}
	}
	return found
}

// report is what `solehold status --json` says.
type report struct {
	State string
	Token uint64
	Owner struct {
		Command []string
		Proven  bool
	}
}

func (s *server) status() (r report) {
	s.t.Helper()
	out, _ := exec.Command(tool, slices.Concat([]string{"status", "--json"}, s.place(), []string{s.dir})...).Output()
	must(s.t, json.Unmarshal(out, &r))
	return r
}

// place is the flag that says where our files are.
func (s *server) place() []string {
	if i := slices.Index(s.flags, "--state"); i >= 0 {
		return s.flags[i : i+2]
	}
	return nil
}

// history lists the kinds of events and the token of the last.
func (s *server) history() (kinds []string) {
	s.t.Helper()
	out, err := exec.Command(tool, slices.Concat([]string{"history", "--json"}, s.place(), []string{s.dir})...).Output()
	must(s.t, err)
	for line := range strings.Lines(string(out)) {
		var e struct{ Kind string }
		must(s.t, json.Unmarshal([]byte(line), &e))
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

// life is the test that every server has to pass.
func (s *server) life() {
	t := s.t
	t.Helper()
	winner, loser := s.race()
	if code := loser.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the second start ends with %d\n%s", code, &loser.errs)
	}
	if text := loser.errs.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "already has its owner") || loser.out.Len() > 0 {
		t.Errorf("the second start says %q and prints %q, want one line", text, &loser.out)
	}
	first := s.serves(winner)
	if s.answers(loser.port) {
		t.Error("both serve")
	}
	before := s.status()
	if before.State != "HELD" || !before.Owner.Proven {
		t.Errorf("status: %+v", before)
	}

	s.crash()
	s.ended(winner)
	again := s.start(nil)
	third := s.serves(again)
	after := s.status()
	if after.State != "HELD" || after.Token != before.Token+1 {
		t.Errorf("status after the crash: %+v, before it: %+v", after, before)
	}
	s.healthy()

	must(t, again.cmd.Process.Signal(syscall.SIGTERM))
	asked := time.Now()
	if code := s.ended(again); code != s.code {
		t.Errorf("ended with %v, want exit code %d\n%s%s", again.cmd.ProcessState, s.code, &again.out, &again.errs)
	}
	if left := s.alive(); len(left) > 0 {
		t.Errorf("%d processes are left", len(left))
	}
	if st := s.status(); st.State != "FREE" {
		t.Errorf("status at the end: %+v", st)
	}
	s.complete()
	t.Logf("first start serves after %v, after kill -9 of everything after %v, stops in %v", ms(first), ms(third), ms(again.left.Sub(asked)))
}

// complete checks that the history tells the whole story.
func (s *server) complete() {
	s.t.Helper()
	kinds := s.history()
	if i := slices.Index(kinds, "refused"); i < 0 {
		s.t.Errorf("history: %v", kinds)
	} else {
		kinds = slices.Delete(kinds, i, i+1) // before or after the child's start
	}
	want := []string{"acquired", "child-started", "vanished", "acquired", "child-started", "child-exited", "released"}
	if !slices.Equal(kinds, want) {
		s.t.Errorf("history: %v, want %v", kinds, want)
	}
}

func ms(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

func TestRedis(t *testing.T) {
	t.Parallel()
	redis := testneed.Program(t, "redis-server", "apt-get install redis-server")
	s := newServer(t)
	s.engine = "Redis"
	s.command = func(port int) []string {
		return []string{redis, "--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", s.dir, "--appendonly", "yes"}
	}
	s.answers = func(port int) bool { return asks(port, "PING\r\n", "+PONG") }
	s.life()
}

func TestPrometheus(t *testing.T) {
	t.Parallel()
	prometheus := testneed.Program(t, "prometheus", "apt-get install prometheus")
	s := newServer(t)
	s.engine = "Prometheus"
	config := filepath.Join(s.base, "prometheus.yml")
	must(t, os.WriteFile(config, []byte("global: {scrape_interval: 1s}\n"), 0o644))
	s.command = func(port int) []string {
		return []string{prometheus, "--config.file=" + config, "--storage.tsdb.path=" + s.dir, fmt.Sprintf("--web.listen-address=127.0.0.1:%d", port)}
	}
	s.answers = func(port int) bool {
		r, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/-/ready", port))
		if err != nil {
			return false
		}
		defer r.Body.Close()
		return r.StatusCode == http.StatusOK
	}
	s.life()
}

// PostgreSQL's initdb insists on an empty directory, so our files lie elsewhere.
func TestPostgreSQL(t *testing.T) {
	t.Parallel()
	newPostgreSQL(t).life()
}

// newPostgreSQL makes an empty database.
func newPostgreSQL(t *testing.T) *server {
	t.Helper()
	const get = "apt-get install postgresql"
	testneed.Root(t)
	initdb, postgres, ready := testneed.Program(t, "initdb", get), testneed.Program(t, "postgres", get), testneed.Program(t, "pg_isready", get)
	s := newServer(t)
	s.engine = "PostgreSQL"
	s.as = userNamed(t, "postgres", get)
	state := filepath.Join(s.base, "state")
	must(t, os.Mkdir(state, 0o700))
	for _, dir := range []string{s.base, s.dir, state} {
		must(t, os.Chown(dir, int(s.as.Uid), int(s.as.Gid)))
	}
	s.flags = []string{"--state", state}
	s.command = func(int) []string { return []string{initdb, "-D", s.dir, "-A", "trust", "--no-sync"} }
	made := s.start(nil)
	if code := s.ended(made); code != 0 {
		t.Fatalf("initdb: %v\n%s%s", made.cmd.ProcessState, &made.out, &made.errs)
	}
	must(t, os.Remove(filepath.Join(state, "history.jsonl"))) // the story begins with the server

	s.command = func(port int) []string {
		return []string{postgres, "-D", s.dir, "-k", s.base, "-h", "127.0.0.1", "-p", strconv.Itoa(port)}
	}
	s.answers = func(port int) bool {
		return exec.Command(ready, "-q", "-h", "127.0.0.1", "-p", strconv.Itoa(port)).Run() == nil
	}
	return s
}

func userNamed(t *testing.T, name, get string) *syscall.Credential {
	t.Helper()
	u, err := user.Lookup(name)
	testneed.Feature(t, err == nil, "the user "+name, get)
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	must(t, err)
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	must(t, err)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// asks sends a line and looks at the answer.
func asks(port int, line, want string) bool {
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	if _, err := c.Write([]byte(line)); err != nil {
		return false
	}
	buf := make([]byte, 64)
	n, _ := c.Read(buf)
	return strings.HasPrefix(string(buf[:n]), want)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

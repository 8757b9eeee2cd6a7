package realtest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/testneed"
)

// elsewhere is another system that can be run here: Windows as far as Wine is one,
// and the side of macOS and the BSDs, built for Linux.
type elsewhere struct {
	t             *testing.T
	base          string
	tool, service string
	guarded       string // a service that guards itself
	command       func(ctx context.Context, exe string, args ...string) *exec.Cmd
	path          func(string) string
	windows       bool
	stopped       int // the exit code of a command that was stopped
}

// TestElsewhere tells the same stories on each system.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	t.Run("portable", func(t *testing.T) {
		e := elsewhere{command: exec.CommandContext, path: func(p string) string { return p }, stopped: 7}
		e.build(t, t.TempDir(), "-tags=solehold_portable")
		t.Run("units", func(t *testing.T) { e.tests(t, "internal/supervise", "-tags=solehold_portable") })
		e.stories(t)
	})
	t.Run("windows", func(t *testing.T) {
		w := testneed.Wine(t)
		// Nobody can be asked to end: Wine has a console only in front of a terminal.
		e := elsewhere{command: w.Command, path: w.Path, windows: true, stopped: 137}
		e.build(t, t.TempDir(), "-tags=")
		t.Run("units", func(t *testing.T) { e.tests(t, "internal/supervise", "-tags=") })
		e.stories(t)
	})
}

func (e elsewhere) environment() []string {
	env := append(os.Environ(), "CGO_ENABLED=0")
	if e.windows {
		env = append(env, "GOOS=windows", "GOARCH=amd64")
	}
	return env
}

func (e elsewhere) stories(t *testing.T) {
	t.Helper()
	for name, story := range map[string]func(*elsewhere){
		"codes": codesMirrored, "owner": oneOwner, "killed": wrapperKilled, "unhealthy": unhealthy, "13:20": watchAndTask,
	} {
		t.Run(name, func(t *testing.T) {
			own := e
			own.t, own.base = t, t.TempDir()
			story(&own)
		})
	}
}

// build makes the tool, a service, and one that is guarded by the library.
func (e *elsewhere) build(t *testing.T, dir, tags string) {
	t.Helper()
	e.tool, e.service, e.guarded = filepath.Join(dir, "solehold.exe"), filepath.Join(dir, "service.exe"), filepath.Join(dir, "kb.exe")
	for exe, pkg := range map[string]string{e.tool: "../../cmd/solehold", e.service: "./testdata/service", e.guarded: "../../examples/kb"} {
		build := exec.Command("go", "build", tags, "-o", exe, pkg)
		build.Env = e.environment()
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
}

// dir makes an empty data directory, and gives it as the system calls it.
func (e *elsewhere) dir(name string) string {
	e.t.Helper()
	path := filepath.Join(e.base, name)
	must(e.t, os.Mkdir(path, 0o700))
	return e.path(path)
}

// ran is one call of the tool.
type ran struct {
	e         *elsewhere
	cmd       *exec.Cmd
	out, errs string // files, which nobody waits for
	done      chan struct{}
}

// start begins one, which ends with the test.
func (e *elsewhere) start(args ...string) *ran {
	e.t.Helper()
	r := &ran{e: e, cmd: e.command(context.Background(), e.tool, args...), done: make(chan struct{})}
	r.cmd.Dir = e.base
	r.out, r.errs = e.file("out", &r.cmd.Stdout), e.file("errs", &r.cmd.Stderr)
	must(e.t, r.cmd.Start())
	go func() {
		defer close(r.done)
		r.cmd.Wait()
	}()
	e.t.Cleanup(func() {
		r.cmd.Process.Kill()
		<-r.done
	})
	return r
}

// file makes a file for what is said, and gives its path.
func (e *elsewhere) file(name string, at *io.Writer) string {
	e.t.Helper()
	f, err := os.CreateTemp(e.base, name)
	must(e.t, err)
	e.t.Cleanup(func() { f.Close() })
	*at = f
	return f.Name()
}

// said is what it said so far.
func (r *ran) said() string {
	out, _ := os.ReadFile(r.out)
	errs, _ := os.ReadFile(r.errs)
	return string(out) + string(errs)
}

// code waits for the end.
func (r *ran) code() int {
	r.e.t.Helper()
	select {
	case <-r.done:
	case <-time.After(2 * patience):
		r.e.t.Fatalf("%s did not end:\n%s", r.cmd, r.said())
	}
	return r.cmd.ProcessState.ExitCode()
}

// gives runs one to its end, which is to have this code; it returns what it said.
func (e *elsewhere) gives(code int, args ...string) string {
	e.t.Helper()
	r := e.start(args...)
	for tries := 1; e.windows && r.code() == 127 && tries < 3 && strings.Contains(r.said(), "Failed to load ws2_32.dll"); tries++ {
		r = e.start(args...) // Wine did not bring it as far as to its own code, as now and then on a busy machine
	}
	if got := r.code(); got != code {
		e.t.Errorf("solehold %s ended with %d, want %d\n%s", strings.Join(args, " "), got, code, r.said())
	}
	return r.said()
}

// kinds lists the kinds of events in the history.
func (e *elsewhere) kinds(dir string) (kinds []string) {
	e.t.Helper()
	for line := range strings.Lines(e.gives(0, "history", "--json", dir)) {
		_, rest, _ := strings.Cut(line, `"kind":"`)
		kind, _, _ := strings.Cut(rest, `"`)
		kinds = append(kinds, kind)
	}
	return kinds
}

func count(kinds []string, kind string) (n int) {
	for _, k := range kinds {
		if k == kind {
			n++
		}
	}
	return n
}

func freeAddr(t *testing.T) string { return fmt.Sprintf("127.0.0.1:%d", testneed.Port(t)) }

// serves waits until somebody answers, or nobody listens any more.
func (e *elsewhere) serves(addr string, want bool) {
	e.t.Helper()
	client := http.Client{Timeout: time.Second}
	testneed.Until(e.t, fmt.Sprintf("%s answers: %t", addr, want), func() bool {
		answer, err := client.Get("http://" + addr + "/healthz")
		if err == nil {
			answer.Body.Close()
		}
		return want == (err == nil) && (want || errors.Is(err, syscall.ECONNREFUSED))
	})
}

// The command's end is ours, whatever its code; what is Linux' own is refused with
// the code for that, before anything is started.
func codesMirrored(e *elsewhere) {
	dir := e.dir("data")
	for _, code := range []int{0, 3, 200} {
		e.gives(code, "run", dir, "--", e.path(e.service), "exit", fmt.Sprint(code))
	}
	e.gives(64, "run", dir, "--", e.path(filepath.Join(e.base, "missing")))
	e.gives(73, "run", e.path(filepath.Join(e.base, "nowhere")), "--", e.path(e.service), "exit", "0")
	for _, name := range []string{"solehold-cluster", "solehold-cluster.exe"} {
		must(e.t, os.Link(e.service, filepath.Join(filepath.Dir(e.tool), name))) // it is there, and not asked
	}
	refused := [][]string{
		{"run", "--health-notify", "1s", dir, "--", e.path(e.service), "exit", "0"},
		{"run", "--cluster", "etcd://127.0.0.1:1/locks", "--cluster-name", "kb", dir, "--", e.path(e.service), "exit", "0"},
		{"watch", "--once", "--health-http", "http://127.0.0.1:1/", "--unit", "kb.service", dir},
	}
	if e.windows {
		for _, flags := range [][]string{{"--exec"}, {"--reload", e.path(e.service)}, {"--stop-signal", "INT"}} {
			refused = append(refused, slices.Concat([]string{"run"}, flags, []string{dir, "--", e.path(e.service), "exit", "0"}))
		}
	} else {
		e.gives(6, "run", "--exec", e.dir("exec"), "--", e.path(e.service), "exit", "6")
	}
	for _, args := range refused {
		if said := e.gives(64, args...); !strings.Contains(said, "this system") {
			e.t.Errorf("%v: %s", args, said)
		}
	}
	if e.windows {
		// Wine has no Restart Manager that tells: that is said, not that nobody is there.
		e.gives(64, "doctor")
		must(e.t, os.WriteFile(filepath.Join(e.base, "data", "file"), nil, 0o600))
		if said := e.gives(2, "doctor", dir); !strings.Contains(said, "FREE") || !strings.Contains(said, "does not tell") {
			e.t.Error(said)
		}
	}
	if kinds := e.kinds(dir); count(kinds, "acquired") != 3 || count(kinds, "child-exited") != 3 || count(kinds, "released") != 3 {
		e.t.Error(kinds)
	}
}

// One owner: others are told who it is and leave, and it lets go when it is asked.
func oneOwner(e *elsewhere) {
	dir, first, child := e.dir("data"), freeAddr(e.t), freeAddr(e.t)
	owner := e.start("run", dir, "--", e.path(e.service), first, child)
	e.serves(first, true)
	e.serves(child, true)
	if said := e.gives(0, "status", dir); !strings.Contains(said, "HELD") || !strings.Contains(said, "service") {
		e.t.Error(said)
	}
	for code, flags := range map[int][]string{0: nil, 75: {"--held-exit", "75"}} {
		said := e.gives(code, slices.Concat([]string{"run"}, flags, []string{dir, "--", e.path(e.service), "exit", "9"})...)
		if !strings.Contains(said, "already has its owner: pid ") {
			e.t.Error(said)
		}
	}
	e.gives(0, "release", "--timeout", "60s", dir)
	if code := owner.code(); code != e.stopped {
		e.t.Errorf("the run ended with %d, want %d: %s", code, e.stopped, owner.said())
	}
	e.serves(first, false)
	e.serves(child, false) // though it has left its parent's group
	e.gives(3, "status", dir)
	kinds := slices.DeleteFunc(e.kinds(dir), func(k string) bool { return k == "forced" })
	want := []string{"acquired", "child-started", "refused", "refused", "release-requested", "child-exited", "released"}
	if !slices.Equal(kinds, want) {
		e.t.Errorf("%v, want %v", kinds, want)
	}
}

// The wrapper is killed. On Windows the tree goes with it, and the next one starts;
// on macOS the tree goes on and keeps the directory, until it is stopped by whoever
// was asked to.
func wrapperKilled(e *elsewhere) {
	dir, first, child := e.dir("data"), freeAddr(e.t), freeAddr(e.t)
	owner := e.start("run", dir, "--", e.path(e.service), first, child)
	e.serves(first, true)
	e.serves(child, true)
	must(e.t, owner.cmd.Process.Kill())
	<-owner.done
	if !e.windows {
		e.serves(first, true)
		e.gives(0, "status", dir)
		if said := e.gives(0, "run", dir, "--", e.path(e.service), "exit", "5"); !strings.Contains(said, "earlier run left") {
			e.t.Error(said)
		}
		e.gives(5, "run", "--orphans=stop", dir, "--", e.path(e.service), "exit", "5")
		e.serves(first, false)
		e.serves(child, false)
		return
	}
	e.serves(first, false)
	e.serves(child, false)
	e.gives(5, "run", "--wait", "60s", dir, "--", e.path(e.service), "exit", "5")
	if kinds := e.kinds(dir); count(kinds, "vanished") != 1 {
		e.t.Error(kinds)
	}
}

// A service that lives and does not answer: evidence is saved first, with a word
// about what this system does not tell, and then it is started anew.
func unhealthy(e *elsewhere) {
	dir, addr := e.dir("data"), freeAddr(e.t)
	url := "http://" + addr
	e.start("run", "--startup-http", url+"/healthz", "--startup-period", "1s", "--startup-failure-threshold", "100",
		"--health-http", url+"/healthz", "--health-period", "1s", "--health-timeout", "20s", "--health-failure-threshold", "1", "--min-failing", "1s",
		"--on-unhealthy", "restart", "--restart", "always", "--restart-delay", "100ms", dir, "--", e.path(e.service), addr)
	e.serves(addr, true)
	testneed.Until(e.t, "the run has seen that, too", func() bool { return count(e.kinds(dir), "ready") >= 1 })
	answer, err := http.Get(url + "/sick")
	must(e.t, err)
	answer.Body.Close()
	testneed.Until(e.t, "it was started again", func() bool { return count(e.kinds(dir), "child-started") >= 2 })
	e.serves(addr, true)
	said := e.gives(0, "incident", "show", dir)
	if e.windows != strings.Contains(said, "this system does not tell") || !strings.Contains(said, "sick from now on") {
		e.t.Error(said)
	}
	e.gives(0, "release", "--timeout", "60s", dir)
}

// slowRequest begins one that takes seconds, where it is wanted; what it returns waits
// for the answer: a service that was asked to let go ends what it has begun.
func (e *elsewhere) slowRequest(wanted bool, addr string) (finished func()) {
	if !wanted {
		return func() {}
	}
	const body = `{"title": "slow", "text": "it takes longer than an unasked command has"}`
	conn, err := net.Dial("tcp", addr)
	must(e.t, err)
	e.t.Cleanup(func() { conn.Close() })
	_, err = fmt.Fprintf(conn, "POST /notes HTTP/1.1\r\nHost: kb\r\nConnection: close\r\nContent-Length: %d\r\n\r\n{", len(body))
	must(e.t, err)
	time.AfterFunc(3*time.Second, func() { io.WriteString(conn, body[1:]) })
	return func() {
		conn.SetDeadline(time.Now().Add(time.Minute))
		if answer, err := io.ReadAll(conn); !strings.HasPrefix(string(answer), "HTTP/1.1 201 ") {
			e.t.Errorf("what was begun was cut off: %q, %v", answer, err)
		}
	}
}

// The story of 13:20: a logon task and a watchdog start the same service in the
// same instant. One copy serves, the other one learns who the owner is. The service
// guards itself too, beside the run that has started it.
func watchAndTask(e *elsewhere) {
	dir, addr := e.dir("data"), freeAddr(e.t)
	url := "http://" + addr + "/healthz"
	const rounds = 3
	for round := 1; round <= rounds; round++ {
		task := e.start("run", "--name", "logon-task", dir, "--", e.path(e.guarded), "--addr", addr)
		watch := e.start("watch", "--once", "--name", "kb-watch", "--health-http", url, "--health-period", "1s", dir, "--", e.path(e.guarded), "--addr", addr)
		if code := watch.code(); code != 0 {
			e.t.Fatalf("the watch ended with %d: %s", code, watch.said())
		}
		e.serves(addr, true)
		if kinds := e.kinds(dir); count(kinds, "acquired") != round {
			e.t.Fatalf("round %d: %v", round, kinds)
		}
		if said := e.gives(0, "watch", "--once", "--health-http", url, "--health-period", "1s", dir, "--", e.path(e.guarded), "--addr", addr); said != "" {
			e.t.Errorf("a watch of a healthy service said %s", said)
		}
		finished := e.slowRequest(round > 1, addr)
		e.gives(0, "release", "--timeout", "60s", "--reason", "next round", dir)
		finished()
		e.serves(addr, false)
		// The service hears the request itself and ends well, also where nobody can be asked by a signal.
		if code := task.code(); code != 0 {
			e.t.Errorf("the task ended with %d: %s", code, task.said())
		}
	}
}

package evidence_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/evidence"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/testneed"
)

// start runs a program that says "ready" on its output before it goes on.
func start(t *testing.T, argv ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // flock(1) has a child
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
	})
	line := make([]byte, 16)
	if n, err := out.Read(line); err != nil || !strings.HasPrefix(string(line[:n]), "ready") {
		t.Fatalf("%v: %q, %v", argv, line[:n], err)
	}
	return cmd
}

func root(t *testing.T) *os.Root {
	t.Helper()
	r, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func take(t *testing.T, state *os.Root, r evidence.Request) evidence.Incident {
	t.Helper()
	in, err := evidence.Take(context.Background(), state, r)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func file(t *testing.T, state *os.Root, in evidence.Incident, name string) string {
	t.Helper()
	b, err := fs.ReadFile(state.FS(), evidence.Folder+"/"+in.ID+"/"+name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The story of the field: a service waits without limit for a lock that another
// process has. The first sentence names the call, the file and the holder.
func TestLockWaitNamesFileAndHolder(t *testing.T) {
	testneed.Root(t)
	flock := testneed.Program(t, "flock", "apt-get install util-linux")
	lock := filepath.Join(t.TempDir(), "LOCK")
	holder := start(t, flock, lock, "sh", "-c", "echo ready; exec sleep 600")
	waiter := exec.Command(flock, lock, "true")
	if err := waiter.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { waiter.Process.Kill(); waiter.Wait() })
	proc := procfs.Default()
	testneed.Until(t, "the waiter waits", func() bool {
		locks, _ := proc.Locks()
		for _, l := range locks {
			if l.Waiting && l.PID == waiter.Process.Pid {
				return true
			}
		}
		return false
	})
	state := root(t)
	in := take(t, state, evidence.Request{Subject: "/srv/kb", Reason: "probe failed 3 times", PIDs: []int{waiter.Process.Pid}, Silent: 94 * time.Second})
	want := fmt.Sprintf("pid %d (%s %s true) has not answered for 94s. It waits in flock() for %s, held by pid %d (",
		waiter.Process.Pid, flock, lock, lock, holder.Process.Pid)
	if !strings.HasPrefix(in.Finding, want) {
		t.Errorf("finding: %s\nwant     %s…", in.Finding, want)
	}
	if first, _, _ := strings.Cut(file(t, state, in, "summary.md"), "\n"); first != in.Finding {
		t.Errorf("summary begins with %q", first)
	}
	if waits := file(t, state, in, "waits.txt"); !strings.Contains(waits, "held by pid "+fmt.Sprint(holder.Process.Pid)) {
		t.Errorf("waits.txt: %s", waits)
	}
	if len(in.Missing) != 2 { // neither probe nor output was given
		t.Errorf("missing: %q", in.Missing)
	}
}

func TestStoppedProcess(t *testing.T) {
	cmd := start(t, "sh", "-c", "echo ready; exec sleep 600")
	proc := procfs.Default()
	cmd.Process.Signal(syscall.SIGSTOP)
	testneed.Until(t, "it is stopped", func() bool { st, err := proc.Stat(cmd.Process.Pid); return err == nil && st.State == 'T' })
	in := take(t, root(t), evidence.Request{Reason: "no answer", PIDs: []int{cmd.Process.Pid}})
	if !strings.Contains(in.Finding, "stopped by a signal (T)") {
		t.Errorf("finding: %s", in.Finding)
	}
}

// A deadlock inside a Go program shows in the dump that SIGQUIT brings.
func TestGoroutineDump(t *testing.T) {
	dump, err := os.ReadFile("testdata/deadlock.txt")
	if err != nil {
		t.Fatal(err)
	}
	cmd := start(t, "sh", "-c", "echo ready; exec sleep 600")
	in := take(t, root(t), evidence.Request{Reason: "no answer", PIDs: []int{cmd.Process.Pid}, Output: dump})
	want := regexp.MustCompile(`2 goroutines wait in sync\.Mutex\.Lock: goroutine 18 at main\.\(\*Store\)\.Add \(.*store\.go:41\); goroutine 19 at main\.\(\*Store\)\.Search`)
	if !want.MatchString(in.Finding) {
		t.Errorf("finding: %s", in.Finding)
	}
}

func TestEverythingIsThere(t *testing.T) {
	cmd := start(t, "sh", "-c", "echo ready; exec sleep 600")
	testneed.Until(t, "it is sleep", func() bool {
		command, err := procfs.Default().Cmdline(cmd.Process.Pid)
		return err == nil && len(command) > 0 && command[0] == "sleep"
	})
	state := root(t)
	in := take(t, state, evidence.Request{
		Subject: "/srv/kb", Token: 42, Reason: "because", PIDs: []int{cmd.Process.Pid, os.Getpid()},
		Probe: []string{"13:20:07 fail: refused"}, Output: []byte("last words\n"),
	})
	for name, want := range map[string]string{
		"processes.txt": "command  sleep 600", "threads.txt": "thread", "descriptors.txt": "/dev/null", "locks.txt": "/proc/locks",
		"memory.txt": "loadavg", "environment.txt": "PATH=", "probe.txt": "refused", "output.txt": "last words", "sockets.txt": "sockets",
	} {
		if text := file(t, state, in, name); !strings.Contains(text, want) {
			t.Errorf("%s lacks %q:\n%.500s", name, want, text)
		}
	}
	all, err := evidence.List(state)
	if err != nil || len(all) != 1 || all[0].ID != in.ID || all[0].Token != 42 || all[0].Finding != in.Finding {
		t.Errorf("%+v, %v", all, err)
	}
}

// A process that has gone is said to be missing; the rest is taken.
func TestGoneProcess(t *testing.T) {
	state := root(t)
	in := take(t, state, evidence.Request{Reason: "no answer", PIDs: []int{1 << 30}, Output: []byte("last words\n")})
	if len(in.Missing) == 0 || file(t, state, in, "output.txt") != "last words\n" {
		t.Errorf("%+v", in)
	}
}

// A full disk costs the incident, never the restart: what was found is returned,
// and what is missing is named.
func TestNothingCanBeWritten(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, evidence.Folder), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	state, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	in, err := evidence.Take(context.Background(), state, evidence.Request{Reason: "no answer", PIDs: []int{os.Getpid()}})
	if err == nil || in.Finding == "" || len(in.Missing) < 10 {
		t.Errorf("%v, %+v", err, in)
	}
}

func TestTimeIsOver(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	state := root(t)
	in, err := evidence.Take(ctx, state, evidence.Request{Reason: "no answer", PIDs: []int{os.Getpid()}})
	if err != nil || len(in.Missing) < 10 {
		t.Errorf("%v, %+v", err, in)
	}
	if text := file(t, state, in, "summary.md"); !strings.Contains(text, "the time was over") {
		t.Errorf("summary: %s", text)
	}
}

func TestSizeIsBounded(t *testing.T) {
	state := root(t)
	in := take(t, state, evidence.Request{Reason: "x", PIDs: []int{os.Getpid()}, Output: bytes.Repeat([]byte("x\n"), 1<<16), Bytes: 4096})
	var total int64
	entries, err := fs.ReadDir(state.FS(), evidence.Folder+"/"+in.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, _ := e.Info()
		total += info.Size()
	}
	if total > 16384 {
		t.Errorf("%d bytes with a limit of 4096 and a few lines that say so", total)
	}
}

func TestOldOnesArePruned(t *testing.T) {
	state := root(t)
	var last string
	for range evidence.Keep + 3 {
		last = take(t, state, evidence.Request{Reason: "x", PIDs: []int{1 << 30}}).ID
	}
	all, err := evidence.List(state)
	if err != nil || len(all) != evidence.Keep {
		t.Errorf("%d incidents, %v", len(all), err)
	}
	if _, err := evidence.Load(state, last); err != nil {
		t.Errorf("the newest is gone: %v", err)
	}
}

func TestPackMasksSecrets(t *testing.T) {
	cmd := exec.Command("sh", "-c", "echo ready; exec sleep 600", "--password=hunter2", "--token", "hunter2")
	cmd.Env = append(os.Environ(), "DB_PASSWORD=hunter2", "URL=postgres://kb:hunter2@db/kb", "PLAIN=visible")
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	io.ReadFull(out, make([]byte, 6))
	state := root(t)
	in := take(t, state, evidence.Request{
		Reason: "x", PIDs: []int{cmd.Process.Pid},
		Output: []byte("login with password: hunter2\nAuthorization: Bearer hunter2hunter2\nplain line\n"),
	})
	var packed bytes.Buffer
	if err := evidence.Pack(&packed, state, in.ID); err != nil {
		t.Fatal(err)
	}
	text := unpack(t, &packed)
	if strings.Contains(text, "hunter2") || !strings.Contains(text, "PLAIN=visible") || !strings.Contains(text, "plain line") {
		t.Errorf("packed: %s", regexp.MustCompile(`.*hunter2.*`).FindAllString(text, 5))
	}
}

func unpack(t *testing.T, r io.Reader) string {
	t.Helper()
	zip, err := gzip.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewReader(zip)
	var all strings.Builder
	for {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return all.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "== %s\n", head.Name)
		if _, err := io.Copy(&all, archive); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNamesOfIncidents(t *testing.T) {
	state := root(t)
	for _, id := range []string{"", ".", "..", "../x", "a/b", `a\b`, "none"} {
		if _, err := evidence.Load(state, id); err == nil {
			t.Errorf("%q was accepted", id)
		}
	}
}

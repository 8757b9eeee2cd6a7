package diagnose_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/diagnose"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func status(t testing.TB, dir string) diagnose.Report {
	t.Helper()
	return diagnose.Status(t.Context(), dir, nil)
}

// dataDir makes an empty data directory.
func dataDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}

// hold takes dir in this process for the length of the test.
func hold(t testing.TB, dir string, o *solehold.Options) *solehold.Lock {
	t.Helper()
	lock, err := solehold.Acquire(t.Context(), dir, o)
	must(t, err)
	t.Cleanup(func() { lock.Release() })
	return lock
}

// writer is a process that has a file open in its own way until the test ends.
func writer(t *testing.T, file, redirection string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sh", "-c", `exec 3`+redirection+`"$1"; echo; exec cat`, "sh", file)
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { in.Close(); io.Copy(io.Discard, out); cmd.Wait() })
	_, err = out.Read(make([]byte, 1)) // it is open
	must(t, err)
	return cmd
}

func TestFree(t *testing.T) {
	t.Parallel()
	r := status(t, dataDir(t))
	if r.State != solehold.Free || r.Record.Class != "none" || r.Owner != nil || r.Before != nil || r.Findings != nil {
		t.Errorf("%+v", r)
	}
}

func TestNotThere(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(dataDir(t), "missing")
	r := status(t, dir)
	if r.State != solehold.NotKnown || r.Dir != dir || !strings.Contains(r.Error, "no such file") || !errors.Is(r.Err, fs.ErrNotExist) {
		t.Errorf("%+v", r)
	}
	if _, err := diagnose.History(t.Context(), dir, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A writer beside nobody is unguarded, one beside the owner a split; readers,
// writers of other directories and of data directories below are neither.
func TestWriters(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	writer(t, file, "<")
	writer(t, filepath.Join(dataDir(t), "file"), ">")
	below := filepath.Join(dir, "below")
	must(t, os.Mkdir(below, 0o755))
	lock, err := solehold.Acquire(t.Context(), below, nil)
	must(t, err)
	must(t, lock.Release())
	writer(t, filepath.Join(below, "file"), ">")
	if r := status(t, dir); r.State != solehold.Free || r.Findings != nil {
		t.Errorf("%+v", r)
	}
	w := writer(t, file, ">>")
	r := status(t, dir)
	if r.State != solehold.Unguarded || len(r.Findings) != 1 || !strings.Contains(r.Findings[0], file) {
		t.Errorf("%+v", r)
	}
	hold(t, dir, nil)
	// It is a child of this process, which is the owner now: so it belongs to it.
	if r := status(t, dir); r.State != solehold.Held || r.Findings != nil {
		t.Errorf("%+v", r)
	}
	_ = w
}

// What a stranger writes beside an owner is a split. The owner is a child here,
// so that this process' other children are strangers to it.
func TestSplit(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	owner(t, dir)
	writer(t, filepath.Join(dir, "file"), ">")
	r := status(t, dir)
	if r.State != solehold.Split || r.Owner == nil || len(r.Findings) != 1 || !strings.Contains(r.Findings[0], "without the lock") {
		t.Errorf("%+v", r)
	}
}

// This process asks, and its own output may lie in the directory.
func TestAskerIsNoWriter(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	f, err := os.Create(filepath.Join(dir, "answer"))
	must(t, err)
	defer f.Close()
	if r := status(t, dir); r.State != solehold.Free {
		t.Errorf("%+v", r)
	}
}

// ownerVar makes this test binary an owner that stays until its input ends.
const ownerVar = "SOLEHOLD_TEST_OWNER"

func TestMain(m *testing.M) {
	dir := os.Getenv(ownerVar)
	if dir == "" {
		m.Run()
		return
	}
	lock, err := solehold.Acquire(context.Background(), dir, nil)
	if err != nil {
		os.Stderr.WriteString(err.Error())
		os.Exit(1)
	}
	os.Stdout.WriteString("\n")
	io.Copy(io.Discard, os.Stdin)
	lock.Release()
}

// owner holds dir in a process of its own.
func owner(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), ownerVar+"="+dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	_, err = out.Read(make([]byte, 1))
	must(t, err)
	return cmd
}

// note writes events as holders and starters do.
func note(t *testing.T, dir string, events ...journal.Event) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, ".solehold", journal.Name), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	must(t, err)
	defer f.Close()
	for i, e := range events {
		e.Time, e.Seq = time.Unix(int64(1e9+i), 0), int64(i)
		must(t, json.NewEncoder(f).Encode(e))
	}
}

// released makes dir's record one of a holder with token 1 that let go, without a
// history.
func released(t *testing.T, dir string) {
	t.Helper()
	lock, err := solehold.Acquire(t.Context(), dir, nil)
	must(t, err)
	must(t, lock.Release())
	must(t, os.Remove(filepath.Join(dir, ".solehold", journal.Name)))
}

// The end of the holder before, and the starters turned away since, are read off
// the history.
func TestPast(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	released(t, dir)
	code := 3
	note(t, dir,
		journal.Event{Kind: journal.Acquired, Token: 1},
		journal.Event{Kind: journal.Refused},
		journal.Event{Kind: journal.ChildExited, Token: 1, Status: &code, Detail: "exit code 3"},
		journal.Event{Kind: journal.Released, Token: 1, Detail: "held 1s"},
	)
	r := status(t, dir)
	if b := r.Before; b == nil || b.Token != 1 || b.Kind != journal.Released || b.Detail != "exit code 3; held 1s" || r.Refused != 0 {
		t.Errorf("%+v %+v", r, b)
	}
	hold(t, dir, nil)
	note(t, dir, journal.Event{Kind: journal.Refused, More: 4}, journal.Event{Kind: journal.Refused})
	r = status(t, dir)
	if r.Token != 2 || r.Refused != 6 || !r.LastRefused.Equal(time.Unix(1e9+1, 0)) || r.Before == nil || r.Before.Token != 1 {
		t.Errorf("%+v %+v", r, r.Before)
	}
}

func TestPastOfVanished(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	released(t, dir)
	hold(t, dir, nil)
	note(t, dir, journal.Event{Kind: journal.Vanished, Token: 1, Class: "reboot", Detail: "no release"})
	if b := status(t, dir).Before; b == nil || b.Kind != journal.Vanished || b.Class != "reboot" {
		t.Errorf("%+v", b)
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	h, err := diagnose.History(t.Context(), dir, nil)
	if err != nil || len(h.Events) != 0 {
		t.Errorf("%+v, %v", h, err)
	}
	if _, err := os.Stat(filepath.Join(dir, ".solehold")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("asking made something")
	}
	hold(t, dir, nil)
	h, err = diagnose.History(t.Context(), dir, nil)
	if err != nil || len(h.Events) != 1 || h.Events[0].Kind != journal.Acquired {
		t.Errorf("%+v, %v", h, err)
	}
}

// Where the files lie elsewhere they are found, told or not.
func TestStateElsewhere(t *testing.T) {
	t.Parallel()
	dir, state := dataDir(t), dataDir(t)
	o := &solehold.Options{StateDir: state}
	hold(t, dir, o)
	remembers := unix.Setxattr(state, "user.solehold.test", nil, 0) == nil
	for _, options := range []*solehold.Options{o, nil} {
		if options == nil && !remembers {
			continue // only the state's side knows
		}
		h, err := diagnose.History(t.Context(), dir, options)
		if err != nil || len(h.Events) != 1 {
			t.Errorf("%+v: %+v, %v", options, h, err)
		}
		if r := diagnose.Status(t.Context(), dir, options); r.State != solehold.Held || r.Record.Class != "live" {
			t.Errorf("%+v: %+v", options, r)
		}
	}
}

// Asking ends with the context.
func TestEndedContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := dataDir(t)
	if r := diagnose.Status(ctx, dir, nil); r.State != solehold.NotKnown && r.State != solehold.Free {
		t.Errorf("%+v", r)
	}
	if _, err := diagnose.History(ctx, dir, nil); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A directory on a file system that never answers is answered for in time (G5):
// it is not known, and its history is unanswered.
func TestG5NeverAnswers(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	_, err := os.Stat("/dev/fuse")
	testneed.Feature(t, err == nil, "/dev/fuse", "modprobe fuse, or run the container with --device /dev/fuse")
	dir := neverAnswering(t, t.TempDir())
	o := &solehold.Options{Timeout: 50 * time.Millisecond}
	r := diagnose.Status(t.Context(), dir, o)
	if r.State != solehold.NotKnown || !errors.Is(r.Err, solehold.ErrUnanswered) || !strings.Contains(r.Error, "did not answer within 50ms") {
		t.Errorf("%+v", r)
	}
	_, err = diagnose.History(t.Context(), dir, o)
	var op *solehold.OpError
	if !errors.As(err, &op) || op.Reason != solehold.Unanswered || op.Path != dir || !errors.Is(err, solehold.ErrUnanswered) {
		t.Errorf("%v", err)
	}
}

// A history that does not answer costs what it would have told, not the verdict.
func TestG5HistoryNeverAnswers(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	_, err := os.Stat("/dev/fuse")
	testneed.Feature(t, err == nil, "/dev/fuse", "modprobe fuse, or run the container with --device /dev/fuse")
	dir := dataDir(t)
	lock := hold(t, dir, nil)
	seen := filepath.Dir(filepath.Dir(neverAnswering(t, filepath.Join(dir, ".solehold", journal.Name))))
	r := diagnose.Status(t.Context(), seen, &solehold.Options{Timeout: 500 * time.Millisecond})
	if r.State != solehold.Held || r.Token != lock.Token() || len(r.Findings) != 1 || !strings.Contains(r.Findings[0], "did not answer within 500ms") {
		t.Errorf("%+v", r)
	}
}

// neverAnswering lays a file system that never answers over a path, in the mount
// namespace of a process of its own, and returns the path from here.
func neverAnswering(t *testing.T, path string) string {
	t.Helper()
	fuse, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	must(t, err)
	mode := "40000"
	if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
		mode = "100000"
	}
	script := `mount -i -t fuse -o fd=3,rootmode=` + mode + `,user_id=0,group_id=0 hung "$1" && echo && exec cat`
	cmd := exec.Command("sh", "-c", script, "sh", path)
	cmd.ExtraFiles = []*os.File{fuse}
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	must(t, fuse.Close())
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	_, err = out.Read(make([]byte, 1))
	must(t, err)
	return filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid), "root", path)
}

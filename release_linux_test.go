package solehold_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

func requestFile(dir string) string { return filepath.Join(stateDir(dir), "release") }

// ask makes a request for the token and takes it back at the end of the test.
func ask(t *testing.T, dir string, r solehold.ReleaseRequest) *solehold.PendingRelease {
	t.Helper()
	q, err := solehold.RequestRelease(context.Background(), dir, r, nil)
	must(t, err)
	t.Cleanup(func() { q.Withdraw() })
	return q
}

// short is a time in which nothing is expected to happen.
func short(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// wantNoRequest checks that nothing of a request was left.
func wantNoRequest(t *testing.T, dir string) {
	t.Helper()
	left, err := filepath.Glob(requestFile(dir) + "*")
	must(t, err)
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// The holder hears who asks and why; the asker hears when it has let go; the
// history tells of it once.
func TestRequestRelease(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock := hold(t, dir)
	if r := lock.ReleaseRequest(); r != (solehold.ReleaseRequest{}) {
		t.Errorf("before anybody asked: %+v", r)
	}
	q := ask(t, dir, solehold.ReleaseRequest{Token: lock.Token(), Why: "upgrade\x1b[2J"})
	testneed.Until(t, "the holder is asked", func() bool { return asked(lock) })
	r := lock.ReleaseRequest()
	if r.Token != lock.Token() || r.Why != "upgrade?[2J" || !strings.HasPrefix(r.By, "pid ") || !strings.Contains(r.By, "uid ") || !r.Logged {
		t.Errorf("request %+v", r)
	}
	var held *solehold.HeldError
	if err := q.Wait(short(t)); !errors.As(err, &held) || held.Waited <= 0 || held.Holder().PID != os.Getpid() {
		t.Errorf("while it is held: %v", err)
	}
	done := make(chan error, 1)
	go func() { done <- q.Wait(context.Background()) }()
	must(t, lock.Release())
	must(t, <-done)
	must(t, q.Withdraw())
	wantNoRequest(t, dir)
	all := events(t, dir, journal.ReleaseRequested)
	if len(all) != 1 || all[0].Token != lock.Token() || all[0].PID != os.Getpid() || !strings.Contains(all[0].Detail, "upgrade") {
		t.Errorf("history: %+v", all)
	}
}

// A release is heard from another process too, and so is its death.
func TestReleaseIsHeard(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testing.T, *agent){
		"release": func(t *testing.T, a *agent) { a.must(t, order{Do: "release"}) },
		"death":   func(_ *testing.T, a *agent) { a.kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := dataDir(t)
			a := start(t)
			wantFree(t, a.acquire(t, dir))
			q := ask(t, dir, solehold.ReleaseRequest{Token: 1})
			done := make(chan error, 1)
			go func() { done <- q.Wait(context.Background()) }()
			end(t, a)
			select {
			case err := <-done:
				must(t, err)
			case <-time.After(20 * time.Second): // the safety tick would come later
				t.Fatal("not heard")
			}
		})
	}
}

// Whoever has it next is not who was asked.
func TestNextHolderWasNotAsked(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	first := hold(t, dir)
	q := ask(t, dir, solehold.ReleaseRequest{Token: first.Token()})
	must(t, first.Release())
	second := hold(t, dir)
	must(t, q.Wait(context.Background()))
	checked(t, dir)
	if asked(second) {
		t.Error("a request for an earlier token was heard")
	}
	wantKept(t, second)
}

// Two who ask share one request: the second does not replace the first, and when
// the first gives up the second makes it anew.
func TestTwoWhoAsk(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	a := start(t)
	wantFree(t, a.acquire(t, dir))
	first := ask(t, dir, solehold.ReleaseRequest{Token: 1, By: "first"})
	second := ask(t, dir, solehold.ReleaseRequest{Token: 1, By: "second"})
	if by := requestBy(t, dir); by != "first" {
		t.Errorf("the request is %q's", by)
	}
	waiting := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { waiting <- second.Wait(ctx) }()
	must(t, first.Withdraw())
	testneed.Until(t, "the second asks anew", func() bool { return requestBy(t, dir) == "second" })
	cancel()
	if err := <-waiting; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	third := ask(t, dir, solehold.ReleaseRequest{Token: 1, By: "third"})
	must(t, third.Withdraw())
	if by := requestBy(t, dir); by != "second" {
		t.Errorf("the third took %q's request back", by)
	}
	must(t, second.Withdraw())
	wantNoRequest(t, dir)
	if n := len(events(t, dir, journal.ReleaseRequested)); n != 3 {
		t.Errorf("%d events for three who asked", n)
	}
}

func requestBy(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(requestFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	must(t, err)
	var r solehold.ReleaseRequest
	must(t, json.Unmarshal(text, &r))
	return r.By
}

// An old request is replaced; what nobody of ours made is refused and not touched.
func TestRequestAmongOthers(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	once(t, dir)
	lock := hold(t, dir)
	must(t, os.WriteFile(requestFile(dir), []byte(`{"token":1,"by":"old"}`), 0o600))
	q := ask(t, dir, solehold.ReleaseRequest{Token: lock.Token(), By: "new"})
	testneed.Until(t, "the holder is asked", func() bool { return asked(lock) })
	must(t, q.Withdraw())
	victim := filepath.Join(filepath.Dir(dir), "victim")
	must(t, os.WriteFile(victim, []byte("precious"), 0o600))
	for name, plant := range map[string]func() error{
		"symlink":   func() error { return os.Symlink(victim, requestFile(dir)) },
		"hard link": func() error { return os.Link(victim, requestFile(dir)) },
		"directory": func() error { return os.Mkdir(requestFile(dir), 0o700) },
	} {
		must(t, plant())
		_, err := solehold.RequestRelease(context.Background(), dir, solehold.ReleaseRequest{Token: lock.Token()}, nil)
		var op *solehold.OpError
		if !errors.As(err, &op) || op.Reason != solehold.Refused || op.Path != requestFile(dir) {
			t.Errorf("%s: %v", name, err)
		}
		must(t, os.Remove(requestFile(dir)))
	}
	if text, err := os.ReadFile(victim); err != nil || string(text) != "precious" {
		t.Errorf("victim: %q, %v", text, err)
	}
	wantNoRequest(t, dir)
}

// A request is small whatever was said, and a bigger one is not read.
func TestRequestIsBounded(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock := hold(t, dir)
	must(t, os.WriteFile(requestFile(dir), []byte(`{"token":1,"why":"`+strings.Repeat("x", 2000)+`"}`), 0o600))
	checked(t, dir)
	if asked(lock) {
		t.Error("a request of more than a kilobyte was read")
	}
	ask(t, dir, solehold.ReleaseRequest{Token: 1, By: strings.Repeat("<", 5000), Why: strings.Repeat("\u2028&", 5000)})
	st, err := os.Stat(requestFile(dir))
	must(t, err)
	if st.Size() > 1024 {
		t.Errorf("%d bytes", st.Size())
	}
	testneed.Until(t, "the holder is asked", func() bool { return asked(lock) })
}

// Without a token nobody is asked, and the wait works all the same.
func TestRequestWithoutToken(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock := hold(t, dir)
	q := ask(t, dir, solehold.ReleaseRequest{})
	if err := q.Wait(short(t)); !errors.Is(err, solehold.ErrHeld) {
		t.Errorf("while it is held: %v", err)
	}
	wantNoRequest(t, dir)
	must(t, q.Log(solehold.Event{Kind: journal.Forced, PID: 1, Detail: "as a test"}))
	must(t, lock.Release())
	must(t, q.Wait(context.Background()))
	if n := len(events(t, dir, journal.Forced)); n != 1 {
		t.Errorf("%d events", n)
	}
}

// A holder whose place for requests was removed looks where it puts it back.
func TestRequestToDetachedHolder(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock := hold(t, dir)
	must(t, os.RemoveAll(stateDir(dir)))
	ask(t, dir, solehold.ReleaseRequest{Token: lock.Token()})
	testneed.Until(t, "the holder is asked", func() bool { return asked(lock) })
}

func TestRequestWhereNobodyHolds(t *testing.T) {
	t.Parallel()
	if _, err := solehold.RequestRelease(context.Background(), dataDir(t)+"/missing", solehold.ReleaseRequest{Token: 1}, nil); solehold.ExitCode(err) != 73 {
		t.Errorf("missing: %v", err)
	}
	dir := dataDir(t)
	once(t, dir)
	must(t, ask(t, dir, solehold.ReleaseRequest{Token: 1}).Wait(short(t)))
	wantNoRequest(t, dir)
	if n := len(events(t, dir, journal.ReleaseRequested)); n != 0 {
		t.Errorf("%d requests to nobody", n)
	}
}

// Withdrawn twice, a request closes nothing that is not its own.
func TestWithdrawTwice(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock := hold(t, dir)
	q := ask(t, dir, solehold.ReleaseRequest{Token: lock.Token()})
	must(t, q.Withdraw())
	var files []*os.File
	for range 16 {
		f, err := os.Open(dir)
		must(t, err)
		defer f.Close()
		files = append(files, f)
	}
	must(t, q.Withdraw())
	for _, f := range files {
		if _, err := f.Stat(); err != nil {
			t.Error(err)
		}
	}
	if q.Wait(short(t)) == nil || q.Log(solehold.Event{Kind: journal.Forced}) == nil {
		t.Error("it goes on after its end")
	}
}

// Everybody who shares the lock is listed, and nobody else.
func TestSharers(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	list := func() []int {
		pids, err := solehold.Sharers(context.Background(), dir, nil)
		must(t, err)
		return pids
	}
	if pids := list(); len(pids) != 0 {
		t.Errorf("free: %v", pids)
	}
	parent := start(t)
	wantFree(t, parent.acquire(t, dir))
	child := parent.must(t, order{Do: "share", N: 1}).N
	killAtEnd(t, child)
	if pids := list(); len(pids) != 2 {
		t.Errorf("%v, want %d and %d", pids, parent.pid, child)
	}
	sharing := func() []int {
		s, err := solehold.Inspect(t.Context(), dir, nil)
		must(t, err)
		if s.Owner == nil || !s.Owner.Proven {
			t.Fatalf("%+v", s)
		}
		return s.Owner.Sharing
	}
	if pids := sharing(); len(pids) != 0 {
		t.Errorf("the recorded process proves itself, and yet others were looked for: %v", pids)
	}
	must(t, unix.Kill(parent.pid, unix.SIGSTOP)) // it would make them anew
	defer unix.Kill(parent.pid, unix.SIGCONT)
	must(t, os.RemoveAll(stateDir(dir)))
	if pids := list(); len(pids) != 2 {
		t.Errorf("with the mark alone: %v", pids)
	}
	if pids := sharing(); len(pids) != 2 {
		t.Errorf("with the mark alone: the owner is one of %v", pids)
	}
}

// The holder's own place for evidence is that of its other files, also when the
// state lies elsewhere; after the release there is none.
func TestStateRoot(t *testing.T) {
	t.Parallel()
	dir, state := paired(t)
	lock, err := acquireAt(t, dir, state)
	must(t, err)
	root, err := lock.StateRoot()
	must(t, err)
	defer root.Close()
	must(t, root.Mkdir("made", 0o700))
	if _, err := os.Stat(filepath.Join(state, "made")); err != nil {
		t.Error(err)
	}
	must(t, lock.Release())
	if root, err := lock.StateRoot(); err == nil {
		root.Close()
		t.Error("a root after the release")
	}
}

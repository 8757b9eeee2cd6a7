package solehold_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/testneed"
)

// The tests of this file are of no system: they run on Linux, on Linux with the
// tag solehold_portable, and on Windows below Wine.

// The kernel decides between processes, whoever asks sees the record meanwhile, and
// the history tells of all of it.
func TestOneOwnerEverywhere(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	holder, other, third := start(t), start(t), start(t)
	got := holder.acquire(t, dir)
	wantFree(t, got)
	refused := other.acquire(t, dir)
	wantHeld(t, refused)
	if o := refused.Owner; o.PID != holder.pid || !o.Proven || len(o.Command) == 0 || o.Since.IsZero() {
		t.Errorf("owner %+v, want pid %d", o, holder.pid)
	}
	s := third.inspect(t, dir)
	if s.State != solehold.Held || s.Record.Class != "live" || s.Record.PID != holder.pid || s.Token != got.Token {
		t.Errorf("seen from a third process: %+v", s)
	}
	if s.Owner == nil || s.Owner.PID != holder.pid || len(s.Findings) != 0 {
		t.Errorf("owner %+v, findings %q", s.Owner, s.Findings)
	}
	holder.must(t, order{Do: "release"})
	if s := third.inspect(t, dir); s.State != solehold.Free || s.Record.Class != "released" {
		t.Errorf("after the release: %+v", s)
	}
	next := other.acquire(t, dir)
	wantFree(t, next)
	if next.Token != got.Token+1 {
		t.Errorf("token %d after %d", next.Token, got.Token)
	}
	wantKinds(t, dir, journal.Acquired, journal.Refused, journal.Released, journal.Acquired)
}

// wantKinds wants these events in this order, and others anywhere between.
func wantKinds(t *testing.T, dir string, kinds ...journal.Kind) {
	t.Helper()
	left := kinds
	h := history(t, dir)
	for _, e := range h.Events {
		if len(left) > 0 && e.Kind == left[0] {
			left = left[1:]
		}
		if e.PID == 0 || e.Time.IsZero() {
			t.Errorf("event %+v", e)
		}
	}
	if len(left) > 0 || h.Skipped > 0 {
		t.Errorf("no %v in the history, %d lines damaged: %+v", left, h.Skipped, h.Events)
	}
}

const (
	roundsEverywhere   = 50
	startersEverywhere = 16
)

// Round after round many processes start in the same instant: one becomes owner,
// all others are told that it is held, and tokens rise by one.
func TestRoundsEverywhere(t *testing.T) {
	dir := dataDir(t)
	var all []*agent
	for range startersEverywhere {
		all = append(all, start(t))
	}
	var last uint64
	for round := range roundsEverywhere {
		winner, token := oneRound(t, dir, all)
		if winner == nil || token != last+1 {
			t.Fatalf("round %d: winner %v, token %d after %d", round, winner, token, last)
		}
		last = token
		winner.must(t, order{Do: "release"})
	}
	t.Logf("%d rounds of %d starters, last token %d", roundsEverywhere, startersEverywhere, last)
}

// oneRound lets all start at once and returns the one winner; nil where there is
// none, or more than one.
func oneRound(t *testing.T, dir string, all []*agent) (winner *agent, token uint64) {
	t.Helper()
	for _, a := range all {
		a.tell(t, order{Do: "acquire", Dir: dir})
	}
	wins := 0
	for _, a := range all {
		switch got := a.hear(t); {
		case got.ok():
			wins++
			winner, token = a, got.Token
		case !got.Held:
			t.Errorf("not held, not had: %+v", got)
		}
	}
	if wins != 1 {
		t.Errorf("%d owners", wins)
		return nil, 0
	}
	return winner, token
}

// A killed holder leaves nothing in the way. Who starts next says that it vanished.
func TestKillFreesEverywhere(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	holder, next := start(t), start(t)
	first := holder.acquire(t, dir)
	wantFree(t, first)
	wantHeld(t, next.acquire(t, dir))
	holder.kill()
	begin := time.Now()
	var got answer
	testneed.Until(t, "the directory is free", func() bool { got = next.acquire(t, dir); return got.ok() })
	t.Logf("free %v after the kill", time.Since(begin).Round(time.Millisecond))
	if got.Token <= first.Token {
		t.Errorf("token %d after %d", got.Token, first.Token)
	}
	gone := events(t, dir, journal.Vanished)
	if len(gone) != 1 || gone[0].PID != holder.pid || gone[0].Class != "crash" || gone[0].Token != first.Token {
		t.Errorf("history tells of %+v, want pid %d", gone, holder.pid)
	}
}

// Before anybody starts again the record of a killed holder is stale, and the
// directory free.
func TestStaleRecordEverywhere(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	holder, third := start(t), start(t)
	wantFree(t, holder.acquire(t, dir))
	holder.kill()
	s := third.inspect(t, dir)
	if s.State != solehold.Free || s.Record.Class != "stale" || s.Record.PID != holder.pid {
		t.Errorf("status %+v", s)
	}
}

// Whoever waits hears of a release and of a kill.
func TestWaitEverywhere(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testing.T, *agent){
		"release": func(t *testing.T, a *agent) { a.must(t, order{Do: "release"}) },
		"kill":    func(_ *testing.T, a *agent) { a.kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := dataDir(t)
			holder, waiter := start(t), start(t)
			wantFree(t, holder.acquire(t, dir))
			waiter.waits(t, dir)
			begin := time.Now()
			end(t, holder)
			wantFree(t, waiter.gets(t))
			t.Logf("had %v after the end", time.Since(begin).Round(time.Millisecond))
		})
	}
}

// Several waiters get it one after the other; none is forgotten.
func TestWaitersEverywhere(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock := hold(t, dir)
	var all []*agent
	for range 4 {
		a := start(t)
		a.waits(t, dir)
		all = append(all, a)
	}
	must(t, lock.Release())
	tokens := make(chan uint64, len(all))
	for _, a := range all {
		go func() {
			for {
				var got answer
				if a.out.Decode(&got) != nil {
					tokens <- 0
					return
				}
				if !got.Waiting {
					a.in.Encode(order{Do: "release"})
					tokens <- got.Token
					return
				}
			}
		}()
	}
	seen := map[uint64]bool{}
	for range all {
		select {
		case token := <-tokens:
			seen[token] = true
		case <-after(t, 6*patience):
			t.Fatalf("tokens so far: %v", seen)
		}
	}
	if len(seen) != len(all) || seen[0] {
		t.Errorf("tokens %v", seen)
	}
}

// Waiting ends with the caller's patience, which names the holder, or with its context.
func TestWaitEndsEverywhere(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	holder := start(t)
	wantFree(t, holder.acquire(t, dir))
	_, err := solehold.Acquire(context.Background(), dir, &solehold.Options{Wait: 50 * time.Millisecond, Timeout: answerTime})
	var held *solehold.HeldError
	if !errors.As(err, &held) || held.Waited == 0 || held.Holder().PID != holder.pid {
		t.Errorf("impatient: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("reason")
	waits := func(*solehold.HeldError) { cancel(reason) }
	_, err = solehold.Acquire(ctx, dir, &solehold.Options{Wait: solehold.WaitForever, OnWait: waits, Timeout: answerTime})
	if !errors.Is(err, reason) {
		t.Errorf("cancelled: %v", err)
	}
}

// A second goroutine of the holder waits for it as others do.
func TestWaitForOneselfEverywhere(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock := hold(t, dir)
	waits, had := make(chan struct{}), make(chan error, 1)
	go func() {
		again, err := solehold.Acquire(context.Background(), dir, &solehold.Options{
			Wait: solehold.WaitForever, OnWait: func(*solehold.HeldError) { close(waits) }, Timeout: answerTime,
		})
		if err == nil {
			err = again.Release()
		}
		had <- err
	}()
	<-waits
	must(t, lock.Release())
	select {
	case err := <-had:
		must(t, err)
	case <-after(t, patience):
		t.Fatal("it still waits")
	}
}

// One process of ours at a time has a directory, and its context has it again.
func TestOneOwnerInProcessEverywhere(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock := hold(t, dir)
	_, err := solehold.Acquire(context.Background(), dir, patient())
	wantSelf(t, err)
	again, err := solehold.Acquire(lock.Context(), dir, patient())
	must(t, err)
	if again != lock {
		t.Error("another lock")
	}
	must(t, again.Release())
	wantKept(t, lock)
	must(t, lock.Release())
	once(t, dir)
}

// A lock that nobody refers to any more stays until the process ends (case C38).
func TestDroppedLockEverywhere(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	holder, other := start(t), start(t)
	holder.must(t, order{Do: "drop", Dir: dir, N: 100})
	wantHeld(t, other.acquire(t, dir))
	holder.kill()
	testneed.Until(t, "the directory is free", func() bool { return other.acquire(t, dir).ok() })
}

// What the holder opens and closes on the side drops nothing.
func TestOtherHandlesEverywhere(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock := hold(t, dir)
	for range 20 {
		_, err := os.ReadFile(lockFile(dir))
		must(t, err)
		wantState(t, dir, solehold.Held)
	}
	wantHeld(t, start(t).acquire(t, dir))
	wantKept(t, lock)
}

// Asking all the time makes no starter fail.
func TestQuestionsEverywhere(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	once(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	const acquisitions = 50
	asked := make(chan int, 2)
	for range cap(asked) {
		go func() {
			n := 0
			for ; ctx.Err() == nil; n++ {
				solehold.Inspect(context.Background(), dir, patient())
			}
			asked <- n
		}()
	}
	for range acquisitions {
		once(t, dir)
	}
	cancel()
	t.Logf("%d and %d questions beside %d acquisitions", <-asked, <-asked, acquisitions)
}

// A request reaches the holder that is meant, and nobody else.
func TestRequestEverywhere(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock := hold(t, dir)
	p, err := solehold.RequestRelease(t.Context(), dir, solehold.ReleaseRequest{Token: lock.Token() + 1, Why: "not for you"}, patient())
	must(t, err)
	must(t, p.Withdraw())
	p, err = solehold.RequestRelease(t.Context(), dir, solehold.ReleaseRequest{Token: lock.Token(), Why: "update"}, patient())
	must(t, err)
	defer p.Withdraw()
	select {
	case <-lock.ReleaseRequested():
	case <-after(t, patience):
		t.Fatal("the holder hears nothing")
	}
	if r := lock.ReleaseRequest(); r.Why != "update" || r.By == "" {
		t.Errorf("request %+v", r)
	}
	let := make(chan error, 1)
	go func() { let <- p.Wait(t.Context()) }()
	must(t, lock.Release())
	select {
	case err := <-let:
		must(t, err)
	case <-after(t, 3*patience):
		t.Fatal("the release is not heard")
	}
	must(t, p.Withdraw())
	if _, err := os.Stat(filepath.Join(stateDir(dir), "release")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the request is still there: %v", err)
	}
	wantKinds(t, dir, journal.Acquired, journal.ReleaseRequested, journal.Released)
}

// A role has one process, beside whoever holds the directory.
func TestAttendEverywhere(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	hold(t, dir)
	a, err := solehold.Attend(t.Context(), dir, "watch", patient())
	must(t, err)
	if _, err := solehold.Attend(t.Context(), dir, "watch", patient()); !errors.Is(err, solehold.ErrAttended) {
		t.Errorf("a second one: %v", err)
	}
	must(t, a.Log(solehold.Event{Kind: journal.Health, PID: os.Getpid(), Detail: "well"}))
	root, err := a.StateRoot()
	must(t, err)
	must(t, root.Mkdir("incidents", 0o700))
	must(t, root.Close())
	must(t, a.Close())
	b, err := solehold.Attend(t.Context(), dir, "watch", patient())
	must(t, err)
	must(t, b.Close())
	if e := events(t, dir, journal.Health); len(e) != 1 || e[0].Detail != "well" {
		t.Errorf("history %+v", e)
	}
}

// Ready, a child and an event of one's own are written where others read them.
func TestRecordEverywhere(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock, err := solehold.Acquire(t.Context(), dir, &solehold.Options{Name: "kb", Timeout: answerTime})
	must(t, err)
	defer lock.Release()
	must(t, lock.ReadyBy("port 80 answers"))
	child := start(t)
	must(t, lock.SetChild(&solehold.Child{PID: child.pid, Command: []string{"server"}}))
	s := start(t).inspect(t, dir)
	if s.Record.State != "ready" || s.Record.Name != "kb" || s.Record.Child != child.pid {
		t.Errorf("record %+v", s.Record)
	}
	must(t, lock.SetChild(nil))
	must(t, lock.Log(solehold.Event{Kind: journal.Restart, Detail: "because"}))
	wantKinds(t, dir, journal.Acquired, journal.Ready, journal.Restart)
	if fsys := lock.Filesystem(); fsys.Type == "" || fsys.Class == "" {
		t.Errorf("file system %+v", fsys)
	}
	fsys, err := solehold.FilesystemOf(dir)
	if err != nil || fsys != lock.Filesystem() {
		t.Errorf("file system %+v, %v", fsys, err)
	}
	if lock.Dir() != s.Dir {
		t.Errorf("here %s, elsewhere %s", lock.Dir(), s.Dir)
	}
}

// A directory that is not there, and a file in its place, are no holders.
func TestNoDirectoryEverywhere(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	for _, path := range []string{filepath.Join(dir, "none"), file, ""} {
		for _, o := range []*solehold.Options{nil, {StateDir: path}} {
			at := path
			if o != nil {
				at = dir
				if path == "" {
					continue
				}
			}
			_, err := solehold.Acquire(t.Context(), at, o)
			var op *solehold.OpError
			if errors.Is(err, solehold.ErrHeld) || !errors.As(err, &op) {
				t.Errorf("%q: %v", path, err)
			}
		}
	}
	lock, err := solehold.Acquire(t.Context(), filepath.Join(dir, "new"), &solehold.Options{Create: true})
	must(t, err)
	must(t, lock.Release())
}

// What lies where our files belong and is not ours is refused, and stays.
func TestPlantedEverywhere(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(string) error{
		"file for the directory": func(dir string) error { return os.WriteFile(stateDir(dir), []byte("x"), 0o600) },
		"directory for the lock": func(dir string) error { return os.MkdirAll(lockFile(dir), 0o700) },
		"second name": func(dir string) error {
			other := filepath.Join(dir, "other")
			return errors.Join(os.Mkdir(stateDir(dir), 0o700), os.WriteFile(other, []byte("x"), 0o600), os.Link(other, lockFile(dir)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := dataDir(t)
			must(t, plant(dir))
			_, err := solehold.Acquire(t.Context(), dir, nil)
			if solehold.ExitCode(err) != 78 {
				t.Errorf("want refused, got %v", err)
			}
		})
	}
}

// The first line of a program: the second start ends well, and says who has it.
func TestOnlyOrExitEverywhere(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(dataDir(t), "new")
	out, err := first(dir).Output()
	if err != nil || string(out) != "1\n" {
		t.Fatalf("%q, %v", out, err)
	}
	hold(t, dir)
	if out, err = first(dir).CombinedOutput(); err != nil || len(out) == 0 {
		t.Errorf("held: %q, %v", out, err)
	}
}

// State that lies elsewhere leaves the data directory empty.
func TestStateElsewhereEverywhere(t *testing.T) {
	t.Parallel()
	dir, elsewhere := dataDir(t), dataDir(t)
	lock, err := acquireAt(t, dir, elsewhere)
	must(t, err)
	wantEmpty(t, dir)
	other := start(t)
	wantHeld(t, other.do(t, order{Do: "acquire", Dir: dir, With: with{StateDir: elsewhere}}))
	got := other.do(t, order{Do: "acquire", Dir: dataDir(t), With: with{StateDir: elsewhere}})
	if got.Reason != solehold.Refused {
		t.Errorf("the state of another directory: %+v", got)
	}
	must(t, lock.Release())
	wantFree(t, other.do(t, order{Do: "acquire", Dir: dir, With: with{StateDir: elsewhere}}))
}

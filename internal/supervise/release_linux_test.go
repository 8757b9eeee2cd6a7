//go:build !solehold_portable

package supervise_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/evidence"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/procid"
	"github.com/solehold/solehold/internal/record"
	"github.com/solehold/solehold/internal/supervise"
	"github.com/solehold/solehold/internal/testneed"
)

// force forces the release of a site's directory, and returns the events.
func (s *site) force(change func(*supervise.Force)) (done supervise.Forced, events []solehold.Event, err error) {
	s.t.Helper()
	root, err := os.OpenRoot(filepath.Join(s.dir, ".solehold"))
	must(s.t, err)
	defer root.Close()
	f := supervise.Force{
		Dir: s.dir, Grace: 200 * time.Millisecond, Because: "asked for by a test", State: root,
		Log: func(e solehold.Event) error { events = append(events, e); return nil }, Say: s.t.Logf,
	}
	if change != nil {
		change(&f)
	}
	done, err = supervise.ForceRelease(context.Background(), f)
	return done, events, err
}

// empty checks that nobody of the tree lives and nobody holds the directory.
func (s *site) empty() {
	s.t.Helper()
	if left := marked(s.mark); len(left) > 0 {
		s.t.Errorf("still alive: %v", left)
	}
	if st := s.status(); st.State != solehold.Free {
		s.t.Errorf("status is %s", st.State)
	}
}

func kinds(events []solehold.Event) string {
	var all []string
	for _, e := range events {
		all = append(all, string(e.Kind))
	}
	return strings.Join(all, " ")
}

// Whatever the tree consists of, all of it is stopped, and what was seen of it
// before is kept: those that ignore TERM, that are stopped, that left the
// session, that closed the lock's descriptors.
func TestForcedReleaseStopsTheTree(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.sh(nil, brood+`trap "" TERM; exec sleep 1000`)
	r.out.await("up", 6)
	r.signal(syscall.SIGSTOP) // it can do nothing for its tree any more
	done, events, err := s.force(nil)
	must(t, err)
	r.wait()
	s.empty()
	if k := kinds(events); k != "incident forced" {
		t.Errorf("events: %s", k)
	}
	if !slices.Contains(done.PIDs, r.pid()) || len(done.PIDs) < 7 {
		t.Errorf("signalled: %v", done.PIDs)
	}
	if e := events[1]; !strings.Contains(e.Detail, "asked for by a test; stopped pid ") || e.PID == 0 {
		t.Errorf("event: %+v", e)
	}
	root, err := os.OpenRoot(filepath.Join(s.dir, ".solehold"))
	must(t, err)
	defer root.Close()
	in, err := evidence.Load(root, done.Incident)
	if err != nil || len(in.PIDs) < 7 || in.Finding == "" || !strings.Contains(events[0].Detail, in.Finding) {
		t.Errorf("incident %+v, %v", in, err)
	}
}

// A holder that runs its command without the lock's descriptors is stopped with
// what runs below it.
func TestForcedReleaseOfALoneHolder(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.sh(nil, `trap "" TERM; echo up; while :; do sleep 0.01; done`, "--hold", "none", "--grace", "1h")
	r.out.await("up", 1)
	_, _, err := s.force(nil)
	must(t, err)
	r.wait()
	s.empty()
}

// A holder that follows TERM writes its release itself.
func TestForcedReleaseIsAsGentleAsItCan(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.sh(nil, `trap 'echo asked; exit 4' TERM; echo up; while :; do sleep 0.01; done`)
	r.out.await("up", 1)
	_, _, err := s.force(func(f *supervise.Force) { f.Grace = patience })
	must(t, err)
	r.out.await("asked", 1)
	r.exits(4)
	s.free()
}

// The record names an innocent process as holder and child: it lives on.
func TestForcedReleaseBelievesNoRecord(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	innocent := exec.Command("sleep", "1000")
	must(t, innocent.Start())
	defer func() { innocent.Process.Kill(); innocent.Wait() }()
	r := s.start(nil, self(t), "guarded", s.dir)
	r.out.await("token 1\n", 1)
	r.signal(syscall.SIGSTOP) // else it would write its record anew
	s.forge(innocent.Process.Pid)
	if st := s.status(); st.Record.PID != innocent.Process.Pid || st.Record.Child != innocent.Process.Pid || st.State != solehold.Held {
		t.Fatalf("the fault is not planted: %+v", st)
	}
	done, _, err := s.force(nil)
	must(t, err)
	r.dies(syscall.SIGKILL)
	if slices.Contains(done.PIDs, innocent.Process.Pid) {
		t.Error("the innocent process was signalled")
	}
	if st := state(innocent.Process.Pid); st != 'S' {
		t.Errorf("the innocent process is in state %c", st)
	}
	if left := marked(s.mark); len(left) > 0 {
		t.Errorf("still alive: %v", left)
	}
}

// forge writes a record that names a process in the place of the right one.
func (s *site) forge(pid int) {
	s.t.Helper()
	path := filepath.Join(s.dir, ".solehold", "lock")
	data, err := os.ReadFile(path)
	must(s.t, err)
	rec, err := record.Decode(data)
	must(s.t, err)
	id, err := procid.Of(procfs.Default(), pid)
	must(s.t, err)
	p := record.Process{PID: id.PID, StartTicks: id.StartTicks, BootID: id.BootID, PIDNS: id.PIDNS, TimeNS: id.TimeNS, PidfsID: id.PidfsID}
	rec.Holder.Process, rec.Child = p, &p
	slot := record.NewEncoder(rec.Holder).Encode(rec)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	must(s.t, err)
	defer f.Close()
	_, err = f.WriteAt(append(slot, slot...), 0)
	must(s.t, err)
}

// Who would stop himself is refused, and nobody is signalled.
func TestForcedReleaseFromInside(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	lock, err := solehold.Acquire(context.Background(), s.dir, nil)
	must(t, err)
	defer lock.Release()
	var inside *supervise.InsideError
	if done, _, err := s.force(nil); !errors.As(err, &inside) || len(done.PIDs) > 0 {
		t.Errorf("%+v, %v", done, err)
	}
	if !supervise.Inside(*s.status().Owner) {
		t.Error("this process is not inside of itself")
	}
}

func TestForcedReleaseOfAFreeDirectory(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.sh(nil, "exit 0").exits(0)
	done, events, err := s.force(nil)
	if err != nil || len(done.PIDs) > 0 || len(events) > 0 {
		t.Errorf("%+v, %v, %v", done, events, err)
	}
}

// Without room for the evidence the holder is stopped all the same, and that is
// said (G9).
func TestG9ForcedReleaseWithoutEvidence(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*site, *supervise.Force){
		"no place": func(_ *site, f *supervise.Force) { f.State = nil },
		"no folder": func(s *site, _ *supervise.Force) {
			must(s.t, os.WriteFile(filepath.Join(s.dir, ".solehold", evidence.Folder), nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			r := s.sh(nil, "echo up; exec sleep 1000")
			r.out.await("up", 1)
			_, events, err := s.force(func(f *supervise.Force) { change(s, f) })
			must(t, err)
			r.wait()
			s.empty()
			if k := kinds(events); k != "incident forced" || !strings.Contains(events[0].Detail, "no") {
				t.Errorf("events: %+v", events)
			}
		})
	}
}

// Evidence comes before the first signal, also where it takes its time.
func TestG9EvidenceFirst(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.sh(nil, "echo up; exec sleep 1000")
	r.out.await("up", 1)
	var once sync.Once
	_, events, err := s.force(func(f *supervise.Force) {
		log := f.Log
		f.Log = func(e solehold.Event) error {
			once.Do(func() {
				if len(marked(s.mark)) < 2 {
					t.Error("somebody was gone before the evidence was written down")
				}
			})
			return log(e)
		}
	})
	must(t, err)
	r.wait()
	if kinds(events) != "incident forced" {
		t.Errorf("events: %v", events)
	}
}

// A user may stop only his own.
func TestForcedReleaseWithoutRights(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	s := newSite(t)
	must(t, os.Chmod(s.dir, 0o755))
	r := s.sh(nil, "echo up; exec sleep 1000")
	r.out.await("up", 1)
	other := s.beside().start([]how{asUser(65534)}, "/proc/self/exe", "force", s.dir) // which others may run as well
	other.exits(3)
	if text := other.out.all(); !strings.Contains(text, "nobody is seen") && !strings.Contains(text, "not permitted") {
		t.Errorf("said: %s", text)
	}
	if st := s.status(); st.State != solehold.Held {
		t.Errorf("status is %s", st.State)
	}
}

// forceIt forces a release and exits with 3 where that was in vain.
func forceIt(args []string) {
	_, err := supervise.ForceRelease(context.Background(), supervise.Force{
		Dir: args[0], Log: func(solehold.Event) error { return nil }, Say: func(string, ...any) {},
	})
	if err != nil {
		fmt.Println(err)
		os.Exit(3)
	}
}

// A request names who asks; the wrapper says it, and the history has it once.
func TestRequestIsToldOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.sh(nil, "echo up; exec sleep 1000")
	r.out.await("up", 1)
	q, err := solehold.RequestRelease(context.Background(), s.dir, solehold.ReleaseRequest{Token: 1, Why: "upgrade"}, nil)
	must(t, err)
	defer q.Withdraw()
	must(t, q.Wait(context.Background()))
	r.wait()
	r.errs.await("asked to let go by pid "+itoa(os.Getpid()), 1)
	r.errs.await("upgrade", 1)
	if h := s.history(); strings.Count(h, "release-requested") != 1 {
		t.Errorf("history: %s", h)
	}
}

// Who writes a request by hand has no hand in the history: the wrapper writes it.
func TestRequestByHandIsToldOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.sh(nil, "echo up; exec sleep 1000")
	r.out.await("up", 1)
	text, err := json.Marshal(map[string]any{"token": 1, "by": "the night shift"})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(s.dir, ".solehold", "release"), text, 0o600))
	r.wait()
	file, err := os.ReadFile(filepath.Join(s.dir, ".solehold", "history.jsonl"))
	must(t, err)
	if strings.Count(string(file), "release-requested") != 1 || !strings.Contains(string(file), "by the night shift") {
		t.Errorf("history: %s", file)
	}
}

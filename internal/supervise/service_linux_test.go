//go:build !solehold_portable

package supervise_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

// serve is a service whose health the test chooses: each question is answered in
// the way that the file names. serve FILE [ADDRESS]; without an address it
// listens on descriptor 3, which outlives it: no other process can take its port.
func serve(args []string) {
	var l net.Listener
	var err error
	if len(args) > 1 {
		l, err = net.Listen("tcp", args[1])
	} else {
		l, err = net.FileListener(os.NewFile(3, "listener"))
	}
	if err != nil {
		fmt.Println("serve:", err)
		os.Exit(1)
	}
	// Two lives at once are seen here also where nothing tells of them.
	alone, err := os.OpenFile(filepath.Join(os.Getenv(solehold.DirVar), "alone"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil || unix.Flock(int(alone.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		fmt.Println("OVERLAP", err)
	}
	fmt.Println("serving", os.Getpid())
	var a, b sync.Mutex
	http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		how, _ := os.ReadFile(args[0])
		switch mode, arg, _ := strings.Cut(string(how), " "); mode {
		case "fail":
			w.WriteHeader(http.StatusInternalServerError)
		case "hang":
			select {}
		case "crash":
			fmt.Println("last words: out of luck")
			os.Exit(3)
		case "lock":
			f, _ := os.OpenFile(arg, os.O_RDWR, 0)
			unix.Flock(int(f.Fd()), unix.LOCK_EX)
		case "deadlock":
			deadlock(&a, &b)
		case "redirect":
			w.Header().Set("Location", arg)
			w.WriteHeader(http.StatusFound)
		case "garbage":
			c, _, _ := w.(http.Hijacker).Hijack()
			io.WriteString(c, "\x00\xff SSH-2.0 \x1b[2J\r\n\r\n")
			c.Close()
		default:
			io.WriteString(w, "ok")
		}
	}))
	fmt.Println("alone", alone.Fd())
}

// deadlock takes two locks in both orders.
func deadlock(a, b *sync.Mutex) {
	var both sync.WaitGroup
	both.Add(2)
	take := func(first, second *sync.Mutex) {
		first.Lock()
		both.Done()
		both.Wait()
		second.Lock()
	}
	go take(a, b)
	take(b, a)
}

// keepLock holds a lock on a file until it is told to end.
func keepLock(args []string) {
	f, err := os.OpenFile(args[0], os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		defer f.Close() // so that it stays open till then
	}
	fmt.Println("locked", err)
	io.Copy(io.Discard, os.Stdin)
	untilKilled()
}

// served is a run of serve.
type served struct {
	*site
	*running
	url  string
	mode string
}

// serve starts a service below a wrapper that asks it every second.
func (s *site) serve(hows []how, flags ...string) *served {
	s.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(s.t, err)
	f, err := l.(*net.TCPListener).File()
	must(s.t, err)
	l.Close()
	defer f.Close()
	v := &served{site: s, url: "http://" + l.Addr().String() + "/", mode: s.path("mode")}
	flags = append([]string{
		"--health-http", v.url, "--health-period", "1s", "--health-failure-threshold", "2", "--min-failing", "0s",
		"--restart-delay", "0s", "--grace", "5s",
	}, flags...)
	v.running = s.run(append(hows, given(f)), append(flags, "--", self(s.t), "serve", v.mode)...)
	return v
}

// is chooses how the service answers.
func (v *served) is(mode string) {
	v.site.t.Helper()
	must(v.site.t, os.WriteFile(v.mode+".new", []byte(mode), 0o600))
	must(v.site.t, os.Rename(v.mode+".new", v.mode))
}

// healthy waits until it has been found healthy for the n-th time.
func (v *served) healthy(n int) {
	v.site.t.Helper()
	v.await(journal.Ready, n)
}

// events reads the history.
func (s *site) events() (all []solehold.Event) {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, ".solehold", "history.jsonl"))
	if os.IsNotExist(err) {
		return nil
	}
	must(s.t, err)
	for line := range strings.Lines(string(text)) {
		var e solehold.Event
		if !strings.HasSuffix(line, "\n") {
			break // being written
		}
		must(s.t, json.Unmarshal([]byte(line), &e))
		all = append(all, e)
	}
	return all
}

// of lists the events of one kind.
func (s *site) of(kind journal.Kind) (found []solehold.Event) {
	s.t.Helper()
	for _, e := range s.events() {
		if e.Kind == kind {
			found = append(found, e)
		}
	}
	return found
}

// await waits for the n-th event of a kind.
func (s *site) await(kind journal.Kind, n int) solehold.Event {
	s.t.Helper()
	defer func() {
		if s.t.Failed() {
			s.t.Logf("history: %+v", s.events())
		}
	}()
	testneed.Until(s.t, fmt.Sprintf("%d %s", n, kind), func() bool { return len(s.of(kind)) >= n })
	return s.of(kind)[n-1]
}

// wrong checks a history: lives do not overlap, and nothing is stopped for being
// unhealthy whose evidence is not done. It says what is wrong.
func wrong(events []solehold.Event) (faults []string) {
	living, proved := 0, false
	for _, e := range events {
		switch e.Kind {
		case journal.ChildStarted:
			if living != 0 {
				faults = append(faults, fmt.Sprintf("pid %d was started beside pid %d", e.PID, living))
			}
			living, proved = e.PID, false
		case journal.ChildExited:
			if e.PID != living {
				faults = append(faults, fmt.Sprintf("pid %d has ended, not pid %d", e.PID, living))
			}
			living = 0
		case journal.Incident:
			proved = true
		case journal.Forced:
			if strings.Contains(e.Detail, "unhealthy") && !proved {
				faults = append(faults, fmt.Sprintf("pid %d was stopped before its evidence", e.PID))
			}
		case journal.Released, journal.Acquired:
			if living != 0 {
				faults = append(faults, fmt.Sprintf("%s while pid %d lives", e.Kind, living))
			}
		}
	}
	return faults
}

// sound checks the history as it is now, and that no service met another.
func (v *served) sound() {
	v.site.t.Helper()
	for _, fault := range wrong(v.events()) {
		v.site.t.Error(fault)
	}
	if strings.Contains(v.out.text(), "OVERLAP") {
		v.site.t.Errorf("two lives at once: %s", v.out.text())
	}
	if v.site.t.Failed() {
		v.site.t.Logf("history: %s\nstderr: %s", v.history(), v.errs.text())
	}
}

// The checker sees what it is there for.
func TestHistoryCheckerSeesFaults(t *testing.T) {
	t.Parallel()
	event := func(kind journal.Kind, pid int, detail string) solehold.Event {
		return solehold.Event{Kind: kind, PID: pid, Detail: detail}
	}
	start, end := func(pid int) solehold.Event { return event(journal.ChildStarted, pid, "") }, func(pid int) solehold.Event { return event(journal.ChildExited, pid, "") }
	kill, incident := event(journal.Forced, 1, "stopped because it was unhealthy: no answer"), event(journal.Incident, 1, "")
	for name, c := range map[string]struct {
		events []solehold.Event
		faults int
	}{
		"good":            {[]solehold.Event{event(journal.Acquired, 9, ""), start(1), incident, kill, end(1), start(2), end(2), event(journal.Released, 9, "")}, 0},
		"overlap":         {[]solehold.Event{start(1), start(2)}, 1},
		"released early":  {[]solehold.Event{start(1), event(journal.Released, 9, "")}, 1},
		"no evidence":     {[]solehold.Event{start(1), kill, incident, end(1)}, 1},
		"evidence before": {[]solehold.Event{start(1), incident, end(1), start(2), kill}, 1},
		"stranger's end":  {[]solehold.Event{start(1), end(2)}, 1},
	} {
		if got := wrong(c.events); len(got) != c.faults {
			t.Errorf("%s: %v", name, got)
		}
	}
}

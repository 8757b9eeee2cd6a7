//go:build !solehold_portable

package supervise_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/record"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

// say speaks to the manager that its environment names, one datagram for each
// argument; those that begin with TERM: are for when it is asked to end, which
// then takes it four seconds. Files are sent where the protocol wants some.
func say(args []string) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	fmt.Printf("pid=%d watchdog=%s/%s listen=%s/%s\n", os.Getpid(), os.Getenv("WATCHDOG_USEC"), os.Getenv("WATCHDOG_PID"), os.Getenv("LISTEN_FDS"), os.Getenv("LISTEN_PID"))
	if os.Getenv("LISTEN_PID") == strconv.Itoa(os.Getpid()) {
		text, _ := io.ReadAll(os.NewFile(3, "given"))
		fmt.Printf("activated by %s\n", text)
	}
	var last []string
	for _, text := range args {
		if later, ok := strings.CutPrefix(text, "TERM:"); ok {
			last = append(last, later)
			continue
		}
		sayOne(text)
	}
	fmt.Println("said")
	<-asked
	for _, text := range last {
		sayOne(text)
	}
	for slow := time.Now().Add(4 * time.Second); time.Now().Before(slow); unix.Poll(nil, 50) {
	}
	os.Exit(7)
}

func sayOne(text string) {
	c, _ := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	defer unix.Close(c)
	from, to, _ := os.Pipe()
	var rights []byte
	switch {
	case strings.HasPrefix(text, "BARRIER"):
		rights = unix.UnixRights(int(to.Fd()))
	case strings.HasPrefix(text, "FDSTORE"):
		io.WriteString(to, "stored")
		rights = unix.UnixRights(int(from.Fd()))
	}
	if err := unix.Sendmsg(c, []byte(text), rights, &unix.SockaddrUnix{Name: os.Getenv("NOTIFY_SOCKET")}, 0); err != nil {
		fmt.Println("say:", err)
	}
	to.Close()
	if strings.HasPrefix(text, "BARRIER") {
		io.Copy(io.Discard, from)
		fmt.Println("barrier lifted")
	}
}

// joined is a guarded program that tells that it is ready.
func joined(args []string) {
	lock := solehold.OnlyOrExit(args[0])
	fmt.Println("ready", lock.Ready(), lock.Ready())
	untilKilled()
}

// ears is a service manager as far as its socket goes.
type ears struct {
	t    *testing.T
	path string
	conn *net.UnixConn
	mu   sync.Mutex
	said []heard
}

type heard struct {
	text string
	fds  []int
}

// newEars makes the socket; nobody reads it before listen.
func newEars(s *site) *ears {
	s.t.Helper()
	e := &ears{t: s.t, path: s.path("manager")}
	var err error
	e.conn, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: e.path, Net: "unixgram"})
	must(s.t, err)
	s.t.Cleanup(func() { e.conn.Close() })
	return e
}

func (e *ears) env() how { return withEnv("NOTIFY_SOCKET=" + e.path) }

func (e *ears) listen() *ears {
	go func() {
		buf, extra := make([]byte, 8192), make([]byte, 1024)
		for {
			n, extraN, _, _, err := e.conn.ReadMsgUnix(buf, extra)
			if err != nil {
				return
			}
			h := heard{text: string(buf[:n])}
			messages, _ := unix.ParseSocketControlMessage(extra[:extraN])
			for i := range messages {
				fds, _ := unix.ParseUnixRights(&messages[i])
				h.fds = append(h.fds, fds...)
			}
			if strings.Contains(h.text, "BARRIER=1") { // as the protocol wants it
				for _, fd := range h.fds {
					unix.Close(fd)
				}
			}
			e.mu.Lock()
			e.said = append(e.said, h)
			e.mu.Unlock()
		}
	}()
	return e
}

// all lists what was heard that has a line.
func (e *ears) all(line string) (found []heard) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, h := range e.said {
		if strings.Contains("\n"+h.text, "\n"+line) {
			found = append(found, h)
		}
	}
	return found
}

func (e *ears) await(line string, n int) heard {
	e.t.Helper()
	testneed.Until(e.t, fmt.Sprintf("the manager hears %q %d times", line, n), func() bool { return len(e.all(line)) >= n })
	return e.all(line)[n-1]
}

func TestManagerHearsWhatTheCommandSays(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	e := newEars(s).listen()
	r := s.run([]how{e.env(), withEnv("WATCHDOG_USEC=60000000"), withEnv("WATCHDOG_PID=1")}, "--", self(t), "say",
		"MAINPID=1\nSTATUS=warming up", "READY=1\nSTATUS=here", "WATCHDOG=1", "FDSTORE=1\nFDNAME=kept", "MAINPID=1", "BARRIER=1", "TERM:STOPPING=1")
	r.out.await("said", 1)
	if text := r.out.text(); !strings.Contains(text, "barrier lifted") || !strings.Contains(text, "watchdog=/ ") {
		t.Errorf("the command saw: %s", text)
	}
	e.await("STATUS=warming up", 1)
	e.await("READY=1", 1)
	e.await("WATCHDOG=1", 1)
	kept := e.await("FDSTORE=1\nFDNAME=kept", 1)
	if len(kept.fds) != 1 {
		t.Fatalf("stored %v", kept.fds)
	}
	f := os.NewFile(uintptr(kept.fds[0]), "kept")
	defer f.Close()
	if text, err := io.ReadAll(f); string(text) != "stored" {
		t.Errorf("the stored file reads %q, %v", text, err)
	}
	if ready := s.of(journal.Ready); len(ready) != 1 || !strings.Contains(ready[0].Detail, "here") {
		t.Errorf("ready: %v", ready)
	}
	r.signal(syscall.SIGTERM)
	e.await("STOPPING=1", 1)
	r.exits(7)
	if found := e.all("MAINPID"); len(found) > 0 {
		t.Errorf("the manager was told of another main process: %v", found)
	}
}

// A command that says nothing is ready when it answers, and its watchdog is
// calmed as long as it does.
func TestManagerHearsOfASilentCommand(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	e := newEars(s).listen()
	v := s.serve([]how{e.env(), withEnv("WATCHDOG_USEC=400000")}, "--on-unhealthy", "report")
	e.await("READY=1", 1)
	e.await("WATCHDOG=1", 3)
	v.is("fail")
	e.await("STATUS=unhealthy", 1)
	before := len(e.all("WATCHDOG=1"))
	v.rounds(3)
	if now := len(e.all("WATCHDOG=1")); now > before+1 { // one may have been on its way
		t.Errorf("the watchdog was calmed %d times for a failing service", now-before)
	}
	v.is("ok")
	e.await("STATUS=answers again", 1)
	before = len(e.all("WATCHDOG=1"))
	e.await("WATCHDOG=1", before+2)
	if n := len(e.all("READY=1")); n != 1 {
		t.Errorf("ready %d times", n)
	}
	v.signal(syscall.SIGTERM)
	v.wait()
}

// A command that asks for it has more time to stop; another one has not.
func TestExtendedStop(t *testing.T) {
	t.Parallel()
	for last, code := range map[string]int{"TERM:EXTEND_TIMEOUT_USEC=60000000": 7, "TERM:STATUS=slow": 128 + 9, "TERM:EXTEND_TIMEOUT_USEC=-1": 128 + 9, "TERM:EXTEND_TIMEOUT_USEC=junk": 128 + 9} {
		t.Run(last, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			e := newEars(s).listen()
			r := s.run([]how{e.env()}, "--grace", "200ms", "--no-mirror", "--", self(t), "say", last)
			r.out.await("said", 1)
			r.signal(syscall.SIGTERM)
			r.exits(code)
			s.free()
		})
	}
}

// Sockets that are meant for the wrapper reach the command, which takes them for
// its own; those of somebody else do not.
func TestSocketActivation(t *testing.T) {
	t.Parallel()
	for script, activated := range map[string]bool{`LISTEN_FDS=1 LISTEN_PID=$$ exec "$@"`: true, `LISTEN_FDS=1 LISTEN_PID=1 exec "$@"`: false} {
		s := newSite(t)
		e := newEars(s).listen()
		must(t, os.WriteFile(s.path("given"), []byte("the manager"), 0o600))
		f, err := os.Open(s.path("given"))
		must(t, err)
		r := s.run([]how{e.env(), given(f), through("export LISTEN_FDS LISTEN_PID; " + script)}, "--", self(t), "say", "READY=1")
		f.Close()
		r.out.await("said", 1)
		if got := strings.Contains(r.out.text(), "activated by the manager"); got != activated {
			t.Errorf("%s: the command saw %s", script, r.out.text())
		}
		if !strings.Contains(r.out.text(), "pid="+itoa(leader(r))+" ") {
			t.Errorf("the command is not pid %d: %s", leader(r), r.out.text())
		}
		r.signal(syscall.SIGTERM)
		r.exits(7)
		s.free()
	}
}

// A manager that is gone costs one line, and one that does not read nothing.
func TestDeafManager(t *testing.T) {
	t.Parallel()
	t.Run("gone", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		r := s.run([]how{withEnv("NOTIFY_SOCKET=" + s.path("nowhere"))}, "--", self(t), "say", "READY=1", "STATUS=a", "STATUS=b")
		r.out.await("said", 1)
		r.signal(syscall.SIGTERM)
		r.exits(7)
		if text := r.errs.all(); strings.Count(text, "does not take what is said") != 1 {
			t.Errorf("stderr: %s", text)
		}
	})
	t.Run("does not read", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		e := newEars(s) // does not listen
		words := []string{"--", self(t), "say"}
		for i := range 2000 {
			words = append(words, fmt.Sprint("STATUS=", i))
		}
		r := s.run([]how{e.env()}, words...)
		r.out.await("said", 1)
		r.signal(syscall.SIGTERM)
		r.exits(7)
	})
}

// Who promised signs of life and gives none is unhealthy.
func TestMissingSignsOfLife(t *testing.T) {
	t.Parallel()
	flags := []string{
		"--health-notify", "2s", "--health-period", "1s", "--health-failure-threshold", "1", "--min-failing", "0s",
		"--restart-delay", "0s", "--grace", "200ms",
	}
	s := newSite(t)
	r := s.run(nil, append(flags, "--", self(t), "say", "READY=1", "WATCHDOG=1")...)
	r.out.await("said", 2)
	if !strings.Contains(r.out.text(), "watchdog=2000000/ ") || !strings.Contains(r.errs.text(), "no WATCHDOG=1 for") {
		t.Errorf("stdout: %s\nstderr: %s", r.out.text(), r.errs.text())
	}
	r.signal(syscall.SIGTERM)
	r.wait()
	for _, fault := range wrong(s.events()) {
		t.Error(fault)
	}
}

// A guarded program below tells us, and we tell everybody, once.
func TestReadyOfAJoinedProgram(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	e := newEars(s).listen()
	r := s.run([]how{e.env()}, "--", self(t), "joined", s.dir)
	r.out.await("ready <nil> <nil>", 1)
	e.await("READY=1", 1)
	s.await(journal.Ready, 1)
	testneed.Until(t, "the record says ready", func() bool {
		text, err := os.ReadFile(filepath.Join(s.dir, ".solehold", "lock"))
		must(t, err)
		rec, err := record.Decode(text)
		return err == nil && rec.State == record.Ready
	})
	if n := len(s.of(journal.Ready)); n != 1 {
		t.Errorf("ready %d times: %s", n, s.history())
	}
	r.signal(syscall.SIGTERM)
	r.wait()
}

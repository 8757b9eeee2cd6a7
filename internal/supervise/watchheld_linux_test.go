//go:build !solehold_portable

package supervise_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/supervise"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

// busy is a service that answers at a port, 0 for any. Between USR1 and USR2 it
// is busy and answers nobody, and after TERM it needs some time to end.
func busy(args []string) {
	l, err := net.Listen("tcp4", "127.0.0.1:"+args[0])
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	heard := make(chan os.Signal, 8)
	signal.Notify(heard, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGTERM)
	turn := make(chan struct{}, 1)
	fmt.Printf("port %d pid %d\n", l.Addr().(*net.TCPAddr).Port, os.Getpid())
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Println("asked")
		turn <- struct{}{}
		<-turn
	}))
	for s := range heard {
		switch s {
		case syscall.SIGUSR1:
			turn <- struct{}{}
		case syscall.SIGUSR2:
			<-turn
		default:
			fmt.Println("ending")
			unix.Poll(nil, 3000)
			return
		}
	}
}

// Case C46: a busy service keeps its lock and does not answer. It is reported
// once, nobody is stopped and no second copy is started; the same program on
// another directory counts for nothing. When it ends slowly, the new one waits.
func TestC46BusyService(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	other := exec.Command(self(t), "busy", "0")
	other.Env = append(os.Environ(), partVar+"=1", markVar+"="+y.mark)
	must(t, other.Start())
	defer func() { other.Process.Kill(); other.Wait() }()
	r := y.run(nil, "--", self(t), "busy", "0")
	port, pid := y.served(r.out, 1)
	loop := y.start(nil, tool, slices.Concat(y.flags()[:2], []string{
		"--health-http=http://127.0.0.1:" + port + "/", "--health-period=1s", "--health-timeout=1s", "--restart-delay=0", "--log=" + y.path("log"),
		"--", self(t), "busy", port,
	})...)
	r.out.await("asked", 2)
	must(t, unix.Kill(pid, unix.SIGUSR1))
	loop.errs.await("alive but not well: ", 1)
	loop.errs.await(": evidence: ", 1)
	asked := strings.Count(r.out.text(), "asked")
	r.out.await("asked", asked+3)
	must(t, unix.Kill(pid, unix.SIGUSR2))
	loop.errs.await("answers again", 1)
	if said := loop.errs.text(); strings.Count(said, "\n") != 3 {
		t.Errorf("said: %q", said)
	}
	if e := y.events("incident"); len(e) != 1 {
		t.Errorf("%d incidents", len(e))
	}
	if n := len(y.events("acquired")); n != 1 {
		t.Errorf("%d acquisitions", n)
	}
	must(t, unix.Kill(pid, unix.SIGTERM))
	r.exits(0)
	testneed.Until(t, "it is started again", func() bool { return len(y.events("acquired")) == 2 && y.count("log", "port ") == 1 })
	loop.errs.await("started: nobody had it", 1)
	y.alone()
	if st := state(other.Process.Pid); st == 'X' || st == 'Z' {
		t.Error("the other copy was stopped")
	}
}

// served reads what the n-th life of busy says.
func (y *yard) served(s *screen, n int) (port string, pid int) {
	y.t.Helper()
	text := s.await("pid ", n)
	f := strings.Fields(text[strings.LastIndex(text, "port "):])
	pid, err := strconv.Atoi(f[3])
	must(y.t, err)
	return f[1], pid
}

// A holder that hangs is stopped, if that was asked for, with all that it has
// started and after the evidence, and then the service is started once. What its
// record says is not believed: an innocent process that it names lives.
func TestWatchRestartsWhatHangs(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	innocent := exec.Command("sleep", "1000")
	must(t, innocent.Start())
	defer func() { innocent.Process.Kill(); innocent.Wait() }()
	hung := y.beside()
	r := hung.sh(nil, `trap "" TERM; setsid sleep 1000 & echo up; wait`)
	r.out.await("up", 1)
	testneed.Until(t, "all of it runs", func() bool { return len(marked(hung.mark)) >= 3 })
	leader(r) // is in the record: it writes nothing over what is forged
	r.signal(syscall.SIGSTOP)
	testneed.Until(t, "it is stopped", func() bool { return state(r.pid()) == 'T' })
	y.forge(innocent.Process.Pid)
	loop := y.watch("--on-unhealthy=restart")
	r.wait()
	if left := marked(hung.mark); len(left) > 0 {
		t.Errorf("still alive: %v", left)
	}
	if st := state(innocent.Process.Pid); st != 'S' {
		t.Errorf("the innocent process is in state %c", st)
	}
	// To be the one of the record, alive and without the lock, is a danger.
	loop.errs.await("UNGUARDED: pid "+itoa(innocent.Process.Pid)+" of the record lives", 1)
	if n := y.starts(); n != 0 {
		t.Errorf("%d starts", n)
	}
	must(t, innocent.Process.Kill())
	innocent.Wait()
	loop.errs.await("started: nobody had it", 1)
	y.started(1)
	y.inOrder("acquired", "health", "incident", "forced", "acquired", "recovery")
	y.rounds(2)
	y.started(1)
}

// inOrder checks that the history has these, in this order and each as often.
func (y *yard) inOrder(want ...string) {
	y.t.Helper()
	var got []string
	for _, e := range y.events("") {
		if slices.Contains(want, string(e.Kind)) {
			got = append(got, string(e.Kind))
		}
	}
	if !slices.Equal(got, want) {
		y.t.Errorf("history: %v, want %v", got, want)
	}
}

// By default the same service is only reported.
func TestWatchReportsOnce(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	r := y.serve()
	y.sick()
	loop := y.watch()
	loop.errs.await(": evidence: ", 1)
	y.rounds(4)
	y.inOrder("acquired", "health", "incident")
	loop.signal(syscall.SIGTERM)
	loop.exits(0)
	// Nor does cron save the same again each minute.
	once := y.watch("--once")
	once.exits(1)
	if said := once.errs.all(); !strings.Contains(said, ": evidence was saved already: ") || len(y.events("incident")) != 1 {
		t.Errorf("said: %q", said)
	}
	// The twin: of another holder it is new.
	r.signal(syscall.SIGTERM)
	r.exits(0)
	r = y.serve()
	y.sick()
	y.watch("--once").exits(1)
	if n := len(y.events("incident")); n != 2 {
		t.Errorf("%d incidents", n)
	}
	y.started(2)
	y.rest(r.pid())
}

// A stop is meant for the holder that was judged. One that has come since is left
// alone, whoever started it.
func TestForcedReleaseOfTheOneWhoIsMeant(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	y.serve().kill()
	old := y.status().Token
	y.run(nil, "--orphans=stop", "--", y.service, "by hand").out.await("service by hand", 1)
	done, events, err := y.force(func(f *supervise.Force) { f.Token = old })
	if err == nil || !strings.Contains(err.Error(), "another holder") || len(done.PIDs) > 0 || strings.Contains(kinds(events), "forced") {
		t.Errorf("%+v, %s, %v", done, kinds(events), err)
	}
	if st := y.status(); st.State != solehold.Held || st.Token == old {
		t.Fatalf("it is %s with token %d", st.State, st.Token)
	}
	// The twin: the right token, and none.
	_, _, err = y.force(func(f *supervise.Force) { f.Token = y.status().Token })
	must(t, err)
	y.empty()
}

// A wrapper that was killed leaves a service that is well: silence. When that one
// hangs it is reported like any other.
func TestWatchOfAnOrphan(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	must(t, os.WriteFile(y.path("deaf"), nil, 0o644)) // it is told that its wrapper died
	y.serve().kill()
	loop := y.watch()
	y.rounds(3)
	if said := loop.errs.text(); said != "" {
		t.Errorf("said: %q", said)
	}
	y.sick()
	loop.errs.await(": evidence: ", 1)
	y.started(1)
	if e := y.events("incident"); len(e) != 1 || e[0].PID == 0 {
		t.Errorf("%+v", e)
	}
}

// Where somebody works in the directory without the lock, or the lock cannot be
// proven, nothing is started and nobody is stopped, and that is said once.
func TestWatchInDanger(t *testing.T) {
	t.Parallel()
	for state, danger := range map[string]func(*yard) int{
		"UNGUARDED": func(y *yard) int {
			return y.start(nil, "/bin/sh", "-c", `exec 9>"$DIR/file"; echo up; exec sleep 1000`).up()
		},
		"SPLIT": func(y *yard) int {
			pid := y.sh(nil, "echo up; exec sleep 1000").up()
			y.start(nil, "/bin/sh", "-c", `exec 9>"$DIR/file"; echo up; exec sleep 1000`).up()
			return pid
		},
		"DETACHED": func(y *yard) int {
			r := y.sh(nil, "echo up; exec sleep 1000")
			pid := r.up()
			r.signal(syscall.SIGSTOP)
			must(y.t, os.Remove(filepath.Join(y.dir, ".solehold", "lock")))
			return pid
		},
	} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			y := newYard(t)
			pid := danger(y)
			loop := y.watch("--on-unhealthy=restart")
			y.rounds(5)
			loop.signal(syscall.SIGTERM)
			loop.exits(0)
			once := y.watch("--once", "--on-unhealthy=restart")
			once.exits(4)
			if said := once.errs.all(); !strings.Contains(said, state) || strings.Count(said, "\n") != 1 {
				t.Errorf("said: %q", said)
			}
			if said := loop.errs.all(); !strings.Contains(said, state) || strings.Count(said, "\n") != 1 {
				t.Errorf("said: %q", said)
			}
			y.rest(pid)
			if n := y.starts(); n != 0 {
				t.Errorf("%d starts", n)
			}
		})
	}
}

// up waits until it says so.
func (r *running) up() int {
	r.t.Helper()
	r.out.await("up", 1)
	return r.pid()
}

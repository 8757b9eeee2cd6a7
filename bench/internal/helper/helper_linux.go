package helper

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/solehold/solehold/bench/internal/floor"
	"github.com/solehold/solehold/bench/internal/peers"
	"github.com/solehold/solehold/internal/drill/engine"
	"golang.org/x/sys/unix"
)

// Word is the first argument by which the benchmark knows that it is a helper.
const Word = "helper"

// Now is CLOCK_MONOTONIC in nanoseconds, the same in every process.
func Now() int64 {
	var ts unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // cannot fail with this clock
	return ts.Nano()
}

// Command is this program as a helper.
func Command(args ...string) (*exec.Cmd, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return exec.Command(exe, append([]string{Word}, args...)...), nil
}

// Main is the helper's side; args follow Word: "lock PEER DIR", or "loop WHAT DIR
// N" for a trace, "work" for what is run under a lock, "etcd DIR ADDR" for a
// server.
func Main(args []string) error {
	switch {
	case len(args) == 3 && args[0] == "lock":
		return serve(args[1], args[2])
	case len(args) == 1 && args[0] == "work":
		return work()
	case len(args) == 3 && args[0] == "etcd":
		return engine.Serve(args[1], args[2], io.Discard)
	case len(args) == 4 && args[0] == "loop":
		n, err := strconv.Atoi(args[3])
		if err != nil {
			return err
		}
		return loop(args[1], args[2], n)
	}
	return fmt.Errorf("a helper does not know %q", args)
}

func serve(peer, dir string) error {
	p, err := peers.Find(peer)
	if err != nil {
		return err
	}
	l, err := p.Open(dir)
	if err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		at, err := obey(l, in.Text())
		if err != nil {
			fmt.Println("error", err)
		} else {
			fmt.Println("ok", at)
		}
	}
	return in.Err()
}

// obey returns when the lock was had, or was about to be given back.
func obey(l peers.Lock, word string) (at int64, err error) {
	switch word {
	case "try":
		err = l.Try()
		return Now(), err
	case "wait":
		err = l.Wait()
		return Now(), err
	case "drop":
		at = Now()
		return at, l.Drop()
	}
	return 0, fmt.Errorf("unknown word %q", word)
}

// Loops are what a trace looks at: ours, and the floor that should be the same.
const (
	LoopCycle        = "cycle"
	LoopCycleFloor   = "cycle-floor"
	LoopRefused      = "refused"
	LoopRefusedFloor = "refused-floor"
)

// loop does one thing n times, for strace and profiles.
func loop(what, dir string, n int) error {
	f := floor.New(dir)
	l, err := openOurs(dir)
	if err != nil {
		return err
	}
	op, ok := map[string]func() error{
		LoopCycle: func() error { return Cycle(l) }, LoopCycleFloor: f.Cycle,
		LoopRefused: func() error { return Refused(l) }, LoopRefusedFloor: f.Refused,
	}[what]
	if !ok {
		return fmt.Errorf("no loop is called %q", what)
	}
	for range n {
		if err := op(); err != nil {
			return err
		}
	}
	return nil
}

// The words that a command under a lock says: its pid, and the time at which it
// was asked to end.
const (
	WordPID  = "pid"
	WordTold = "told"
)

// work does nothing and does not heed SIGTERM, but says so. It ends by SIGKILL,
// or by itself if nobody sends that.
func work() error {
	terms := make(chan os.Signal, 1)
	signal.Notify(terms, unix.SIGTERM)
	fmt.Println(WordPID, os.Getpid())
	for late := time.After(5 * time.Minute); ; {
		select {
		case <-terms:
			fmt.Println(WordTold, Now())
		case <-late:
			return fmt.Errorf("nobody has killed it")
		}
	}
}

func openOurs(dir string) (peers.Lock, error) {
	p, err := peers.Find(peers.Solehold)
	if err != nil {
		return nil, err
	}
	return p.Open(dir)
}

// Cycle takes the lock and gives it back.
func Cycle(l peers.Lock) error {
	if err := l.Try(); err != nil {
		return err
	}
	return l.Drop()
}

// Refused tries a lock that somebody else holds.
func Refused(l peers.Lock) error {
	switch err := l.Try(); err {
	case peers.ErrHeld:
		return nil
	case nil:
		return fmt.Errorf("the lock was free")
	default:
		return err
	}
}

// Proc is a helper seen from the benchmark.
type Proc struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// Start starts a helper for a peer on dir.
func Start(peer, dir string) (*Proc, error) {
	cmd, err := Command("lock", peer, dir)
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &Proc{cmd, in, bufio.NewScanner(out)}, cmd.Start()
}

// PID is the helper's process.
func (p *Proc) PID() int { return p.cmd.Process.Pid }

// Tell says a word and does not wait for the answer.
func (p *Proc) Tell(word string) error {
	_, err := fmt.Fprintln(p.in, word)
	return err
}

// Answer waits for the time that the helper answers with.
func (p *Proc) Answer() (int64, error) {
	if !p.out.Scan() {
		return 0, fmt.Errorf("the helper ended: %w", p.out.Err())
	}
	text, ok := strings.CutPrefix(p.out.Text(), "ok ")
	if !ok {
		return 0, fmt.Errorf("helper: %s", p.out.Text())
	}
	return strconv.ParseInt(text, 10, 64)
}

// Do says a word and waits for the answer.
func (p *Proc) Do(word string) (int64, error) {
	if err := p.Tell(word); err != nil {
		return 0, err
	}
	return p.Answer()
}

// Kill kills the helper with SIGKILL and returns the time just before.
func (p *Proc) Kill() (int64, error) {
	at := Now()
	err := p.cmd.Process.Kill()
	return at, err
}

// Close ends the helper and waits for it. How it ended does not matter.
func (p *Proc) Close() {
	p.in.Close()
	p.cmd.Process.Kill() // one that waits for a lock does not see the end of its input
	p.cmd.Wait()
}

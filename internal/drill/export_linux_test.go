package drill

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/solehold/solehold/health"
	"github.com/solehold/solehold/internal/procfs"
)

// Listener reads one line of a list of sockets.
func Listener(kind string, cols []string) (inode uint64, at string) { return listener(kind, cols) }

// Eye is an eye on a made-up /proc.
type Eye struct{ eye }

// NewEye looks at dir through fsys.
func NewEye(fsys fs.FS, dir string, ignore ...string) *Eye {
	return &Eye{eye{proc: procfs.New(fsys), dir: dir + "/", ignore: ignore, locked: map[uint64]bool{}}}
}

// Facts gives in words by what a process owns data; those that do not count are in parentheses.
func (e *Eye) Facts(pid int) (words []string, err error) {
	e.sockets.fresh = nil
	st, err := e.proc.Stat(pid)
	if err != nil {
		return nil, err
	}
	found, err := e.facts(st)
	for _, f := range found {
		text := f.String()
		if !e.counts(f) {
			text = "(" + text + ")"
		}
		words = append(words, text)
	}
	return words, err
}

// Look gives what is seen of several processes in one look.
func (e *Eye) Look(pids ...int) (words []string) {
	e.sockets.fresh = nil
	for _, pid := range pids {
		st, _ := e.proc.Stat(pid)
		found, _ := e.facts(st)
		for _, f := range found {
			words = append(words, f.String())
		}
	}
	return words
}

// Ours reports whether a path is data, and its name.
func (e *Eye) Ours(path string) (string, bool) { return e.ours(path) }

// Waits reports whether a process waits for a lock.
func (e *Eye) Waits(pid int) bool {
	st, err := e.proc.Stat(pid)
	return err == nil && e.waits(st)
}

// Busy reports whether a process works.
func (e *Eye) Busy(pid int) bool {
	st, err := e.proc.Stat(pid)
	return err == nil && e.busy(st)
}

// Gap is why the lists of sockets could not be read.
func (e *Eye) Gap() error { return e.sockets.gap }

// Below lists the pids below one.
func (e *Eye) Below(pid int) (pids []int) {
	for _, st := range below(e.proc, pid) {
		pids = append(pids, st.PID)
	}
	return pids
}

// Nursery is one cradle, driven by a test in place of a drill.
type Nursery struct {
	stage
	host *host
}

// NewNursery starts a cradle whose place is described as in its command line.
func NewNursery(self, dir, where string) (*Nursery, error) {
	n := &Nursery{stage: stage{Config: Config{Self: []string{self}, Dir: dir}, inbox: make(chan post)}}
	n.eye.proc = procfs.Default()
	p := place{}
	err := json.Unmarshal([]byte(where), &p)
	if p.Data = dir; err == nil {
		n.gate, err = newGate()
	}
	if err == nil {
		n.host, err = n.newHost(p)
	}
	return n, err
}

// PID is the cradle's.
func (n *Nursery) PID() int { return n.host.pid }

// Arm has it wait at the gate with a command.
func (n *Nursery) Arm(log string, argv ...string) error {
	return n.host.tell.Encode(order{Do: "arm", Argv: argv, Log: log})
}

// Open lets one through the gate.
func (n *Nursery) Open() error {
	_, err := n.gate.Write(binary.NativeEndian.AppendUint64(nil, 1))
	return err
}

// Order has it do something, with a number: a pid, or that of a host.
func (n *Nursery) Order(do string, number int, argv ...string) error {
	return n.host.tell.Encode(order{Do: do, PID: number, N: number, Argv: argv, Log: filepath.Join(n.Dir, "log")})
}

// Word is the next that it says; "" when it has gone.
func (n *Nursery) Word() (what, trouble string) {
	p := <-n.inbox
	return p.What, p.Error
}

// Inner gives the numbers there of all processes below it.
func (n *Nursery) Inner() []int {
	p := play{stage: &n.stage}
	return p.inner(&start{members: below(n.eye.proc, n.host.pid)})
}

// Threads gives the numbers there of all threads of it, and of what is below it.
func (n *Nursery) Threads() (all []int) {
	pids := []int{n.host.pid}
	for _, m := range below(n.eye.proc, n.host.pid) {
		pids = append(pids, m.PID)
	}
	for _, pid := range pids {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
		for _, task := range tasks {
			text, _ := os.ReadFile(task) // it may have ended
			_, line, _ := strings.Cut(string(text), "\nNSpid:")
			line, _, _ = strings.Cut(line, "\n")
			if numbers := strings.Fields(line); len(numbers) > 0 {
				number, _ := strconv.Atoi(numbers[len(numbers)-1])
				all = append(all, number)
			}
		}
	}
	return all
}

// Leave lets it go, and waits for its end.
func (n *Nursery) Leave() {
	n.host.line.Close()
	for what := "."; what != ""; what, _ = n.Word() {
	}
	n.gate.Close()
}

// Ear hears who changes files below a directory.
type Ear struct{ c *changes }

// NewEar begins to listen; deaf says why it does not hear who it was.
func NewEar(dir string) (e *Ear, deaf, err error) {
	c := hear()
	return &Ear{c}, c.deaf, c.cover(dir)
}

// Next is the next change.
func (e *Ear) Next() (pid int, path string) {
	c := <-e.c.told
	return c.pid, c.path
}

// Close ends it.
func (e *Ear) Close() { e.c.close() }

// AskOn asks until the answer is good; it gives the time that took, and the last other answer.
func AskOn(ctx context.Context, ask health.Probe) (took time.Duration, last string) {
	good, answer := make(chan time.Duration, 1), make(chan string, 1)
	askOn(ctx, ask, good, answer)
	close(good)
	close(answer)
	return <-good, <-answer
}

// Points draws the first random points of a round.
func Points(seed uint64, round, n int) (all []time.Duration) {
	d := newDice(seed, round)
	for range n {
		all = append(all, d.between(time.Second))
	}
	return all
}

// Bear makes a process start a program.
func Bear(pid int, argv ...string) (int, error) { return bear(pid, argv...) }

// TimesOf sums up durations.
func TimesOf(all ...float64) Times { return times(all) }

// Again is the command line that repeats a drill.
func (c Config) Again() string { return c.again() }

// Check fills in what was left out.
func (c Config) Check() (Config, error) { return c.withDefaults() }

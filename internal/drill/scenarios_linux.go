package drill

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/solehold/solehold/internal/procfs"
)

func scenarios() []scenario {
	return []scenario{
		{"race", "many starters released in one instant", DefaultStarters, DefaultRounds, nil, race},
		{"crash", "kill -9 at random points of life, the start included", 3, DefaultRounds, nil, crash},
		{"hang", "the owner is halted for a while (SIGSTOP)", 3, DefaultRounds, nil, hang},
		{"orphan", "only the first process, the wrapper, is killed", 3, DefaultRounds, nil, orphan},
		{"leak", "a child that outlives the owner keeps its descriptors", 3, DefaultRounds, needsTrace, leak},
		{"slow-stop", "the owner ends slowly while others start", 3, DefaultRounds, nil, slowStop},
		{"full-disk", "the disk is full, then has room again", 2, DefaultRounds, needsRoot, fullDisk},
		{"read-only", "the directory is read-only, then writable again", 2, DefaultRounds, needsRoot, readOnly},
		{"clock", "clocks since boot differ, as between containers", 2, DefaultRounds, needsRoot, clock},
		{"pid-reuse", "the dead owner's pids belong to others", 2, DefaultRounds, needsRoot, pidReuse},
		{"reboot", "everything ends at once; another boot, the pids belong to others", 2, DefaultRounds, needsRoot, reboot},
		{"partition", "two hosts, one lock at an etcd; the owner's link is cut", 2, PartitionRounds, needsNetwork, partition},
	}
}

// others starts what is to be turned away or to take over, in one instant.
func (p *play) others() ([]*start, error) {
	var all []*start
	for i := 1; i < p.Starters; i++ {
		h, err := p.host(i)
		if err != nil {
			return nil, err
		}
		all = append(all, p.newStart(h))
	}
	return all, p.release(all...)
}

// first lets one start have the data. It is nil, and the round has failed, where it does not come to that.
func (p *play) first() (*start, error) {
	h, err := p.host(0)
	if err != nil {
		return nil, err
	}
	return p.alone(h)
}

// alone lets one start on a host have the data.
func (p *play) alone(h *host) (*start, error) {
	x := p.newStart(h)
	if err := p.release(x); err != nil {
		return nil, err
	}
	owners, err := p.settle()
	if err != nil || !p.demand(owners, x) {
		return nil, err
	}
	return x, p.healthy()
}

// demand fails the round unless there is an owner.
func (p *play) demand(owners []*start, asked ...*start) bool {
	if len(owners) > 0 {
		return true
	}
	var ends []string
	for _, x := range asked {
		switch {
		case x.failed != nil:
			ends = append(ends, x.failed.Error())
		case x.end != "" && len(ends) < 3:
			ends = append(ends, strings.TrimSuffix(fmt.Sprintf("start %d: %s, %q", x.number, x.end, x.tail()), `, ""`))
		case x.alive() && len(ends) < 3:
			ends = append(ends, fmt.Sprintf("start %d: lives, and waits", x.number))
		}
	}
	p.fail("no owner: none of %d starts came to own the data (%s)", len(asked), strings.Join(ends, "; "))
	return false
}

// succeed starts the others and demands that one of them becomes the owner.
func (p *play) succeed() error {
	all, err := p.others()
	if err != nil {
		return err
	}
	owners, err := p.settle()
	if err != nil || !p.demand(owners, all...) {
		return err
	}
	return p.healthy()
}

// kill ends processes of a start as a crash would.
func (p *play) kill(x *start, which []procfs.Stat) {
	x.killed = true
	p.signal(x, which, unix.SIGKILL)
}

func race(p *play) error {
	var all []*start
	for i := range p.Starters {
		h, err := p.host(i)
		if err != nil {
			return err
		}
		all = append(all, p.newStart(h))
	}
	if err := p.release(all...); err != nil {
		return err
	}
	owners, err := p.settle()
	if err != nil || !p.demand(owners, all...) {
		return err
	}
	return p.healthy()
}

func crash(p *play) error {
	h, err := p.host(0)
	if err != nil {
		return err
	}
	if p.life == 0 { // the first round measures how long a start takes
		x, err := p.first()
		if x == nil {
			return err
		}
		h = x.host
		p.kill(x, below(p.eye.proc, h.pid))
	} else {
		x := p.newStart(h)
		if err := p.release(x); err != nil {
			return err
		}
		point := p.dice.between(p.life * 3 / 2)
		if err := p.pass(point); err != nil {
			return err
		}
		p.note(x, "crash", fmt.Sprintf("%v after its start", point.Round(time.Microsecond)))
		p.kill(x, below(p.eye.proc, h.pid))
	}
	if err := p.end(h.start); err != nil { // what it had brought forth in the same instant
		return err
	}
	return p.succeed()
}

// pass lets time go by.
func (p *play) pass(d time.Duration) error {
	if err := p.until(d, func(*post) bool { return false }); err != errTooLong {
		return err
	}
	return nil
}

func hang(p *play) error {
	x, err := p.first()
	if x == nil {
		return err
	}
	halted := p.halt(x)
	if _, err = p.others(); err == nil {
		_, err = p.settle()
	}
	p.goOn(x, halted)
	if err != nil {
		return err
	}
	p.probe.restart()
	owners, err := p.settle()
	if err != nil || !p.demand(owners, p.starts...) {
		return err
	}
	return p.healthy()
}

// halt stops every process of a start where it stands.
func (p *play) halt(x *start) []procfs.Stat {
	halted := below(p.eye.proc, x.host.pid)
	p.signal(x, halted, unix.SIGSTOP)
	x.stopped = append(x.stopped, stretch{from: time.Now(), to: time.Now()})
	return halted
}

func (p *play) goOn(x *start, halted []procfs.Stat) {
	p.signal(x, halted, unix.SIGCONT)
	x.stopped[len(x.stopped)-1].to = time.Now()
}

func orphan(p *play) error {
	x, err := p.first()
	if x == nil {
		return err
	}
	first := p.process(x, x.pid)
	if len(x.members) == 1 {
		p.remark("the command is one process: there is no wrapper to kill, so this is a crash")
	}
	if len(first) == 0 {
		p.remark("the command forks away: its first process had ended before it could be killed")
	}
	p.kill(x, first)
	all, err := p.others()
	if err != nil {
		return err
	}
	owners, err := p.settle()
	if err != nil {
		return err
	}
	if x.alive() {
		p.remark("after the death of its first process %s of a start lived on", count(len(x.members), "process"))
	}
	if len(owners) > 0 && owners[0] != x {
		return p.healthy()
	}
	// What is left of it keeps the others out, rightly. When it is gone the data must be free.
	if err := p.end(append(all, x)...); err != nil {
		return err
	}
	return p.succeed()
}

// process is the one with a number among those of a start, as it is now.
func (p *play) process(x *start, pid int) []procfs.Stat {
	for _, m := range below(p.eye.proc, x.host.pid) {
		if m.PID == pid {
			return []procfs.Stat{m}
		}
	}
	return nil
}

func slowStop(p *play) error {
	x, err := p.first()
	if x == nil {
		return err
	}
	first := p.process(x, x.pid)
	if len(first) == 0 {
		first = []procfs.Stat{p.owner(x)}
	}
	x.killed = true
	p.signal(x, first, unix.SIGTERM)
	if err := p.pass(p.dice.between(p.Settle / 3)); err != nil {
		return err
	}
	halted := p.halt(x)
	all, err := p.others()
	if err == nil {
		_, err = p.settle()
	}
	p.goOn(x, halted)
	if err == nil {
		err = p.until(p.Grace, func(*post) bool { return !x.alive() })
	}
	if err == errTooLong {
		p.ignored(x)
		err = p.end(x)
	}
	if err != nil {
		return err
	}
	owners, err := p.settle()
	if err != nil || len(owners) > 0 {
		return err
	}
	if err := p.end(all...); err != nil {
		return err
	}
	return p.succeed()
}

// ignored says what did not end on TERM.
func (p *play) ignored(x *start) {
	if x.end == "" {
		p.fail("start %d ignores TERM: pid %d lives %v later", x.number, x.pid, p.Grace)
		return
	}
	p.fail("TERM does not reach all of start %d: pid %d has ended (%s), %s lived on %v later", x.number, x.pid, x.end, count(len(x.members), "process"), p.Grace)
}

func count(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "s"):
		return fmt.Sprintf("%d %ses", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

package drill

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/solehold/solehold/internal/procfs"
)

// needsRoot is for what takes namespaces or orders to a whole machine.
func needsRoot() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: it takes root, for mounts and clocks of its own", ErrNotHere)
	}
	return nil
}

// order has a cradle do something, and waits until it has.
func (p *play) order(h *host, o order) error {
	if err := h.tell.Encode(o); err != nil {
		return err
	}
	var answer error
	err := p.until(p.Limit, func(n *post) bool {
		if n == nil || n.from != h || n.What != "done" {
			return false
		}
		if n.Error != "" {
			answer = fmt.Errorf("%s: %s", o.Do, n.Error)
		}
		return true
	})
	p.note(nil, o.Do, "")
	return errors.Join(err, answer)
}

// try starts the command once on a host, sees how that goes, and ends it.
func (p *play) try(h *host, where string) error {
	x := p.newStart(h)
	if err := p.release(x); err != nil {
		return err
	}
	owners, err := p.settle()
	if err != nil {
		return err
	}
	switch {
	case slices.Contains(owners, x):
		p.remark("%s a start comes to own the data", where)
	case x.alive():
		p.remark("%s a start lives, and does not own the data", where)
	default:
		p.remark("%s a start ends with %s", where, x.end)
	}
	return p.end(x)
}

// pair gives two cradles with the same mounts, which are not those of others.
func (p *play) pair(first place) (a, b *host, err error) {
	if a, err = p.newHost(first); err != nil {
		return nil, nil, err
	}
	b, err = p.newHost(place{Data: p.Dir, Join: a.thread, Device: a.device})
	return a, b, err
}

// fullDisk starts while the owner has a full disk, then on a full disk without one, then when there is room again.
func fullDisk(p *play) error {
	a, b, err := p.pair(place{Data: p.Dir, Small: true})
	if err != nil {
		return err
	}
	x, err := p.alone(a)
	if x == nil {
		return err
	}
	if err = p.order(a, order{Do: "fill"}); err == nil {
		err = p.try(b, "beside an owner on a full disk")
	}
	if err == nil {
		err = p.end(x)
	}
	if err == nil {
		err = p.try(b, "on a full disk")
	}
	if err == nil {
		err = p.order(a, order{Do: "free"})
	}
	if err == nil {
		_, err = p.alone(b)
	}
	return err
}

// readOnly starts where the directory is read-only, with an owner elsewhere and without one, then where it is not.
func readOnly(p *play) error {
	a, err := p.host(0)
	if err != nil {
		return err
	}
	b, err := p.newHost(place{Data: p.Dir, Mounts: true})
	if err != nil {
		return err
	}
	x, err := p.alone(a)
	if x == nil {
		return err
	}
	if err = p.order(b, order{Do: "readonly"}); err == nil {
		err = p.try(b, "beside an owner, where the directory is read-only,")
	}
	if err == nil {
		err = p.end(x)
	}
	if err == nil {
		err = p.try(b, "where the directory is read-only")
	}
	if err == nil {
		err = p.order(b, order{Do: "writable"})
	}
	if err == nil {
		_, err = p.alone(b)
	}
	return err
}

// aheadBy is what a clock since boot may differ by between containers: 400 days.
const aheadBy = 400 * 24 * 3600

// clock has owner and starter differ in the time since boot, then changes their places.
func clock(p *play) error {
	here, err := p.host(0)
	if err != nil {
		return err
	}
	ahead, err := p.newHost(place{Data: p.Dir, Ahead: aheadBy})
	if err != nil {
		return err
	}
	for _, turn := range [][2]*host{{here, ahead}, {ahead, here}} {
		x, err := p.alone(turn[0])
		if x == nil {
			return err
		}
		if err := p.release(p.newStart(turn[1])); err != nil {
			return err
		}
		if _, err = p.settle(); err != nil {
			return err
		}
		if err := p.end(p.starts...); err != nil {
			return err
		}
	}
	_, err = p.alone(ahead)
	return err
}

// pidReuse has the numbers of a dead owner's processes belong to others when the next one starts.
func pidReuse(p *play) error {
	boot, err := p.eye.proc.BootID()
	if err != nil {
		return err
	}
	h, err := p.newHost(place{Data: p.Dir, Boot: boot})
	if err != nil {
		return err
	}
	x, err := p.alone(h)
	if x == nil {
		return err
	}
	numbers := p.inner(x)
	p.kill(x, below(p.eye.proc, h.pid))
	if err := p.end(x); err != nil {
		return err
	}
	return p.amongOthers(h, numbers)
}

// inner gives the numbers that the processes of a start have where they live, the highest first: so are they given to
// others, whose threads take the numbers that follow.
func (p *play) inner(x *start) (numbers []int) {
	for _, m := range x.members {
		if status, err := p.eye.proc.Status(m.PID); err == nil && len(status.NSpid) > 0 {
			numbers = append(numbers, status.NSpid[len(status.NSpid)-1])
		}
	}
	slices.SortFunc(numbers, func(a, b int) int { return b - a })
	return numbers
}

// amongOthers starts where the numbers of the dead belong to processes that have nothing to do with it.
func (p *play) amongOthers(h *host, numbers []int) error {
	for _, pid := range numbers {
		if err := p.order(h, order{Do: "occupy", PID: pid}); err != nil {
			return err
		}
	}
	bystanders := below(p.eye.proc, h.pid)
	p.note(nil, "reused", fmt.Sprintf("%v belong to others now", numbers))
	next := p.newStart(h)
	for _, m := range bystanders {
		next.strange[m.PID] = true
	}
	if err := p.release(next); err != nil {
		return err
	}
	owners, err := p.settle()
	if err != nil {
		return err
	}
	if !slices.Equal(bystanders, p.still(bystanders)) {
		p.fail("a process that had nothing to do with it, under the pid of the dead owner, was ended")
	}
	if !p.demand(owners, next) {
		return nil
	}
	return p.healthy()
}

// still is what lives on of some processes.
func (s *stage) still(all []procfs.Stat) (alive []procfs.Stat) {
	for _, m := range all {
		if h, err := hold(s.eye.proc, m); err == nil {
			if !h.Ended() {
				alive = append(alive, m)
			}
			h.Close()
		}
	}
	return alive
}

// reboot ends everything at once, and starts on the same data under another boot id, where the numbers of the dead belong
// to others.
func reboot(p *play) error {
	h, err := p.newHost(place{Data: p.Dir, Boot: uuid()})
	if err != nil {
		return err
	}
	x, err := p.alone(h)
	if x == nil {
		return err
	}
	numbers := p.inner(x)
	h.cut, x.killed = true, true
	st, err := p.eye.proc.Stat(h.pid)
	if err != nil {
		return err
	}
	p.note(x, "power cut", "")
	send(p.eye.proc, []procfs.Stat{st}, unix.SIGKILL) // the first process of its namespace: the kernel ends the others
	if err := p.until(p.Limit, func(*post) bool { return !x.alive() }); err != nil {
		return err
	}
	next, err := p.newHost(place{Data: p.Dir, Boot: uuid()})
	if err != nil {
		return err
	}
	return p.amongOthers(next, numbers)
}

// uuid is a random boot id.
func uuid() string {
	var b [16]byte
	rand.Read(b[:]) // it never fails
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

package drill

import (
	"errors"
	"fmt"
	"slices"

	"github.com/solehold/solehold/internal/procfs"
)

// leak has the owner bring forth a child that outlives it and keeps what a program that it starts would get: the
// descriptors that are not closed by execve. Then the owner dies, and the next one must come all the same.
func leak(p *play) error {
	x, err := p.first()
	if x == nil {
		return err
	}
	owner := p.owner(x)
	child, err := bear(owner.PID, p.Self[0], BystanderVerb)
	if err != nil {
		return fmt.Errorf("let pid %d start a child: %w", owner.PID, err)
	}
	x.strange[child] = true
	p.note(x, "leaked", fmt.Sprintf("pid %d, a child of pid %d, keeps what it inherited", child, owner.PID))
	p.kill(x, []procfs.Stat{owner})
	// Whoever stands above the owner has its chance to clean up behind it.
	rest := func() []procfs.Stat {
		return slices.DeleteFunc(below(p.eye.proc, x.host.pid), func(m procfs.Stat) bool { return m.PID == child })
	}
	if err := p.until(p.Limit, func(*post) bool { return len(rest()) == 0 }); err != nil && err != errTooLong {
		return err
	}
	p.kill(x, rest())
	kept := len(below(p.eye.proc, x.host.pid)) > 0
	reasons := len(p.reasons)
	if err := p.succeed(); err != nil {
		return err
	}
	switch {
	case !kept:
		p.remark("what stands above the owner ended its left-over child")
	case len(p.reasons) > reasons:
		p.fail("pid %d, a child that outlived its owner, keeps the others out", child)
	}
	return nil
}

// needsTrace is for what makes a process do something.
func needsTrace() error {
	if !canTrace {
		return fmt.Errorf("%w: a command is made to start a child through ptrace, which is written for amd64 only", ErrNotHere)
	}
	return nil
}

var errNotInCall = errors.New("it is never seen to wait in the kernel")

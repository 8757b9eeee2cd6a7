package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/solehold/solehold/internal/procfs"
)

// limit is the longest that one experiment may take; it is for a machine that is very busy or whose file system hangs.
const limit = 2 * time.Minute

// bench is where one experiment runs.
type bench struct {
	ctx     context.Context
	dir     string // empty, and only this experiment's
	cause   bool   // false in the test that leaves out what makes the difference
	got     map[string]string
	err     error // the first; after it nothing is done any more
	actors  []*actor
	servers []*exec.Cmd    // programs that are not ours
	mounts  []string       // made by this experiment, to be undone
	undo    []func() error // what else is to be undone
	life    pipe           // its end tells whatever an actor has started to end
	gone    pipe           // ends when all of them have
}

type pipe struct{ r, w *os.File }

func newPipe() (p pipe, err error) {
	p.r, p.w, err = os.Pipe()
	return p, err
}

func (p pipe) close() {
	p.r.Close()
	p.w.Close()
}

// runIn runs e on a new bench and leaves nothing behind.
func (e *Experiment) runIn(ctx context.Context, cause bool) report {
	b, err := newBench(ctx, cause)
	if err != nil {
		return report{Error: err.Error()}
	}
	r := report{Got: b.got}
	defer func() {
		if err := b.end(); err != nil && r.Error == "" {
			r.Error = err.Error()
		}
	}()
	e.run(b)
	var missing *missingError
	switch {
	case errors.As(b.err, &missing):
		r.Missing = missing.Error()
	case b.err != nil:
		r.Error = b.err.Error()
	}
	return r
}

func newBench(ctx context.Context, cause bool) (*bench, error) {
	dir, err := os.MkdirTemp("", "solehold-lab-")
	if err != nil {
		return nil, err
	}
	b := &bench{ctx: ctx, dir: dir, cause: cause, got: map[string]string{}}
	if b.life, err = newPipe(); err != nil {
		return nil, errors.Join(err, os.Remove(dir))
	}
	if b.gone, err = newPipe(); err != nil {
		b.life.close()
		return nil, errors.Join(err, os.Remove(dir))
	}
	return b, nil
}

// end ends every process of the experiment, waits until they are gone, and removes its directory.
func (b *bench) end() error {
	for _, a := range b.actors {
		a.reap()
	}
	for _, cmd := range b.servers {
		_, _ = cmd.Process.Kill(), cmd.Wait() // killed, as it was meant
	}
	b.life.close()
	b.gone.w.Close()
	var all error
	for _, undo := range b.undo {
		all = errors.Join(all, undo())
	}
	defer b.gone.r.Close()
	if err := b.gone.r.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	if _, err := b.gone.r.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		return errors.New("a process of this experiment does not end")
	}
	return errors.Join(all, b.unmount(), os.RemoveAll(b.dir))
}

// fail ends the experiment, unless it has failed before.
func (b *bench) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// do does something that may fail, unless something has failed before.
func (b *bench) do(something func() error) {
	if b.err == nil {
		b.fail(something())
	}
}

// decisive does what makes the difference between what is believed and what happens.
func (b *bench) decisive(something func()) {
	if b.cause {
		something()
	}
}

// see writes down what was measured.
func (b *bench) see(what string, got any) {
	if b.err == nil {
		b.got[what] = fmt.Sprint(got)
	}
}

// path names a file of the experiment.
func (b *bench) path(name ...string) string {
	return filepath.Join(append([]string{b.dir}, name...)...)
}

// newDir makes a directory of the experiment.
func (b *bench) newDir(name ...string) string {
	dir := b.path(name...)
	b.do(func() error { return os.MkdirAll(dir, 0o700) })
	return dir
}

// The words of the facts about somebody who tries.
const (
	refused = "refused"
	gets    = "gets it"
)

// word says how a try has ended. Every error but "somebody has it" is one.
func word(err error) (string, error) {
	var failed *orderError
	switch {
	case err == nil:
		return gets, nil
	case errors.As(err, &failed) && failed.held():
		return refused, nil
	}
	return "", err
}

// attempt lets a try something and returns how it ends.
func (b *bench) attempt(a *actor, order ...string) (how string) {
	b.do(func() (err error) {
		_, err = a.send(order)
		how, err = word(err)
		return err
	})
	return how
}

// try is attempt, written down.
func (b *bench) try(what string, a *actor, order ...string) (how string) {
	how = b.attempt(a, order...)
	b.see(what, how)
	return how
}

// tryHeard is try for an order that was told before.
func (b *bench) tryHeard(what string, a *actor, order ...string) (how string) {
	b.do(func() (err error) {
		_, err = a.hear(order)
		how, err = word(err)
		return err
	})
	b.see(what, how)
	return how
}

// pause lets others do something, for who looks again and again for what sends no event.
func (b *bench) pause() error {
	select {
	case <-b.ctx.Done():
		return b.ctx.Err()
	case <-time.After(5 * time.Millisecond):
		return nil
	}
}

// got is 1 for who has got it, to count owners.
func got(word string) int {
	if word == gets {
		return 1
	}
	return 0
}

// micros prints a short time.
func micros(d time.Duration) string { return d.Round(time.Microsecond).String() }

// procState says in a word how a process is.
func procState(pid int) string {
	stat, err := procfs.Default().Stat(pid)
	switch {
	case err != nil:
		return "gone"
	case stat.State == 'Z':
		return "zombie"
	}
	return "alive"
}

// existsByKill asks as so many scripts do.
func existsByKill(pid int) string {
	switch err := syscall.Kill(pid, 0); {
	case errors.Is(err, syscall.ESRCH):
		return "dead"
	default:
		return "alive"
	}
}

// names counts the entries of a directory.
func (b *bench) names(dir string) (n int) {
	b.do(func() error {
		entries, err := os.ReadDir(dir)
		n = len(entries)
		return err
	})
	return n
}

package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/reload"
)

const (
	// checkLimit is how long the check of a new content may take.
	checkLimit = 30 * time.Second
	// A command that does not handle the signal yet would be ended by it: it is
	// asked again every deafPause, for deafLimit.
	deafPause = 200 * time.Millisecond
	deafLimit = time.Minute
)

// change is a new content of the file, or why it is none.
type change struct {
	version reload.Version
	err     error
	since   time.Time // when it was first to be told; zero for now
	number  int       // of changes so far: an older one that waits is void
}

// firstLimit is how long the start of the command may wait for who writes the file
// just then.
const firstLimit = time.Second

// watchFile watches the file to reload for as long as the loop runs. It is called
// before the command starts, which begins with the content of now or a newer one:
// each that comes is told. Where the file cannot be read now, that is the first.
func (r *runner) watchFile() {
	if r.c.Reload == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-r.done; cancel() }()
	n := 0
	next := func(c change) { n++; c.number = n; r.change(c) } // from one goroutine
	o := reload.Options{
		Check:    func(data []byte) error { return r.checkFile(ctx, data) },
		Refused:  func(err error) { next(change{err: err}) },
		LockFile: r.c.Reload.LockFile,
		SumFile:  r.c.Reload.SumFile,
	}
	soon, enough := context.WithTimeout(ctx, firstLimit)
	defer enough()
	if v, err := reload.Read(soon, r.c.Reload.Path, reload.Options{}); err == nil {
		o.Known = v.Data
	}
	go func() {
		err := reload.Watch(ctx, r.c.Reload.Path, o, func(v reload.Version) { next(change{version: v}) })
		if ctx.Err() == nil {
			next(change{err: fmt.Errorf("it is not watched: %w", err)})
		}
	}()
}

func (r *runner) change(c change) {
	select {
	case r.changed <- c:
	case <-r.done:
	}
}

// checkFile gives a content to the check that was asked for.
func (r *runner) checkFile(ctx context.Context, data []byte) error {
	if r.c.Reload.Check == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	exit, err := r.filter(ctx, r.c.Reload.Check, data)
	switch {
	case err != nil:
		return fmt.Errorf("the check cannot be run: %w", err)
	case ctx.Err() != nil:
		return fmt.Errorf("the check did not end within %s", checkLimit)
	case exit.Signal != 0:
		return fmt.Errorf("the check was killed by %s", SignalName(exit.Signal))
	case exit.Code != 0:
		return fmt.Errorf("the check refused it with code %d: %.200s", exit.Code, solehold.Printable(string(exit.Output)))
	}
	return nil
}

var errDeaf = errors.New("the command does not handle the signal, which would end it")

// reload tells the command of a new content, or people why it is not told.
func (r *runner) reload(c change) {
	if c.number < r.newest {
		return
	}
	r.newest = c.number
	if r.child == nil || r.end != nil || r.stopping {
		return // the next one reads the file when it starts
	}
	sig := cmp.Or(r.c.Reload.Signal, syscall.SIGHUP)
	if c.err == nil && !r.hears(sig) {
		if c.since.IsZero() {
			c.since = time.Now()
		}
		if time.Since(c.since) < deafLimit {
			time.AfterFunc(deafPause, func() { r.change(c) })
			return
		}
		c.err = errDeaf
	}
	text := fmt.Sprintf("%s has changed (sha256 %x…): %s sent", r.c.Reload.Path, c.version.Sum[:6], SignalName(sig))
	if c.err != nil {
		text = fmt.Sprintf("%s has changed and the command is not told: %v; it goes on with what it has", r.c.Reload.Path, c.err)
	} else {
		r.child.signal(sig)
	}
	r.c.Say("%s", text)
	r.log(solehold.Event{Kind: journal.Reload, PID: r.child.pid, Name: solehold.CommandLine(r.c.Command), Detail: text})
}

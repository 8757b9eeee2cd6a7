// Package clean removes what solehold and dead services have left behind, and
// only what is proven to be that. It knows names: what it does not know it does
// not touch, and the lock file and its directory are not among them. It acts
// while it holds the directory itself, so never beside an owner, and breaks no
// lock.
package clean

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/datadir"
)

// Action is what is done with one file.
type Action string

// The actions.
const (
	// Remove is what would be removed.
	Remove Action = "remove"
	// Removed is gone.
	Removed Action = "removed"
	// Keep is left, and Why says for what reason.
	Keep Action = "keep"
)

// Item is one file or folder that was judged.
type Item struct {
	// Path is where it is.
	Path string `json:"path"`
	// Kind says what it is, in words.
	Kind string `json:"kind"`
	// Bytes is its length.
	Bytes int64 `json:"bytes"`
	// Action is what is done with it.
	Action Action `json:"action"`
	// Why says why it may go, or why it stays.
	Why string `json:"why"`

	name string      // in its root
	info fs.FileInfo // when it was judged
	err  error
}

// Judge says whether a pid file names no live process, how that is known, and
// which file it has read. It must only say so where it is proven.
type Judge func(ctx context.Context, path string) (dead bool, why string)

// Options say what to clean.
type Options struct {
	// StateDir is where solehold's files lie, if not in the data directory.
	StateDir string
	// Pidfiles are pid files of the service to judge.
	Pidfiles []string
	// Judge judges them.
	Judge Judge
	// Incidents takes saved evidence too.
	Incidents bool
	// Timeout is how long the file system may take to answer; by default
	// solehold.DefaultTimeout.
	Timeout time.Duration
	// OnEvent is that of solehold.Options.
	OnEvent func(dir string, e solehold.Event)
}

// Result is what was found and done.
type Result struct {
	// Dir is the data directory.
	Dir string
	// Items are the files that were judged.
	Items []Item
}

// Count counts the items with an action.
func (r Result) Count(a Action) int {
	n := 0
	for _, i := range r.Items {
		if i.Action == a {
			n++
		}
	}
	return n
}

// Err is what kept a file from being removed, nil if nothing did.
func (r Result) Err() error {
	var all []error
	for _, i := range r.Items {
		all = append(all, i.err)
	}
	return errors.Join(all...)
}

// place is the open directory of solehold's files.
type place struct {
	root *os.Root
	path string
}

// settled returns the options with defaults filled in.
func (o Options) settled() Options {
	if o.Timeout <= 0 {
		o.Timeout = solehold.DefaultTimeout
	}
	return o
}

func (o Options) lock() *solehold.Options {
	return &solehold.Options{Name: "solehold clean", StateDir: o.StateDir, Timeout: o.Timeout, OnEvent: o.OnEvent}
}

// Look says what would be removed. It takes nothing: whether the directory has an
// owner is for the caller to ask.
func Look(ctx context.Context, dir string, o Options) (Result, error) {
	o = o.settled()
	return timely(ctx, dir, o.Timeout, func() (Result, error) {
		r := Result{Dir: dir}
		p, err := openState(dir, o.StateDir)
		if errors.Is(err, datadir.ErrNoState) {
			r.Items = o.pidfiles(ctx)
			return r, nil
		}
		if err != nil {
			return r, err
		}
		defer p.root.Close()
		r.Items, err = o.plan(ctx, p)
		return r, err
	})
}

// Do takes the directory, judges everything anew and removes what is proven
// stale. The error is a *solehold.HeldError where somebody has it; then nothing
// was touched. Nothing is changed in the record: what a predecessor left in it
// stays for the next starter to see.
func Do(ctx context.Context, dir string, o Options) (Result, error) {
	o = o.settled()
	lock, err := solehold.Acquire(ctx, dir, o.lock())
	if err != nil {
		return Result{Dir: dir}, err
	}
	defer lock.Abandon()
	if orphan := lock.Orphan(); orphan != nil {
		return Result{Dir: dir}, &solehold.OpError{Path: dir, Reason: solehold.Refused, Err: fmt.Errorf("what an earlier run left still works there without the lock: %s", orphan)}
	}
	return timely(lock.Context(), dir, o.Timeout, func() (Result, error) {
		r := Result{Dir: lock.Dir()}
		p, err := openState(dir, o.StateDir)
		if err != nil {
			return r, err
		}
		defer p.root.Close()
		if r.Items, err = o.plan(ctx, p); err != nil {
			return r, err
		}
		for i := range r.Items {
			if lock.Context().Err() != nil {
				return r, context.Cause(lock.Context()) // it was lost: somebody may have it
			}
			o.act(ctx, p.root, &r.Items[i])
		}
		return r, nil
	})
}

// act removes one item.
func (o Options) act(ctx context.Context, root *os.Root, i *Item) {
	if i.Action != Remove {
		return
	}
	switch i.Kind {
	case kindPidfile:
		o.removePidfile(ctx, i)
	case kindIncident:
		i.done(removeFolder(root, i.name, i.info))
	default:
		i.done(removeFile(root, i.name, i.info))
	}
}

// done notes the end of a removal.
func (i *Item) done(err error) {
	switch {
	case err == nil:
		i.Action = Removed
	case errors.Is(err, errChanged), errors.Is(err, errMore):
		i.Action, i.Why = Keep, err.Error()
	default:
		i.Action, i.Why, i.err = Keep, err.Error(), err
	}
}

// removePidfile asks a last time: the service may have started meanwhile.
func (o Options) removePidfile(ctx context.Context, i *Item) {
	if dead, why := o.Judge(ctx, i.Path); !dead {
		i.Action, i.Why = Keep, why
		return
	}
	root, err := os.OpenRoot(filepath.Dir(i.Path))
	if err != nil {
		i.done(err)
		return
	}
	defer root.Close()
	i.done(removeFile(root, filepath.Base(i.Path), i.info))
}

// timely gives work up in a file system that does not answer.
func timely(ctx context.Context, dir string, limit time.Duration, work func() (Result, error)) (Result, error) {
	type outcome struct {
		r   Result
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		r, err := work()
		done <- outcome{r, err}
	}()
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case end := <-done:
		return end.r, end.err
	case <-late.C:
		err := fmt.Errorf("%w within %s", solehold.ErrUnanswered, limit)
		return Result{Dir: dir}, &solehold.OpError{Op: "clean", Path: dir, Reason: solehold.Unanswered, Err: err}
	case <-ctx.Done():
		return Result{Dir: dir}, context.Cause(ctx)
	}
}

package reload

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// The defaults of Options.
const (
	DefaultMaxBytes = 16 << 20
	DefaultQuiet    = 30 * time.Millisecond
	DefaultInterval = 5 * time.Second
)

// Options are the choices of Watch. The zero value is good for most files.
type Options struct {
	// Check says what is wrong with a content; nil takes every one that is not
	// empty.
	Check func(data []byte) error
	// SumFile is a file whose first word is the SHA-256 of the content in hex, as
	// sha256sum writes it: a content that does not fit is not taken.
	SumFile string
	// LockFile is a file that the writer makes before it writes and removes when all
	// is done: nothing is handed out while it is there. That it stays, as one does
	// whose writer was killed, is told to Refused after an Interval; it is not judged
	// by its age.
	LockFile string
	// AllowEmpty takes an empty file as content too.
	AllowEmpty bool
	// Known is the content that the caller has already; nil for none.
	Known []byte
	// MaxBytes is the longest content; DefaultMaxBytes by default.
	MaxBytes int64
	// Quiet is how long a file must not have changed where nothing better shows
	// that its writer is done; DefaultQuiet by default.
	Quiet time.Duration
	// Interval is the time between two looks without an event; DefaultInterval by
	// default.
	Interval time.Duration
	// Refused is told, once for each reason in a row, why a new content is not
	// handed out. The version before stays. That somebody has the file open for
	// writing is a reason after an Interval.
	Refused func(error)
}

// Version is a content that was handed out.
type Version struct {
	// Data is the content, as it was checked.
	Data []byte
	// Sum is its SHA-256.
	Sum [sha256.Size]byte
	// Path is where it was read: the file itself, free of symlinks.
	Path string
}

// ErrEmpty says that a file has no content.
var ErrEmpty = errors.New("the file is empty")

// ErrTooLong says that a file is longer than MaxBytes.
var ErrTooLong = errors.New("the file is too long")

// ErrNotPlain says that a directory, a fifo or a device is in the file's place.
var ErrNotPlain = errors.New("not a plain file")

// ErrSum says that a content does not fit its SumFile.
var ErrSum = errors.New("the content does not fit its checksum")

// errBusy says that somebody may be writing just now.
var errBusy = errors.New("it is being written")

func (o Options) settled() Options {
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Quiet <= 0 {
		o.Quiet = DefaultQuiet
	}
	if o.Interval <= 0 {
		o.Interval = DefaultInterval
	}
	if o.Refused == nil {
		o.Refused = func(error) {}
	}
	if o.Check == nil {
		o.Check = func([]byte) error { return nil }
	}
	return o
}

// Watch hands out the content of the file at path, and again each time it has
// changed, until ctx ends, whose cause it returns. apply is called from one
// goroutine; it gets the bytes for itself. Another error says that the file cannot be
// watched at all: its folder is missing, or the system gives no more watches.
func Watch(ctx context.Context, path string, o Options, apply func(Version)) error {
	w, err := newWatcher(path, o.settled(), apply)
	if err != nil {
		return err
	}
	defer w.events.Close()
	return w.run(ctx)
}

// Read reads the file once, as Watch does: it waits until nobody writes, checks,
// and returns the content.
func Read(ctx context.Context, path string, o Options) (Version, error) {
	o = o.settled()
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		v, err := o.read(path)
		switch {
		case err == nil:
			return v, nil
		case !errors.Is(err, errBusy):
			return Version{}, err // what is refused is not handed out beside its error
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return Version{}, fmt.Errorf("%s: %w: %w", path, err, context.Cause(ctx))
		}
	}
}

// read reads and checks.
func (o Options) read(path string) (Version, error) {
	v, err := o.content(path)
	if err == nil {
		err = o.checked(path, v)
	}
	return v, err
}

// content reads what there is, if it is whole.
func (o Options) content(path string) (Version, error) {
	if err := o.unlocked(); err != nil {
		return Version{}, err
	}
	v, err := o.load(path)
	if err == nil {
		err = o.unlocked() // a writer may have begun meanwhile
	}
	if err != nil {
		return v, err
	}
	if len(v.Data) == 0 && !o.AllowEmpty {
		return v, &fs.PathError{Op: "read", Path: path, Err: ErrEmpty}
	}
	v.Sum = sha256.Sum256(v.Data)
	return v, o.fits(v)
}

// unlocked reports errBusy while the writer's lock file is there, whatever it is.
func (o Options) unlocked() error {
	if o.LockFile == "" {
		return nil
	}
	switch _, err := os.Lstat(o.LockFile); {
	case err == nil:
		return fmt.Errorf("%w: %s is there", errBusy, o.LockFile)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return nil
}

func (o Options) checked(path string, v Version) error {
	if err := o.Check(v.Data); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

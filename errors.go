package solehold

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"syscall"
	"time"

	"github.com/solehold/solehold/internal/datadir"
)

// ErrHeld is what errors.Is finds in a *HeldError: somebody else holds the
// directory. No other failure is ever reported as this.
var ErrHeld = errors.New("already has its owner")

// ErrUnanswered is in the *OpError of a file system that did not answer in time.
var ErrUnanswered = errors.New("the file system did not answer")

// HeldError says that a directory has its owner.
type HeldError struct {
	// Path is the directory, free of symlinks where the kernel tells.
	Path string
	// Self says that this process itself holds it.
	Self bool
	// Waited is how long the caller waited in vain.
	Waited time.Duration

	find   func() Owner
	once   sync.Once
	holder Owner
}

// Holder tells who holds the directory and how well that is proven. It looks at
// the first call, so a holder that has gone meanwhile may be shown as unseen.
func (e *HeldError) Holder() Owner {
	e.once.Do(func() {
		if e.find != nil {
			e.holder = e.find()
		}
	})
	return e.holder
}

// Error is one line for people: what has an owner, who it is, since when.
func (e *HeldError) Error() string {
	switch {
	case e.Self:
		return e.Path + " is already held by this process"
	case e.Waited > 0:
		return fmt.Sprintf("%s is still held after %s: %s", e.Path, round(e.Waited), e.Holder())
	case !e.Holder().Visible():
		return fmt.Sprintf("%s is held, but %s", e.Path, e.Holder())
	}
	return fmt.Sprintf("%s already has its owner: %s", e.Path, e.Holder())
}

// Is makes errors.Is(err, ErrHeld) true.
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// Reason is the kind of an *OpError; each has its exit code.
type Reason string

// The reasons.
const (
	// CannotCreate is a missing or full place: ENOENT, ENOTDIR, EROFS, ENOSPC and the like.
	CannotCreate Reason = "cannot create"
	// NotPermitted is EACCES or EPERM.
	NotPermitted Reason = "not permitted"
	// LockFailed is a lock call that failed for another reason than a holder.
	LockFailed Reason = "lock failed"
	// Unanswered is a file system that did not answer in time.
	Unanswered Reason = "unanswered"
	// Refused is a configuration that would not be safe.
	Refused Reason = "refused"
	// Unsupported is a system that this is not written for yet.
	Unsupported Reason = "unsupported"
)

// OpError is a failure that says nothing about a holder.
type OpError struct {
	// Op is what was tried, in words.
	Op string
	// Path is the file or directory.
	Path string
	// Reason is the kind of failure.
	Reason Reason
	// Err is the cause; errors.Is finds the errno and fs.ErrPermission in it.
	Err error
}

// Error names the path, what was tried and the cause.
func (e *OpError) Error() string {
	if e.Op == "" {
		return e.Path + ": " + e.Err.Error()
	}
	return fmt.Sprintf("%s: cannot %s: %v", e.Path, e.Op, e.Err)
}

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// LostError is the cause in the context of a lock that can no longer be proven.
type LostError struct {
	// Path is the data directory.
	Path string
	// Why says what was seen.
	Why string
}

// Error names the directory and what was seen.
func (e *LostError) Error() string { return e.Path + ": the lock is lost: " + e.Why }

// opError turns an error of the layers below into an *OpError.
func opError(op, path string, err error) error {
	var refused *datadir.RefusedError
	if errors.As(err, &refused) {
		return &OpError{Path: refused.Path, Reason: Refused, Err: errors.New(refused.Why)}
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		path, err = pe.Path, pe.Err
	}
	return &OpError{Op: op, Path: path, Reason: reasonOf(err), Err: err}
}

func reasonOf(err error) Reason {
	switch {
	case errors.Is(err, syscall.ENOLCK), errors.Is(err, syscall.EIO), errors.Is(err, syscall.ENOSYS),
		errors.Is(err, syscall.EOPNOTSUPP), errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.EBADF):
		return LockFailed // before ErrUnsupported, which EOPNOTSUPP also is
	case errors.Is(err, fs.ErrPermission):
		return NotPermitted
	case errors.Is(err, errors.ErrUnsupported):
		return Unsupported
	case errors.Is(err, ErrUnanswered):
		return Unanswered
	}
	return CannotCreate
}

// The exit codes of solehold (sysexits.h, where it has a word).
const (
	exitUsage        = 64
	exitCannotCreate = 73
	exitLockIO       = 74
	exitLost         = 76
	exitPermission   = 77
	exitRefused      = 78
)

// ExitCode returns the exit code that solehold's commands use for an error:
// 0 for nil and for a held directory, since one live owner is what was wanted;
// 73 cannot create, 74 lock failed or not answered, 76 lost, 77 not permitted,
// 78 refused, 64 for a system without support, 1 for anything else.
func ExitCode(err error) int {
	var op *OpError
	var lost *LostError
	switch {
	case err == nil, errors.Is(err, ErrHeld):
		return 0
	case errors.As(err, &lost):
		return exitLost
	case !errors.As(err, &op):
		return 1
	}
	switch op.Reason {
	case CannotCreate:
		return exitCannotCreate
	case LockFailed, Unanswered:
		return exitLockIO
	case NotPermitted:
		return exitPermission
	case Refused:
		return exitRefused
	}
	return exitUsage
}

// unanswered is the error of a bounded call whose time is over.
func unanswered(ctx context.Context, path, op string, after time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &OpError{Op: op, Path: path, Reason: Unanswered, Err: fmt.Errorf("%w within %s", ErrUnanswered, round(after))}
}

func round(d time.Duration) time.Duration {
	switch {
	case d > time.Minute:
		return d.Round(time.Second)
	case d > time.Second:
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Millisecond)
}

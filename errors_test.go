package solehold_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold"
)

func TestExitCode(t *testing.T) {
	t.Parallel()
	of := func(r solehold.Reason) error {
		return fmt.Errorf("in a command: %w", &solehold.OpError{Path: "/x", Reason: r, Err: syscall.EIO})
	}
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{&solehold.HeldError{}, 0},
		{fmt.Errorf("in a command: %w", &solehold.HeldError{}), 0},
		{of(solehold.CannotCreate), 73},
		{of(solehold.LockFailed), 74},
		{of(solehold.Unanswered), 74},
		{&solehold.LostError{}, 76},
		{of(solehold.NotPermitted), 77},
		{of(solehold.Refused), 78},
		{of(solehold.Unsupported), 64},
		{context.Canceled, 1},
		{syscall.EAGAIN, 1},
	} {
		if got := solehold.ExitCode(c.err); got != c.want {
			t.Errorf("%v: exit code %d, want %d", c.err, got, c.want)
		}
	}
}

// Only a HeldError is ErrHeld, whatever the errno.
func TestErrHeldIsOnlyHeld(t *testing.T) {
	t.Parallel()
	for _, err := range []error{syscall.EAGAIN, &solehold.OpError{Err: syscall.EAGAIN}, &solehold.LostError{}} {
		if errors.Is(err, solehold.ErrHeld) {
			t.Errorf("%v sounds like a holder", err)
		}
	}
	if !errors.Is(&solehold.HeldError{}, solehold.ErrHeld) {
		t.Error("a HeldError is not ErrHeld")
	}
}

// Each message names what it is about.
func TestErrorTexts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want string
	}{
		{&solehold.HeldError{Path: "/d", Self: true}, "/d is already held by this process"},
		{&solehold.OpError{Op: "take the lock", Path: "/d/lock", Err: syscall.ENOLCK}, "/d/lock: cannot take the lock: " + syscall.ENOLCK.Error()},
		{&solehold.OpError{Path: "/d", Err: errors.New("the reason")}, "/d: the reason"},
		{&solehold.LostError{Path: "/d", Why: "the reason"}, "/d: the lock is lost: the reason"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	unseen := (&solehold.HeldError{Path: "/d"}).Error()
	if !strings.HasPrefix(unseen, "/d is held, but no process visible here") {
		t.Errorf("%q", unseen)
	}
}

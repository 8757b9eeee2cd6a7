package locklost

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"github.com/gofrs/flock"
	"github.com/juju/fslock"
	"github.com/rogpeppe/go-internal/lockedfile"
	"github.com/solehold/solehold"
)

func onlyError(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) // want `the lock ends at the next garbage collection: nothing keeps f`
}

func closedOnErrorOnly(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil { // want `nothing keeps f`
		f.Close()
		return err
	}
	fmt.Fprintln(f, os.Getpid())
	return nil
}

type guard struct {
	fd   int
	file *os.File
	fl   *flock.Flock
}

func (g *guard) onlyNumber(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	g.fd = int(f.Fd())
	if err = syscall.Flock(g.fd, syscall.LOCK_EX); err != nil { // want `nothing keeps f`
		return err
	}
	return nil
}

func number(path string) (int, error) {
	f, err := os.Open(path)
	if err != nil {
		return -1, err
	}
	fd := int(f.Fd())
	if err := syscall.Flock(fd, syscall.LOCK_EX); err != nil { // want `nothing keeps f`
		return -1, err
	}
	return fd, nil
}

func throughFunction(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	if err := exclusive(f); err != nil { // want `nothing keeps f`
		return err
	}
	return nil
}

func exclusive(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX) }

func library(path string) error {
	fl := flock.New(path)
	ok, err := fl.TryLock() // want `nothing keeps fl`
	if err != nil {
		return err
	}
	if !ok {
		return errors.New("held")
	}
	return nil
}

func chained(path string) bool {
	ok, _ := flock.New(path).TryLock() // want `the lock is dropped`
	return ok
}

func dropped(ctx context.Context, dir string) error {
	_, err := solehold.Acquire(ctx, dir, nil) // want `the lock is dropped`
	lockedfile.Edit(dir + "/x")               // want `the lock is dropped`
	return err
}

func take(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := exclusive(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func own(path string) error {
	_, err := take(path) // want `the lock is dropped`
	return err
}

// maybe gives nil and no error where another one has the lock.
func maybe(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := exclusive(f); errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, f.Close()
	}
	return f, nil
}

func notKept(path string) error {
	f, err := maybe(path) // want `nothing keeps f`
	if f == nil {
		return err
	}
	return nil
}

// Right.

func foundNil(path string) error {
	f, err := maybe(path)
	if f == nil {
		if errors.Is(err, os.ErrPermission) {
			return nil
		}
		return err
	}
	defer f.Close()
	return nil
}

func foundNilAndMore(path string) error {
	f, err := maybe(path)
	if f == nil && !errors.Is(err, errors.ErrUnsupported) {
		return errors.Join(err, errors.New("another one has it"))
	}
	defer f.Close()
	return nil
}

func (g *guard) stored(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	g.file = f
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
}

func (g *guard) storedLibrary(path string) error {
	g.fl = flock.New(path)
	return g.fl.Lock()
}

var global *os.File

func inPackage(path string) (err error) {
	if global, err = os.Open(path); err != nil {
		return err
	}
	return syscall.Flock(int(global.Fd()), syscall.LOCK_EX)
}

func deferred(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return exclusive(f)
}

func deferredLater(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	if err := exclusive(f); err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return nil
}

func keptAlive(path string, serve func()) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	if err := exclusive(f); err != nil {
		return err
	}
	serve()
	runtime.KeepAlive(f)
	return nil
}

func closes(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	if err := exclusive(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func captured(path string) (func() error, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := exclusive(f); err != nil {
		return nil, err
	}
	return func() error { return f.Close() }, nil
}

func methodValue(path string) (func() error, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return f.Close, exclusive(f)
}

// A bare number is never collected.
func rawNumber(path string) error {
	fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return syscall.Flock(fd, syscall.LOCK_EX)
}

// This library keeps a bare number too.
func numberInside(path string) error {
	l := fslock.New(path)
	return l.TryLock()
}

func forLife(dir string) { solehold.OnlyOrExit(dir) }

type box[T any] struct{ v T }

func (b *box[T]) generic(path string, with T) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	b.v = with
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX) // want `nothing keeps f`
}

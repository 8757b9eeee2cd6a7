package peers

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"github.com/juju/fslock"
	"github.com/nightlyone/lockfile"
	"github.com/rogpeppe/go-internal/lockedfile"
	"github.com/solehold/solehold"
	bbolt "go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"
	"golang.org/x/sys/unix"
)

// All returns ours, the floor of waiting, the others, and ours with a sync.
func All() []Peer {
	return []Peer{
		{Solehold, "Acquire+Release, NoSync", openSolehold(solehold.Options{NoSync: true})},
		{"flock(2)", "open, flock, close", func(dir string) (Lock, error) { return &bare{path: file(dir)}, nil }},
		{"gofrs/flock", "TryLock+Unlock", openGofrs(10 * time.Millisecond)},
		{"gofrs/flock 50 ms", "TryLock+Unlock", openGofrs(50 * time.Millisecond)},
		{"lockedfile", "Mutex Lock+unlock", func(dir string) (Lock, error) { return &mutex{m: lockedfile.MutexAt(file(dir))}, nil }},
		{"juju/fslock", "TryLock+Unlock", func(dir string) (Lock, error) { return &juju{fslock.New(file(dir))}, nil }},
		{"nightlyone", "TryLock+Unlock", openNightlyone},
		{"bbolt", "Open+Close", func(dir string) (Lock, error) { return &bolt{path: file(dir)}, nil }},
		{SoleholdSync, "Acquire+Release", openSolehold(solehold.Options{})},
		{SoleholdDirect, "Acquire+Release, NoSync, NoTimeout", openSolehold(solehold.Options{NoSync: true, Timeout: solehold.NoTimeout})},
	}
}

func file(dir string) string { return filepath.Join(dir, "peer") }

// bare is flock(2) with nothing around it.
type bare struct {
	path string
	fd   int
}

func (l *bare) Try() error  { return l.take(unix.LOCK_EX | unix.LOCK_NB) }
func (l *bare) Wait() error { return l.take(unix.LOCK_EX) }
func (l *bare) Drop() error { return unix.Close(l.fd) }

func (l *bare) take(how int) (err error) {
	if l.fd, err = unix.Open(l.path, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o600); err != nil {
		return err
	}
	for {
		switch err = unix.Flock(l.fd, how); err {
		case unix.EINTR:
			continue
		case unix.EWOULDBLOCK:
			err = ErrHeld
		}
		if err != nil {
			unix.Close(l.fd)
		}
		return err
	}
}

func openGofrs(delay time.Duration) func(string) (Lock, error) {
	return func(dir string) (Lock, error) { return &gofrs{flock.New(file(dir)), delay}, nil }
}

type gofrs struct {
	f     *flock.Flock
	delay time.Duration
}

func (l *gofrs) Try() error  { return taken(l.f.TryLock()) }
func (l *gofrs) Wait() error { return taken(l.f.TryLockContext(context.Background(), l.delay)) }
func (l *gofrs) Drop() error { return l.f.Unlock() }

func taken(ok bool, err error) error {
	if err == nil && !ok {
		return ErrHeld
	}
	return err
}

type mutex struct {
	m      *lockedfile.Mutex
	unlock func()
}

func (l *mutex) Try() error { return errors.ErrUnsupported }

func (l *mutex) Wait() (err error) {
	l.unlock, err = l.m.Lock()
	return err
}

func (l *mutex) Drop() error {
	l.unlock()
	return nil
}

type juju struct{ l *fslock.Lock }

func (l *juju) Try() error {
	if err := l.l.TryLock(); err != fslock.ErrLocked {
		return err
	}
	return ErrHeld
}

func (l *juju) Wait() error { return l.l.Lock() }
func (l *juju) Drop() error { return l.l.Unlock() }

func openNightlyone(dir string) (Lock, error) {
	path, err := filepath.Abs(file(dir))
	if err != nil {
		return nil, err
	}
	f, err := lockfile.New(path)
	return &nightly{f}, err
}

type nightly struct{ f lockfile.Lockfile }

func (l *nightly) Try() error {
	if err := l.f.TryLock(); !errors.Is(err, lockfile.ErrBusy) {
		return err
	}
	return ErrHeld
}

func (l *nightly) Wait() error { return errors.ErrUnsupported }
func (l *nightly) Drop() error { return l.f.Unlock() }

type bolt struct {
	path string
	db   *bbolt.DB
}

// Try gives bbolt the shortest time: it tries once and then finds that time over.
func (l *bolt) Try() error {
	if err := l.open(time.Nanosecond); !errors.Is(err, bbolterrors.ErrTimeout) {
		return err
	}
	return ErrHeld
}

func (l *bolt) Wait() error { return l.open(time.Hour) }
func (l *bolt) Drop() error { return l.db.Close() }

func (l *bolt) open(timeout time.Duration) (err error) {
	l.db, err = bbolt.Open(l.path, 0o600, &bbolt.Options{Timeout: timeout})
	return err
}

package locktemp

import (
	"context"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gofrs/flock"
	"github.com/rogpeppe/go-internal/lockedfile"
	"github.com/solehold/solehold"
	"golang.org/x/sys/unix"
)

const relative = "kb.lock"

func shared() []error {
	a := flock.New("/tmp/kb.lock")                          // want `this lock file is in /tmp`
	b := flock.New(filepath.Join(os.TempDir(), "kb.lock"))  // want `this lock file is in os.TempDir\(\)`
	c := flock.New(os.TempDir() + "/kb.lock")               // want `this lock file is in os.TempDir\(\)`
	d := flock.New(relative)                                // want `the name of this lock file is relative`
	e := lockedfile.MutexAt(filepath.Join("/var/tmp", "x")) // want `this lock file is in /var/tmp`
	_, err := e.Lock()
	return []error{a.Lock(), b.Lock(), c.Lock(), d.Lock(), err}
}

func raw() (*os.File, error) {
	dir := os.TempDir()
	path := filepath.Join(dir, "kb")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) // want `this lock file is in os.TempDir\(\)`
	if err != nil {
		return nil, err
	}
	return f, syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
}

func inWorkingDir() error {
	fd, err := unix.Openat(unix.AT_FDCWD, "kb.lock", unix.O_RDWR|unix.O_CLOEXEC, 0) // want `the name of this lock file is relative`
	if err != nil {
		return err
	}
	return unix.Flock(fd, unix.LOCK_EX)
}

func pid(b []byte) error { return os.WriteFile("/tmp/kb.pid", b, 0o600) } // want `this pid file is in /tmp`

func directory(ctx context.Context) (*solehold.Lock, error) {
	return solehold.Acquire(ctx, "/tmp/kb", nil) // want `this data directory is in /tmp`
}

// Right.

func fixed(dir string) []error {
	a := flock.New("/var/lib/kb/lock")
	b := flock.New(filepath.Join(dir, "kb.lock"))
	return []error{a.Lock(), b.Lock()}
}

func private() error {
	dir, err := os.MkdirTemp("", "kb")
	if err != nil {
		return err
	}
	return flock.New(filepath.Join(dir, "lock")).Lock()
}

func inOpenRoot(dir string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile("kb.lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return f, syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
}

func inOpenDir(dir int) error {
	fd, err := unix.Openat(dir, "kb.lock", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return unix.Flock(fd, unix.LOCK_EX)
}

func notLocked(b []byte) error { return os.WriteFile("/tmp/report.txt", b, 0o600) }

func chosen(path string) error {
	if path == "" {
		path = "/tmp/x"
	}
	return flock.New(path).Lock()
}

package lockremove

import (
	"os"
	"path/filepath"
	"syscall"

	"github.com/gofrs/flock"
	"github.com/nightlyone/lockfile"
)

func afterUnlock(dir string) {
	path := filepath.Join(dir, "app.lock")
	fl := flock.New(path)
	defer os.Remove(path) // want `the lock file \(locked at a.go:16\) is removed`
	if ok, err := fl.TryLock(); !ok || err != nil {
		return
	}
	defer fl.Unlock()
}

type lock struct {
	path string
	fl   *flock.Flock
}

func newLock(path string) *lock { return &lock{path: path, fl: flock.New(path)} }

func (l *lock) take() error { return l.fl.Lock() }

func (l *lock) drop() error {
	if err := l.fl.Unlock(); err != nil {
		return err
	}
	return os.Remove(l.path) // want `is removed`
}

func byName(dir string) error {
	f, err := os.OpenFile(dir+"/LOCK", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	os.Remove(f.Name())                       // want `is removed`
	_ = os.Remove(filepath.Join(dir, "LOCK")) // want `is removed`
	return os.Rename(dir+"/new", dir+"/LOCK") // want `is renamed`
}

const fixed = "/run/app/lock"

func fixedPath() error {
	fl := flock.New(fixed)
	defer fl.Unlock()
	if err := fl.Lock(); err != nil {
		return err
	}
	return os.Remove("/run/app/lock") // want `is removed`
}

// Right: other files, paths that cannot be followed, a library whose lock is the file itself.

func otherFile(dir string) error {
	fl := flock.New(filepath.Join(dir, "app.lock"))
	if err := fl.Lock(); err != nil {
		return err
	}
	defer fl.Unlock()
	return os.Remove(filepath.Join(dir, "app.pid"))
}

func setTwice(a, b string) error {
	path := a
	fl := flock.New(path)
	if err := fl.Lock(); err != nil {
		return err
	}
	defer fl.Unlock()
	path = b
	return os.Remove(path)
}

func presence(path string) error {
	l, err := lockfile.New(path)
	if err != nil {
		return err
	}
	defer l.Unlock()
	return l.TryLock()
}

func exclusive(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(path)
	return f.Close()
}

// inUse deletes data unless somebody has locked it.
func inUse(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return err
	}
	return os.Remove(path)
}

func allowed(path string) error {
	fl := flock.New(path)
	if err := fl.Lock(); err != nil {
		return err
	}
	//solehold:allow lockremove the whole tree goes and nobody can start any more
	return os.Remove(path)
}

// sameNameElsewhere removes a file of the working directory, not the one in root.
func sameNameElsewhere(root *os.Root) error {
	f, err := root.OpenFile("kb.lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	return os.Remove("kb.lock")
}

package sites

import (
	"os"

	"github.com/gofrs/flock"
	"github.com/nightlyone/lockfile"
	"github.com/rogpeppe/go-internal/lockedfile"
	"golang.org/x/sys/unix"
)

func raw(how int) error {
	f, err := os.Open("/a")
	if err != nil {
		return err
	}
	fd := int(f.Fd())
	unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) // want `lock by f on "/a"$`
	unix.Flock(fd, unix.LOCK_UN)
	unix.Flock(fd, how)                                                      // want `lock by f on "/a" unsure`
	unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}) // want `lock by f on "/a" posix`
	unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_UNLCK})
	unix.FcntlFlock(f.Fd(), unix.F_GETLK, &unix.Flock_t{Type: unix.F_WRLCK})
	unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}) // want `lock by f on "/a"$`
	return f.Close()
}

type guard struct{ file *os.File }

func (g *guard) open(path string) (err error) {
	g.file, err = os.OpenFile(path, os.O_RDWR, 0)
	return err
}

func (g *guard) lock() error { return exclusive(g.file) } // want `lock by file on var`

func exclusive(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX) } // want `lock by f on $`

func libraries(path string) error {
	fl := flock.New(path)
	if err := fl.Lock(); err != nil { // want `lock by fl on var`
		return err
	}
	l, err := lockfile.New("/b")
	if err != nil {
		return err
	}
	if err := l.TryLock(); err != nil { // want `lock by l on "/b" leaves`
		return err
	}
	unlock, err := lockedfile.MutexAt("/c").Lock() // want `lock by unlock on "/c"`
	if err != nil {
		return err
	}
	unlock()
	f, err := lockedfile.Edit("/d") // want `lock by f on "/d"`
	if err != nil {
		return err
	}
	return f.Close()
}

type keeper struct{ kept *os.File }

func take(path string) (*keeper, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := exclusive(f); err != nil { // want `lock by f on var`
		return nil, err
	}
	g := &keeper{kept: f}
	return g, nil
}

func taker() error {
	g, err := take("/e") // want `lock by g on $`
	if err != nil {
		return err
	}
	return g.kept.Close()
}

func once(f *os.File) error {
	defer unix.Flock(int(f.Fd()), unix.LOCK_UN)
	return unix.Flock(int(f.Fd()), unix.LOCK_EX) // want `lock by f on $`
}

func onceMore(f *os.File) error { return once(f) }

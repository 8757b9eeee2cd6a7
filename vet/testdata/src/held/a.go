package held

import (
	"errors"
	"os"
	"syscall"

	"github.com/gofrs/flock"
)

func here()              {}
func use(f *flock.Flock) {}
func cond() bool         { return true }

func plain(fl *flock.Flock) {
	here() // want `held false deferred false`
	if err := fl.Lock(); err != nil {
		here() // want `held false deferred false`
		return
	}
	here() // want `held true deferred false`
	fl.Unlock()
	here() // want `held false deferred false`
}

func inCondition(fl *flock.Flock) {
	if fl.Lock() != nil {
		here() // want `held false deferred false`
	} else {
		here() // want `held true deferred false`
	}
	here() // want `held false deferred false`
}

func deferred(fl *flock.Flock) {
	err := fl.Lock()
	if err == nil {
		defer fl.Unlock()
		use(fl)
		here() // want `held true deferred true`
	}
}

func deferredFirst(fl *flock.Flock) {
	defer func() { _ = fl.Unlock() }()
	if err := fl.Lock(); err != nil {
		return
	}
	here() // want `held true deferred true`
}

func two(fl *flock.Flock) {
	ok, err := fl.TryLock()
	if err != nil || !ok {
		here() // want `held false deferred false`
		return
	}
	here() // want `held true deferred false`
}

func twoByTwo(fl *flock.Flock) {
	ok, err := fl.TryLock()
	if err != nil {
		return
	}
	if ok {
		here() // want `held true deferred false`
	} else {
		here() // want `held false deferred false`
	}
}

func and(fl *flock.Flock) {
	if ok, err := fl.TryLock(); ok && err == nil {
		here() // want `held true deferred false`
	} else {
		here() // want `held false deferred false`
	}
}

func otherQuestions(fl *flock.Flock) {
	err := fl.Lock()
	if errors.Is(err, os.ErrPermission) {
		here() // want `held false deferred false`
		return
	}
	here() // want `held true deferred false`
	err = errors.New("another")
	if err != nil {
		here() // want `held true deferred false`
	}
}

func somePaths(fl *flock.Flock) {
	if cond() {
		fl.Lock()
	}
	here() // want `held false deferred false`
}

func loop(fl *flock.Flock) {
	for cond() {
		here() // want `held false deferred false`
		fl.Lock()
		here() // want `held true deferred false`
		fl.Unlock()
	}
}

func handed(fl *flock.Flock) {
	fl.Lock()
	here() // want `held true deferred false`
	use(fl)
	here() // want `held false deferred false`
}

func maybe(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == syscall.EWOULDBLOCK {
		return nil, f.Close()
	}
	return f, nil
}

func nilMeansNone(path string) error {
	f, err := maybe(path)
	if f == nil {
		here() // want `held false deferred false`
		return err
	}
	here() // want `held true deferred false`
	return f.Close()
}

func nilAndMore(path string) {
	f, err := maybe(path)
	if f == nil && !errors.Is(err, errors.ErrUnsupported) {
		here() // want `held false deferred false`
		return
	}
	here() // want `held false deferred false`
	if f != nil {
		f.Close()
	}
}

func notNil(path string) {
	if f, _ := maybe(path); f != nil {
		here() // want `held true deferred false`
	} else {
		here() // want `held false deferred false`
	}
}

func switched(fl *flock.Flock) {
	switch err := fl.Lock(); {
	case err != nil:
		here() // want `held false deferred false`
	default:
		here() // want `held true deferred false`
	}
}

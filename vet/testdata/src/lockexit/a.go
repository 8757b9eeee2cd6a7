package main

import (
	"context"
	"errors"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/gofrs/flock"
	"github.com/nightlyone/lockfile"
	"github.com/rogpeppe/go-internal/lockedfile"
	"github.com/solehold/solehold"
)

func serve() error { return errors.New("no") }

func main() {
	lock, err := solehold.Acquire(context.Background(), "/srv/kb", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer lock.Release()
	if err := serve(); err != nil {
		log.Fatal(err) // want `the process ends here with the lock from a.go:20 held, and its deferred release does not run`
	}
	os.Exit(0) // want `deferred release does not run`
}

func handler(path string) error {
	fl := flock.New(path)
	ok, err := fl.TryLock()
	if err != nil || !ok {
		os.Exit(1)
	}
	defer fl.Unlock()
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt)
	go func() {
		<-c
		os.Exit(1) // want `deferred release does not run`
	}()
	return serve()
}

func named(path string) error {
	fl := flock.New(path)
	if err := fl.Lock(); err != nil {
		return err
	}
	defer fl.Unlock()
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt)
	go end(c)
	return serve()
}

func end(c chan os.Signal) {
	for range c {
		os.Exit(1) // want `the lock from a.go:\d+ held, and its deferred release does not run`
	}
}

func fatal(err error) {
	log.Print(err)
	os.Exit(1)
}

func wrapped(path string) {
	f, err := os.Open(path)
	if err != nil {
		fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		fatal(err)
	}
	if err := serve(); err != nil {
		fatal(err) // want `deferred release does not run`
	}
}

func staysBehind(path string) {
	l, err := lockfile.New(path)
	if err != nil {
		log.Fatal(err)
	}
	if err := l.TryLock(); err != nil {
		log.Fatal(err)
	}
	if serve() != nil {
		os.Exit(1) // want `its lock file stays behind`
	}
	l.Unlock()
}

func panics(path string) {
	unlock, err := lockedfile.MutexAt(path).Lock()
	if err != nil {
		panic(err)
	}
	if serve() != nil {
		panic("no") // want `this panic skips the release`
	}
	unlock()
}

func switched(path string) {
	fl := flock.New(path)
	ok, err := fl.TryLock()
	switch {
	case err != nil:
		log.Fatal(err)
	case !ok:
		log.Fatal("held")
	}
	defer fl.Unlock()
	log.Fatalln(serve()) // want `deferred release does not run`
}

// Right.

func released(path string) {
	fl := flock.New(path)
	if err := fl.Lock(); err != nil {
		log.Fatal(err)
	}
	if err := serve(); err != nil {
		fl.Unlock()
		log.Fatal(err)
	}
	fl.Unlock()
	os.Exit(0)
}

func forLife(path string) {
	f, err := os.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		log.Fatal(err)
	}
	keep = f
	os.Exit(0)
}

var keep *os.File

func goodHandler(path string) error {
	fl := flock.New(path)
	if err := fl.Lock(); err != nil {
		return err
	}
	defer fl.Unlock()
	go func() {
		fl.Unlock()
		os.Exit(1)
	}()
	return serve()
}

// Named handlers that release what they are given, or by what they are given, or a lock of the package.
func goodNamed(path string) error {
	fl := flock.New(path)
	if err := fl.Lock(); err != nil {
		return err
	}
	defer fl.Unlock()
	go endOf(fl)
	go endBy(fl.Unlock)
	go endBy(func() error { return fl.Unlock() })
	go methods{fl}.end()
	return serve()
}

func endOf(fl *flock.Flock) {
	fl.Unlock()
	os.Exit(1)
}

func endBy(release func() error) {
	release()
	os.Exit(1)
}

type methods struct{ fl *flock.Flock }

func (m methods) end() {
	m.fl.Unlock()
	os.Exit(1)
}

var shared *flock.Flock

func goodShared(path string) error {
	shared = flock.New(path)
	if err := shared.Lock(); err != nil {
		return err
	}
	defer shared.Unlock()
	go endShared()
	return serve()
}

func endShared() {
	shared.Unlock()
	os.Exit(1)
}

// One that is started before the lock is there may end the process.
func before(path string) error {
	go endBefore()
	fl := flock.New(path)
	if err := fl.Lock(); err != nil {
		return err
	}
	defer fl.Unlock()
	return serve()
}

func endBefore() { os.Exit(1) }

func deferredPanic(path string) {
	fl := flock.New(path)
	if err := fl.Lock(); err != nil {
		panic(err)
	}
	defer fl.Unlock()
	panic(serve())
}

func otherError(path string) {
	fl := flock.New(path)
	err := fl.Lock()
	if errors.Is(err, os.ErrPermission) {
		log.Fatal(err)
	}
	if err == nil {
		fl.Unlock()
	}
	os.Exit(1)
}

func unlockFirst(path string) {
	fl := flock.New(path)
	for range 3 {
		if fl.Lock() != nil {
			log.Fatal("no")
		}
		fl.Unlock()
	}
}

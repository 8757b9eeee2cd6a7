package lab

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func unlink() Experiment {
	const (
		waiter   = "who had the file open when it was removed"
		comer    = "who comes next"
		count    = "owners at once"
		checked  = "the path still leads to the file of the first of them"
		kept     = "who comes next where the file is never removed"
		removing = "4 processes for half a second, removing: owners met each other"
		keeping  = "4 processes for half a second, never removing: owners met each other"
		tries    = "acquisitions in these, removing and never removing"
	)
	return Experiment{
		Name:     "unlink",
		Title:    "a lock file is removed when the lock is released",
		Believed: "Removing the lock file at release is tidy, and leaves no stale lock behind.",
		Happens: "Somebody has the file open already and waits for it. He gets the lock of a file without a name; who comes next makes a new file and " +
			"locks that. Both own. It needs no crash and no bad luck beyond two starters and a release at the same time.",
		Advice: "Leave the file. A free lock file is not stale: it is a file. Who must remove it does so while holding the lock, and everybody who " +
			"gets a lock then looks whether the path still leads to his file, and begins again if not.",
		Facts: []Fact{{waiter, gets}, {comer, gets}, {count, "2"}, {checked, "false"}, {kept, refused}, {removing, ""}, {keeping, "0 times"}, {tries, ""}},
		run: func(b *bench) {
			first, second, third := b.actor(), b.actor(), b.actor()
			lock := b.path("lock")
			first.must("hold", lock)
			second.must("open", "f", lock)
			b.decisive(func() { first.must("remove", lock) })
			first.must("close", lock)
			one := b.try(waiter, second, "flock", "f")
			b.see(count, got(one)+got(b.try(comer, third, "hold", lock)))
			b.see(checked, second.must("same", "f", lock))

			calm := b.path("calm")
			second.must("hold", calm)
			b.try(kept, third, "hold", calm)

			met, n := b.storms("remove")
			b.see(removing, fmt.Sprintf("%d times", met))
			calmMet, calmN := b.storms("keep")
			b.see(keeping, fmt.Sprintf("%d times", calmMet))
			b.see(tries, fmt.Sprintf("%d and %d", n, calmN))
		},
	}
}

// storms lets four processes take and release one lock as fast as they can.
func (b *bench) storms(how string) (met, acquired int) {
	const seconds = "0.5"
	lock, counter := b.path("storm-"+how), b.path("count-"+how)
	b.do(func() error { return os.WriteFile(counter, make([]byte, os.Getpagesize()), 0o600) })
	var all []*actor
	for range 4 {
		all = append(all, b.actor())
	}
	for _, a := range all {
		a.tell("storm", lock, counter, seconds, how)
	}
	for _, a := range all {
		var m, n int
		text := a.mustHear("storm", how)
		b.do(func() error { _, err := fmt.Sscan(text, &m, &n); return err })
		met, acquired = met+m, acquired+n
	}
	return met, acquired
}

// storm takes and releases the lock, counting in shared memory who is inside, and gives how often it was not alone and how
// often it was inside.
func storm(w []string) (string, error) {
	seconds, err := strconv.ParseFloat(w[2], 64)
	if err != nil {
		return "", err
	}
	f, err := os.OpenFile(w[1], os.O_RDWR, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	page, err := unix.Mmap(int(f.Fd()), 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return "", err
	}
	defer unix.Munmap(page)
	inside := (*atomic.Int32)(unsafe.Pointer(&page[0]))
	met, n := 0, 0
	for end := time.Now().Add(time.Duration(seconds * float64(time.Second))); time.Now().Before(end); {
		ok, alone, err := once(w[0], w[3] == "remove", inside)
		if err != nil {
			return "", err
		}
		if ok {
			n++
		}
		if !alone {
			met++
		}
	}
	return fmt.Sprint(met, n), nil
}

// once tries the lock once.
func once(path string, remove bool, inside *atomic.Int32) (ok, alone bool, err error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return false, true, err
	}
	defer unix.Close(fd)
	if unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil {
		return false, true, nil
	}
	alone = inside.Add(1) == 1
	for range 50 {
		unix.Getppid() // stands for work
	}
	alone = inside.Add(-1) == 0 && alone
	if remove {
		_ = os.Remove(path) // another one may have done it already, which is the point
	}
	return true, alone, nil
}

package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/solehold/solehold"
	"golang.org/x/sys/unix"
)

// stage is what an actor has: files, locks, engines, by name.
type stage struct {
	fds     map[string]int
	files   map[string]*os.File // with Go's own clean-up
	locks   map[string]*solehold.Lock
	memory  map[string][]byte
	engines map[string]engine
	handed  []*os.File // what children get; kept, since Go closes what nobody refers to
}

func newStage() *stage {
	return &stage{
		fds: map[string]int{}, files: map[string]*os.File{}, locks: map[string]*solehold.Lock{},
		memory: map[string][]byte{}, engines: map[string]engine{},
		handed: []*os.File{os.NewFile(lifeFD, "life"), os.NewFile(goneFD, "gone")},
	}
}

// deed does one order; words are those after its name.
type deed func(words []string) (string, error)

func (s *stage) obey(order []string) answer {
	if len(order) == 0 {
		return answer{Error: "an empty order"}
	}
	for _, deeds := range []map[string]deed{s.fileDeeds(), s.lockDeeds(), s.goDeeds(), s.engineDeeds(), leaseDeeds()} {
		if do := deeds[order[0]]; do != nil {
			return answerOf(do(append(order[1:], "", "", ""))) // a word that is not there is empty
		}
	}
	return answer{Error: "no such order: " + order[0]}
}

func isHeld(err error) bool {
	return errors.Is(err, solehold.ErrHeld) || isEngineHeld(err)
}

// fileDeeds are about names and descriptors.
func (s *stage) fileDeeds() map[string]deed {
	return map[string]deed{
		"open":      s.open, // NAME PATH [ro|excl|plain|leaky]
		"close":     func(w []string) (string, error) { return "", unix.Close(s.fds[w[0]]) },
		"write":     func(w []string) (string, error) { return "", os.WriteFile(w[0], []byte(w[1]), 0o600) },
		"remove":    func(w []string) (string, error) { return "", os.Remove(w[0]) },
		"removeall": func(w []string) (string, error) { return "", os.RemoveAll(w[0]) },
		"rename":    func(w []string) (string, error) { return "", os.Rename(w[0], w[1]) },
		"link":      func(w []string) (string, error) { return "", os.Link(w[0], w[1]) },
		"noreplace": func(w []string) (string, error) {
			return "", unix.Renameat2(unix.AT_FDCWD, w[0], unix.AT_FDCWD, w[1], unix.RENAME_NOREPLACE)
		},
		"same":  s.same, // NAME PATH: does the path still lead to the open file?
		"fill":  s.fill, // NAME MIB
		"map":   s.mapped,
		"unmap": func(w []string) (string, error) { return "", unix.Munmap(s.memory[w[0]]) },
		"hang":  serveHanging, // DIR
	}
}

func (s *stage) open(w []string) (string, error) {
	flags := unix.O_RDWR | unix.O_CREAT | unix.O_CLOEXEC
	switch w[2] {
	case "ro":
		flags = unix.O_RDONLY | unix.O_CLOEXEC
	case "excl":
		flags |= unix.O_EXCL
	case "plain":
		flags &^= unix.O_CREAT
	case "leaky":
		flags &^= unix.O_CLOEXEC
	}
	fd, err := unix.Open(w[1], flags, 0o600)
	s.fds[w[0]] = fd
	return "", err
}

func (s *stage) same(w []string) (string, error) {
	var mine, there unix.Stat_t
	if err := unix.Fstat(s.fds[w[0]], &mine); err != nil {
		return "", err
	}
	if err := unix.Lstat(w[1], &there); err != nil && !errors.Is(err, unix.ENOENT) {
		return "", err
	}
	return strconv.FormatBool(mine.Dev == there.Dev && mine.Ino == there.Ino), nil
}

func (s *stage) fill(w []string) (string, error) {
	n, err := strconv.Atoi(w[1])
	if err != nil {
		return "", err
	}
	return "", unix.Fallocate(s.fds[w[0]], 0, 0, int64(n)<<20)
}

func (s *stage) mapped(w []string) (string, error) {
	var st unix.Stat_t
	if err := unix.Fstat(s.fds[w[0]], &st); err != nil {
		return "", err
	}
	m, err := unix.Mmap(s.fds[w[0]], 0, int(st.Size), unix.PROT_READ, unix.MAP_SHARED)
	s.memory[w[0]] = m
	return "", err
}

// lockDeeds take and give back locks; none of them waits, but for the one that says so.
func (s *stage) lockDeeds() map[string]deed {
	return map[string]deed{
		"flock":      func(w []string) (string, error) { return "", unix.Flock(s.fds[w[0]], unix.LOCK_EX|unix.LOCK_NB) },
		"flock-wait": func(w []string) (string, error) { return "", waiting(s.fds[w[0]]) },
		"unlock":     func(w []string) (string, error) { return "", unix.Flock(s.fds[w[0]], unix.LOCK_UN) },
		"posix":      func(w []string) (string, error) { return "", setLock(s.fds[w[0]], unix.F_SETLK) },
		"ofd":        func(w []string) (string, error) { return "", setLock(s.fds[w[0]], unix.F_OFD_SETLK) },
		"hold":       s.hold,  // PATH: open the file, made where it is missing, and flock it
		"child":      s.child, // keep|unlock|close [NAME]
		"acquire":    s.acquire,
		"release":    func(w []string) (string, error) { return "", s.locks[w[0]].Release() },
		"storm":      storm, // PATH COUNTER SECONDS keep|remove
	}
}

func waiting(fd int) error {
	for {
		if err := unix.Flock(fd, unix.LOCK_EX); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func setLock(fd, how int) error {
	return unix.FcntlFlock(uintptr(fd), how, &unix.Flock_t{Type: unix.F_WRLCK})
}

// hold is what a program with a lock file does.
func (s *stage) hold(w []string) (string, error) {
	if _, err := s.open([]string{w[0], w[0], ""}); err != nil {
		return "", err
	}
	err := unix.Flock(s.fds[w[0]], unix.LOCK_EX|unix.LOCK_NB)
	if err != nil {
		return "", errors.Join(err, unix.Close(s.fds[w[0]]))
	}
	return "", nil
}

// child starts a process that inherits what is not close-on-exec. One that keeps lives until the experiment ends or it
// is killed; the others do one thing to the descriptor that they are given, and end.
func (s *stage) child(w []string) (string, error) {
	cmd, err := self(context.Background(), "child", w[0], strconv.Itoa(s.fds[w[1]]))
	if err != nil {
		return "", err
	}
	cmd.ExtraFiles = s.handed
	return startChild(cmd, w[0] == "keep")
}

func startChild(cmd *exec.Cmd, keep bool) (string, error) {
	if keep {
		if err := cmd.Start(); err != nil {
			return "", err
		}
		return strconv.Itoa(cmd.Process.Pid), nil
	}
	return "", cmd.Run()
}

// inherited is the inside of such a child.
func inherited(how, number string) int {
	fd, err := strconv.Atoi(number)
	switch {
	case err != nil:
	case how == "unlock":
		err = unix.Flock(fd, unix.LOCK_UN)
	case how == "close":
		err = unix.Close(fd)
	default:
		_, _ = os.NewFile(lifeFD, "life").Read(make([]byte, 1)) // the end of the experiment is an error of this read
		return 0
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		return 1
	}
	return 0
}

func (s *stage) acquire(w []string) (string, error) {
	var o solehold.Options
	if w[1] != "" {
		d, err := time.ParseDuration(w[1])
		if err != nil {
			return "", err
		}
		o.Timeout = d
	}
	lock, err := solehold.Acquire(context.Background(), w[0], &o)
	if err != nil {
		return "", err
	}
	s.locks[w[0]] = lock
	return strconv.FormatUint(lock.Token(), 10), nil
}

// goDeeds are about Go's own clean-up.
func (s *stage) goDeeds() map[string]deed {
	return map[string]deed{
		"take-file": s.takeFile, // PATH keep|drop
		"drop-lock": func(w []string) (string, error) { delete(s.locks, w[0]); return "", nil },
		"collect":   func(w []string) (string, error) { return collect(w[0]) },
		"mutex":     func(w []string) (string, error) { return mutexAfterItsGoroutine(w[0] == "unlock"), nil },
	}
}

// takeFile locks an os.File and keeps it, or forgets it as a function does that returns nothing but nil.
func (s *stage) takeFile(w []string) (string, error) {
	f, err := os.OpenFile(w[0], os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return "", err
	}
	if w[1] == "keep" {
		s.files[w[0]] = f
	}
	return "", unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
}

// collect collects garbage until path is not open any more, at most 20 times, and says whether it is.
func collect(path string) (string, error) {
	for range 20 {
		runtime.GC()
		time.Sleep(5 * time.Millisecond) // finalizers and clean-ups have goroutines of their own
		if open, err := hasOpen(path); err != nil || !open {
			return "closed", err
		}
	}
	return "open", nil
}

func hasOpen(path string) (bool, error) {
	entries, err := os.ReadDir("/proc/self/fd")
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		return err == nil && target == path
	}), err
}

// mutexAfterItsGoroutine locks a mutex in a goroutine that ends, and says how it is after collections.
func mutexAfterItsGoroutine(unlock bool) string {
	var m sync.Mutex
	var all sync.WaitGroup
	all.Go(func() {
		m.Lock()
		if unlock {
			m.Unlock()
		}
	})
	all.Wait()
	for range 3 {
		runtime.GC()
	}
	if m.TryLock() {
		return "free"
	}
	return "locked"
}

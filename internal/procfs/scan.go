package procfs

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
)

// Holding is one descriptor that carries a lock. A process that has the same open file description under two numbers
// gives two of them.
type Holding struct {
	// PID is the process that holds the lock now, whoever took it.
	PID int
	// FD is the descriptor in that process.
	FD int
	// Lock is the row as that descriptor's fdinfo prints it; its ID counts the descriptor's locks.
	Lock Lock
}

// EachFD calls visit for each descriptor of the given processes, or of all if pids is nil, in ascending order. By the time
// of the call the descriptor may be closed. A process that may not be looked into is a gap; one that ended is none, nor is
// a kernel thread, which has no descriptors.
func (f FS) EachFD(pids []int, visit func(pid, fd int)) Gaps {
	return f.each(pids, func(pid int) error {
		fds, err := f.FDs(pid)
		for _, fd := range fds {
			visit(pid, fd)
		}
		return err
	})
}

// each looks at the given processes, or at all.
func (f FS) each(pids []int, look func(pid int) error) Gaps {
	var gaps Gaps
	if pids == nil {
		all, err := f.Pids()
		if err != nil {
			gaps = append(gaps, Gap{What: "processes", Err: err})
		}
		pids = all
	}
	for _, pid := range pids {
		if err := look(pid); err != nil && !f.Gone(pid, err) && !f.kernel(pid) {
			gaps = append(gaps, Gap{PID: pid, What: "fd", Err: err})
		}
	}
	return gaps
}

// LockHolders returns each descriptor, of all processes, that carries a matching lock; a nil match takes every lock. It
// answers "who holds it" better than /proc/locks: an inherited or passed descriptor holds a flock or OFD lock as well as
// the one that took it, while /proc/locks goes on printing the taker.
//
// Finding none proves that nobody holds it only as far as a sample does: with gaps, it may be one of those processes, and
// not seen at all are hidden processes (hidepid, other pid namespaces), a descriptor under way between two processes, and
// locks of the kernel itself (its NFS or SMB server), which are in [FS.Locks] only. There is at most one gap of each kind
// per process.
func (f FS) LockHolders(match func(Lock) bool) ([]Holding, Gaps) {
	s := lockScan{fs: f, match: match, buf: make([]byte, 0, 4096)}
	gaps := f.EachFD(nil, s.visit)
	return s.found, append(gaps, s.gaps...)
}

// HoldersOn is LockHolders for the locks on a few files, of the given processes or of all if pids is nil. It reads only the
// descriptors that lead to one of the files, which takes a third of the calls, and those of which that cannot be told.
func (f FS) HoldersOn(pids []int, files []FileID, match func(Lock) bool) ([]Holding, Gaps) {
	s := lockScan{fs: f, match: match, buf: make([]byte, 0, 4096)}
	var all []Descriptor
	gaps := f.each(pids, func(pid int) (err error) {
		all, err = f.Descriptors(pid, all[:0])
		for _, d := range all {
			if d.Ino == 0 || slices.Contains(files, d.FileID) {
				s.visit(pid, d.FD)
			}
		}
		return err
	})
	return s.found, append(gaps, s.gaps...)
}

// lockScan is one run over many descriptors.
type lockScan struct {
	fs    FS
	match func(Lock) bool
	buf   []byte // reused for each fdinfo
	found []Holding
	gaps  Gaps
}

// visit reads one fdinfo.
func (s *lockScan) visit(pid, fd int) {
	locks, err := seen(s.fs, pid, func(pid int) ([]Lock, error) { return s.locks(fdinfoName(pid, fd)) })
	if err != nil {
		s.gap(pid, err)
	}
	for _, lock := range locks {
		if s.match == nil || s.match(lock) {
			s.found = append(s.found, Holding{PID: pid, FD: fd, Lock: lock})
		}
	}
}

// locks parses only what has locks in it, which few descriptors have.
func (s *lockScan) locks(name string) ([]Lock, error) {
	raw, err := s.fs.read(name, smallLimit, s.buf)
	if err != nil {
		return nil, err
	}
	s.buf = raw[:0]
	if !bytes.Contains(raw, []byte("lock:")) {
		return nil, nil
	}
	info, err := parseFDInfo(string(raw))
	return info.Locks, inFile(name, err)
}

// gap notes the first failure of a process: its thousand descriptors would all say the same.
func (s *lockScan) gap(pid int, err error) {
	if last := len(s.gaps) - 1; last >= 0 && s.gaps[last].PID == pid {
		return
	}
	if !s.fs.Gone(pid, err) {
		s.gaps = append(s.gaps, Gap{PID: pid, What: "fdinfo", Err: err})
	}
}

// Gone says whether the failure means that the process, or its descriptor, ended meanwhile. The kernel tells that by
// ENOENT or by ESRCH; the latter has no portable name, so the process' folder is asked, which has gone by then. What is being
// ended it denies to everybody.
func (f FS) Gone(pid int, err error) bool {
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if errors.Is(err, fs.ErrPermission) {
		st, err := f.Stat(pid)
		return errors.Is(err, fs.ErrNotExist) || err == nil && st.Exiting && f.other(pid) == pid
	}
	_, err = fs.Stat(f.fsys, dir(pid))
	return errors.Is(err, fs.ErrNotExist)
}

// kernel says whether it is known to be a kernel thread. To other users the kernel denies even those, and some hundred
// such gaps would hide the ones that matter.
func (f FS) kernel(pid int) bool {
	stat, err := f.Stat(pid)
	return err == nil && stat.Kernel
}

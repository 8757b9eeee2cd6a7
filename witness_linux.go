//go:build !solehold_portable

package solehold

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/oslock"
	"github.com/solehold/solehold/internal/procfs"
)

// proof is what was checked of a process that is seen to hold a directory.
func proof() []string { return []string{"lock", "start time", "boot"} }

// hidden says why the descriptors of a process cannot be seen, empty where they can.
func (f *finder) hidden(pid int) string {
	if _, err := f.proc.FDs(pid); err != nil {
		return hiddenNote(err)
	}
	return ""
}

func hiddenNote(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "pid as recorded, details hidden (hidepid)"
	}
	return "its descriptors: not permitted to this user"
}

func (f *finder) holds(pid int) bool {
	return slices.ContainsFunc(f.keys, func(k datadir.Key) bool { return holdsLock(f.proc, pid, k) })
}

// scan finds every visible process that has the lock's descriptor.
func (f *finder) scan() ([]int, procfs.Gaps) {
	var files []procfs.FileID
	for _, k := range f.keys {
		files = append(files, procfs.FileID(k))
	}
	held, gaps := f.proc.HoldersOn(nil, files, isOurs)
	var pids []int
	for _, h := range held {
		if !slices.Contains(pids, h.PID) && leadsTo(f.proc, h.PID, h.FD, f.keys...) {
			pids = append(pids, h.PID)
		}
	}
	return pids, gaps
}

// sharers lists every visible process that has the lock's descriptor.
func (c *claim) sharers() ([]int, error) {
	f := finder{sighting: c.sighting(), proc: self().proc}
	pids, _ := f.scan()
	return pids, nil
}

func unseenNote(gaps procfs.Gaps) string {
	if len(gaps) > 0 {
		return fmt.Sprintf("descriptors of %d processes are not permitted to this user; ask again as root", len(gaps))
	}
	return fmt.Sprintf("look on the host or in the other container (this is pid namespace %d)", self().observer.Self().PIDNS)
}

// holdsLock reports whether a process has a descriptor that carries our lock or
// mark on the file key. It needs the right to look into the process.
func holdsLock(proc procfs.FS, pid int, key datadir.Key) bool {
	held, _ := proc.HoldersOn([]int{pid}, []procfs.FileID{procfs.FileID(key)}, isOurs)
	return slices.ContainsFunc(held, func(h procfs.Holding) bool { return leadsTo(proc, pid, h.FD, key) })
}

// isOurs reports whether a row of fdinfo is a lock or mark of this protocol: the
// byte is used by nothing else. Which file it is on is asked of the descriptor
// (leadsTo), since the row's device and inode differ from stat's on btrfs and
// overlay.
func isOurs(l procfs.Lock) bool {
	return l.Start == uint64(oslock.Owner) && l.Type == "OFDLCK" && !l.Waiting
}

func leadsTo(proc procfs.FS, pid, fd int, keys ...datadir.Key) bool {
	file, err := proc.File(pid, fd)
	return err == nil && slices.Contains(keys, datadir.Key(file.FileID))
}

package overview

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/procfs"
)

// ownByte is the byte that solehold's locks and marks lie on.
const ownByte = 1 << 62

// lockList is the kernel's list of locks as it was last seen.
type lockList struct {
	raw    []byte        // its text; the memory is used again
	text   []byte        // our rows in it
	spare  []byte        // and those before
	unseen int           // rows of ours that no known directory explains
	before string        // those rows, to see whether they are others now
	due    bool          // their holders are to be looked for
	sought time.Time     // when that was done last
	took   time.Duration // and how long it took
}

// calm is how much longer than a look for holders the pause after it is at least: on
// a host where many come and go each second they are found a little later.
const calm = 50

// rest says whether it is too early to look for holders again.
func (l *lockList) rest() bool { return time.Since(l.sought) < calm*l.took }

// read reads the list, and says whether our rows are others than before.
func (l *lockList) read(proc procfs.FS) (changed bool, err error) {
	if l.raw, err = proc.LockList(l.raw); err != nil {
		return false, err
	}
	l.text, l.spare = ownRows(l.raw, l.spare[:0]), l.text
	return !bytes.Equal(l.text, l.spare), nil
}

// ownRows are the rows of solehold in the kernel's list. Their numbers say nothing, and
// change with each lock of anybody that comes or goes. They are added to all.
func ownRows(list, all []byte) []byte {
	own := fmt.Appendf(nil, " %d ", uint64(ownByte))
	for row := range bytes.Lines(list) {
		if _, rest, ok := bytes.Cut(row, []byte(":")); ok && bytes.Contains(rest, own) && bytes.HasPrefix(rest, []byte(" OFDLCK")) {
			all = append(append(all, "0:"...), rest...)
		}
	}
	return all
}

// discover finds out which directories are held. The kernel's list is one file: as
// long as our rows are the same there, nobody has come or gone.
func (w *Watcher) discover() {
	changed, err := w.locks.read(w.proc)
	late := w.locks.unseen > 0 && time.Since(w.locks.sought) >= relist
	if err != nil || !changed && !late && (!w.locks.due || w.locks.rest()) {
		return // another system, or no permission: what was named is looked at
	}
	rows, err := procfs.ParseLocks(string(w.locks.text))
	if err != nil {
		return
	}
	rows = slices.DeleteFunc(rows, func(l procfs.Lock) bool { return l.Waiting || !ours(l) })
	unknown := w.assign(rows)
	now := names(unknown)
	w.locks.due = len(unknown) > 0 && (now != w.locks.before || late)
	if w.locks.due && !w.locks.rest() {
		w.locks.due, w.locks.before, w.locks.sought = false, now, time.Now()
		w.seek()
		w.locks.took = time.Since(w.locks.sought)
		unknown = w.assign(rows)
	}
	if n := len(unknown); n != w.locks.unseen {
		w.locks.unseen, w.dirty = n, true
	}
}

func ours(l procfs.Lock) bool { return l.Type == "OFDLCK" && l.Start == ownByte }

// assign counts the rows of each known directory, and returns the others. A
// directory whose count changes is read anew.
func (w *Watcher) assign(rows []procfs.Lock) (unknown []procfs.Lock) {
	known := map[procfs.FileID]*entry{}
	count := map[*entry]int{}
	for _, e := range w.entries {
		for _, id := range append(e.marks, procfs.FileID(e.key), procfs.FileID(e.lock)) {
			if id != (procfs.FileID{}) {
				known[id] = e
			}
		}
	}
	for _, l := range rows {
		if e := known[l.FileID()]; e != nil {
			count[e]++
		} else {
			unknown = append(unknown, l)
		}
	}
	for _, e := range w.entries {
		if count[e] != e.held {
			e.held, e.forced = count[e], true
		}
	}
	return unknown
}

// names makes a text of locks, for a comparison.
func names(rows []procfs.Lock) string {
	var all []string
	for _, l := range rows {
		all = append(all, fmt.Sprint(l.FileID()))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// seek looks for the holders of locks that no known directory explains: who has a
// data directory has its mark on a descriptor of it.
func (w *Watcher) seek() {
	pids, err := w.proc.Pids()
	if err != nil {
		return
	}
	var all []procfs.Descriptor
	for _, pid := range pids {
		all, err = w.proc.Descriptors(pid, all[:0])
		if err != nil && len(all) == 0 {
			continue // it has ended, or may not be looked into
		}
		w.seekIn(pid, all)
	}
}

// seekIn looks at the descriptors of one process.
func (w *Watcher) seekIn(pid int, all []procfs.Descriptor) {
	var found []*entry
	for _, d := range all {
		if d.Type != procfs.Directory {
			continue
		}
		if id, ok := w.lockOn(pid, d.FD); ok {
			if e := w.found(pid, d); e != nil {
				e.explains(id)
				found = append(found, e)
			}
		}
	}
	if len(found) == 0 {
		return
	}
	for _, d := range all {
		if d.Type != procfs.Regular {
			continue
		}
		target, err := w.proc.FDTarget(pid, d.FD)
		if err != nil || filepath.Base(strings.TrimSuffix(target, " (deleted)")) != datadir.LockName {
			continue
		}
		if id, ok := w.lockOn(pid, d.FD); ok {
			lockOf(found, target).explains(id)
		}
	}
}

// mostMarks is how many locks a directory explains; old ones are forgotten.
const mostMarks = 8

// explains notes that a row of the kernel's list is about this directory.
func (e *entry) explains(id procfs.FileID) {
	if slices.Contains(e.marks, id) {
		return
	}
	if len(e.marks) == mostMarks {
		e.marks = slices.Delete(e.marks, 0, 1)
	}
	e.marks, e.forced = append(e.marks, id), true
}

// lockOf is the directory that a lock file belongs to; where the state directory
// lies elsewhere any of the process does, for its lock only has to be explained.
func lockOf(found []*entry, target string) *entry {
	for _, e := range found {
		if strings.HasPrefix(target, e.path+"/") {
			return e
		}
	}
	return found[0]
}

// lockOn gives the file of our lock on a descriptor, as the kernel's list has it.
func (w *Watcher) lockOn(pid, fd int) (id procfs.FileID, ok bool) {
	info, err := w.proc.FDInfo(pid, fd)
	if err != nil {
		return id, false
	}
	i := slices.IndexFunc(info.Locks, ours)
	if i < 0 {
		return id, false
	}
	return info.Locks[i].FileID(), true
}

// found is the entry of a directory that a process holds. The name is that of the
// process: where it means nothing here, the directory is reached through it.
func (w *Watcher) found(pid int, d procfs.Descriptor) *entry {
	key := datadir.Key(d.FileID)
	for _, e := range w.entries {
		if e.key == key {
			return e
		}
	}
	path, err := w.proc.FDTarget(pid, d.FD)
	if err != nil || !strings.HasPrefix(path, "/") {
		return nil
	}
	if !w.sameMounts(pid) {
		path = "/proc/" + strconv.Itoa(pid) + "/root" + strings.TrimSuffix(path, "/")
	}
	e := w.add(path)
	if e != nil && e.key == (datadir.Key{}) {
		e.key = key
	}
	return e
}

// sameMounts says whether a process sees the same mounts as this one.
func (w *Watcher) sameMounts(pid int) bool {
	mine, err := w.proc.Namespace(0, "mnt")
	its, err2 := w.proc.Namespace(pid, "mnt")
	return err != nil || err2 != nil || mine == its
}

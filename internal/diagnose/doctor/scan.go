package doctor

import (
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/solehold/solehold/internal/procfs"
)

// seen is what one process was found to have.
type seen struct {
	pid      int
	files    []procfs.Descriptor
	paths    []named
	holdings []holding
	mapped   []mappedFile
	total    int
	opaque   bool  // the list could be read, and nothing of it be seen
	err      error // of the list of descriptors
	gone     bool
}

// holding is a descriptor that carries a lock, with its file.
type holding struct {
	procfs.Holding
	id procfs.FileID
}

// named is a file with its path.
type named struct {
	procfs.File
	path string
}

type mappedFile struct {
	file procfs.File
	path string
}

// scanner reads processes on several goroutines.
type scanner struct {
	proc   procfs.FS
	locked map[uint64]bool // inodes that carry a lock
	every  bool            // the kernel's list leaves locks out here
	brief  bool            // only locks are of interest
	plain  func(dev uint64) bool
	pids   []int
	next   atomic.Int64
	done   chan struct{} // closed when all have been looked at

	mu    sync.Mutex
	all   []seen
	named map[procfs.FileID]bool // files whose path is known
}

// patience is how long no process may answer before one more goroutine goes on
// with the rest: a process can hang in a file system with its memory locked.
const patience = 200 * time.Millisecond

// scan looks at every process. A process that does not answer is a gap.
func (h *host) scan(s *scanner) []seen {
	if len(s.pids) == 0 {
		return nil
	}
	s.done, s.named, s.all = make(chan struct{}), map[procfs.FileID]bool{}, make([]seen, 0, len(s.pids))
	for range min(runtime.GOMAXPROCS(0), len(s.pids)) {
		go s.work()
	}
	limit := time.NewTimer(time.Until(h.end) - h.o.Timeout/share) // the rest needs time, too
	defer limit.Stop()
	stalled := time.NewTicker(patience)
	defer stalled.Stop()
	before := 0
	for {
		select {
		case <-s.done:
			return s.taken()
		case <-stalled.C:
			now := len(s.taken())
			if before == now && int(s.next.Load()) < len(s.pids) {
				go s.work()
			}
			before = now
		case <-limit.C:
			all := s.taken()
			h.silent(len(s.pids) - len(all))
			return all
		case <-h.ctx.Done():
			return s.taken()
		}
	}
}

// taken is what was seen until now. Nobody waits for each process: to be woken so
// often costs more than to look.
func (s *scanner) taken() []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[:len(s.all):len(s.all)]
}

// put adds what one process has.
func (s *scanner) put(r seen) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, r)
	if len(s.all) == len(s.pids) {
		close(s.done)
	}
}

// first says whether the file is met for the first time, and needs a path.
func (s *scanner) first(id procfs.FileID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.named[id] {
		return false
	}
	s.named[id] = true
	return true
}

func (h *host) silent(n int) {
	h.hidden += n
	h.gap(Gap{What: "processes", Why: "they did not answer in time (a file system or disk that hangs)", Count: n, NotRun: true})
}

func (s *scanner) work() {
	buf := make([]byte, 0, 16<<10)
	var all []procfs.Descriptor // both are used for one process after the other
	for {
		i := int(s.next.Add(1)) - 1
		if i >= len(s.pids) {
			return
		}
		r := seen{pid: s.pids[i]}
		all = s.look(&r, all[:0])
		if r.err == nil && !s.brief {
			buf = s.mappings(&r, buf)
		}
		s.put(r)
	}
}

// look reads what one process has open, and which locks that carries. It returns
// all for the next process to be listed in.
func (s *scanner) look(r *seen, all []procfs.Descriptor) []procfs.Descriptor {
	pid := r.pid
	all, r.err = s.proc.Descriptors(pid, all)
	r.total = len(all)
	r.opaque = opaque(all) && !s.proc.Gone(pid, fs.ErrPermission) // what has ended since it was listed denies all, too
	kept := all[:0]
	for _, d := range all {
		if r.opaque {
			break // it may be listed, but not looked into
		}
		if d.Type == procfs.Other {
			continue
		}
		locks := s.locksOf(pid, d)
		for _, l := range locks {
			r.holdings = append(r.holdings, holding{procfs.Holding{PID: pid, FD: d.FD, Lock: l}, d.FileID})
		}
		if d.Type == procfs.Unseen || d.Type == procfs.Directory && len(locks) == 0 {
			continue
		}
		kept = append(kept, d)
		if !s.brief && s.first(d.FileID) {
			s.name(r, d)
		}
	}
	r.files = slices.Clone(kept)
	r.gone = r.err != nil && s.proc.Gone(pid, r.err)
	return all
}

// opaque says whether nothing could be seen of any descriptor.
func opaque(all []procfs.Descriptor) bool {
	return len(all) > 0 && !slices.ContainsFunc(all, func(d procfs.Descriptor) bool { return d.Type != procfs.Unseen })
}

// locksOf reads fdinfo only where a lock can be: three calls for each descriptor
// of the machine are most of what a look costs.
func (s *scanner) locksOf(pid int, d procfs.Descriptor) []procfs.Lock {
	if !s.every && d.Type != procfs.Unseen && !s.locked[d.Ino] && s.plain(d.Dev) {
		return nil
	}
	info, err := s.proc.FDInfo(pid, d.FD)
	if err != nil {
		return nil
	}
	return info.Locks
}

// forget lets the next who has the file name it.
func (s *scanner) forget(id procfs.FileID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.named, id)
}

// name finds the path of a file that has none yet.
func (s *scanner) name(r *seen, d procfs.Descriptor) {
	path, err := s.proc.FDTarget(r.pid, d.FD)
	if err != nil {
		s.forget(d.FileID)
		return
	}
	r.paths = append(r.paths, named{d.File, cleanPath(path, d.Links == 0)})
}

// mappings finds the removed files that a process has in memory.
func (s *scanner) mappings(r *seen, buf []byte) []byte {
	found, buf, err := s.proc.RemovedMappings(r.pid, buf)
	if err != nil {
		return buf
	}
	for _, m := range found {
		if f, err := s.proc.Mapped(r.pid, m); err == nil && f.Type == procfs.Regular {
			r.mapped = append(r.mapped, mappedFile{f, m.Path})
		}
	}
	return buf
}

// merge puts what was seen together.
func (h *host) merge(all []seen) []holding {
	var holdings []holding
	denied := 0
	for _, r := range all {
		h.counts.Descriptors += r.total
		if r.err != nil && !r.gone && !h.kernelThread(r.pid) {
			denied++
		}
		if r.opaque {
			h.opaque++
		}
		holdings = append(holdings, r.holdings...)
		for _, d := range r.files {
			f := h.fileOf(d.File)
			f.opens = append(f.opens, open{pid: r.pid, fd: d.FD})
		}
		for _, n := range r.paths {
			f := h.fileOf(n.File)
			f.path, f.seer, f.Mount = n.path, r.pid, n.Mount
		}
		for _, m := range r.mapped {
			f := h.fileOf(m.file)
			f.mapped = append(f.mapped, r.pid)
			if f.path == "" {
				f.path, f.seer = m.path, r.pid
			}
		}
	}
	h.denied(denied)
	return holdings
}

func (h *host) fileOf(f procfs.File) *file {
	known := h.files[f.FileID]
	if known == nil {
		known = &file{File: f}
		h.files[f.FileID] = known
	}
	return known
}

func (h *host) denied(n int) {
	if n == 0 {
		return
	}
	h.hidden += n
	h.gap(Gap{What: fmt.Sprintf("descriptors of %s", many(n, "process", "processes")), Why: "no permission (other user): holders may be missing from this list", Count: n})
}

func (h *host) kernelThread(pid int) bool {
	st, err := h.proc.Stat(pid)
	return err == nil && st.Kernel || err != nil && h.proc.Gone(pid, err)
}

// many counts in words.
func many(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

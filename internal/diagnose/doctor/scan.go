package doctor

import (
	"errors"
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
	paths    map[procfs.FileID]string
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

type mappedFile struct {
	file procfs.File
	path string
}

// scanner reads processes on several goroutines.
type scanner struct {
	proc    procfs.FS
	locked  map[uint64]bool // inodes that carry a lock
	every   bool            // the kernel's list leaves locks out here
	brief   bool            // only locks are of interest
	plain   func(dev uint64) bool
	named   sync.Map // files whose path is known
	pids    []int
	next    atomic.Int64
	results chan seen
}

// patience is how long no process may answer before one more goroutine goes on
// with the rest: a process can hang in a file system with its memory locked.
const patience = 200 * time.Millisecond

// scan looks at every process. A process that does not answer is a gap.
func (h *host) scan(s *scanner) []seen {
	s.results = make(chan seen, len(s.pids))
	for range min(runtime.GOMAXPROCS(0), len(s.pids)) {
		go s.work()
	}
	all := make([]seen, 0, len(s.pids))
	limit := time.NewTimer(time.Until(h.end) - h.o.Timeout/share) // the rest needs time, too
	defer limit.Stop()
	stalled := time.NewTicker(patience)
	defer stalled.Stop()
	before := 0
	for len(all) < len(s.pids) {
		select {
		case r := <-s.results:
			all = append(all, r)
		case <-stalled.C:
			if before == len(all) && int(s.next.Load()) < len(s.pids) {
				go s.work()
			}
			before = len(all)
		case <-limit.C:
			h.silent(len(s.pids) - len(all))
			return all
		case <-h.ctx.Done():
			return all
		}
	}
	return all
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
		s.results <- r
	}
}

// look reads what one process has open, and which locks that carries. It returns
// all for the next process to be listed in.
func (s *scanner) look(r *seen, all []procfs.Descriptor) []procfs.Descriptor {
	pid := r.pid
	if s.brief {
		all, r.err = s.proc.Files(pid, all)
	} else {
		all, r.err = s.proc.Descriptors(pid, all)
	}
	r.total = len(all)
	r.opaque = opaque(all)
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
		if d.Writable || d.Links == 0 || len(locks) > 0 {
			s.name(r, d)
		}
	}
	r.files = slices.Clone(kept)
	if r.err != nil {
		_, err := s.proc.Stat(pid)
		r.gone = errors.Is(err, fs.ErrNotExist)
	}
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

// name finds the path of a file that has none yet.
func (s *scanner) name(r *seen, d procfs.Descriptor) {
	if _, known := s.named.LoadOrStore(d.FileID, true); known {
		return
	}
	path, err := s.proc.FDTarget(r.pid, d.FD)
	if err != nil {
		s.named.Delete(d.FileID)
		return
	}
	if r.paths == nil {
		r.paths = map[procfs.FileID]string{}
	}
	r.paths[d.FileID] = cleanPath(path, d.Links == 0)
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
			f.opens = append(f.opens, open{r.pid, d.FD, d.Writable})
		}
		for id, path := range r.paths {
			h.files[id].path = path
		}
		for _, m := range r.mapped {
			f := h.fileOf(m.file)
			f.mapped = append(f.mapped, r.pid)
			if f.path == "" {
				f.path = m.path
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
	return err == nil && st.Kernel || errors.Is(err, fs.ErrNotExist)
}

// many counts in words.
func many(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

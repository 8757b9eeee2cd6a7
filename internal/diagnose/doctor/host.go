package doctor

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/solehold/solehold/internal/procfs"
)

// host is one look at the machine.
type host struct {
	ctx     context.Context
	proc    procfs.FS
	o       Options
	end     time.Time
	first   bool // this is the first pid namespace: everything is visible
	boot    time.Time
	pids    []int
	files   map[procfs.FileID]*file
	locks   []*lock
	mounts  mountTable
	gaps    []Gap
	known   map[int]*process
	paths   []string        // what was asked for, as the kernel spells it
	hung    map[string]bool // mount points that did not answer
	hidden  int             // processes whose descriptors could not be read
	opaque  int             // processes whose descriptors could be listed, and no more
	counts  Counts
	spaces  map[uint64]mountTable // mounts by mount namespace
	spaceOf map[int]uint64        // mount namespaces by process, 0 for unknown
	engines []engine
	sites   []*site // data directories that are in use
}

// file is an open regular file or directory.
type file struct {
	procfs.File
	path   string // as the kernel prints it, without " (deleted)"
	opens  []open
	place  place // the folder it is in, whatever path leads there
	mapped []int // processes that have it in memory, for removed files
}

// open is one descriptor on a file.
type open struct {
	pid, fd  int
	writable bool
}

// removed says whether no name leads to the file any more.
func (f *file) removed() bool { return f.Links == 0 }

// writers are the processes that have it open for writing, ascending.
func (f *file) writers() []int {
	var pids []int
	for _, o := range f.opens {
		if o.writable {
			pids = append(pids, o.pid)
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}

// users are the processes that have it open or mapped, ascending.
func (f *file) users() []int {
	pids := slices.Clone(f.mapped)
	for _, o := range f.opens {
		pids = append(pids, o.pid)
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}

// fdsOf are the descriptors that a process has on it.
func (f *file) fdsOf(pid int) []int {
	var fds []int
	for _, o := range f.opens {
		if o.pid == pid {
			fds = append(fds, o.fd)
		}
	}
	return fds
}

// gap notes what could not be read; the same twice is one.
func (h *host) gap(g Gap) {
	for i := range h.gaps {
		if h.gaps[i].What == g.What && h.gaps[i].Why == g.Why {
			h.gaps[i].Count += g.Count
			return
		}
	}
	h.gaps = append(h.gaps, g)
}

// blind says whether there may be processes, or descriptors, that this look did
// not see.
func (h *host) blind() bool { return h.hidden > 0 || !h.first || h.hiding() != "" }

// sure is how certain an answer can be that needs all of them to be known.
func (h *host) sure(c Confidence) Confidence {
	if h.blind() {
		return c.lower()
	}
	return c
}

const deletedMark = " (deleted)"

// cleanPath takes the kernel's mark off. A file of that very name keeps it when
// it is not removed.
func cleanPath(path string, removed bool) string {
	if removed {
		return strings.TrimSuffix(path, deletedMark)
	}
	return path
}

// share is the part of the time limit that one question may take.
const share = 5

// answer runs work that may hang in a file system and gives it up after its
// share of the time. Work that was given up must change nothing of the host.
func answer[T any](h *host, work func() T) (result T, answered bool) {
	left := min(time.Until(h.end), h.o.Timeout/share)
	if left <= 0 {
		return result, false
	}
	done := make(chan T, 1)
	go func() { done <- work() }()
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case result = <-done:
		return result, true
	case <-timer.C:
	case <-h.ctx.Done():
	}
	return result, false
}

// touch is answer for work in the file system below path. A file system that did
// not answer once is not asked again.
func touch[T any](h *host, path string, work func() T) (T, bool) {
	var none T
	m, _ := h.mounts.under(path)
	if h.hung[m.Point] {
		return none, false
	}
	result, answered := answer(h, work)
	if !answered {
		h.hung[m.Point] = true
		h.gap(Gap{What: m.Point + " (" + m.Type + ", " + m.Source + ")", Why: "the file system does not answer", NotRun: true, Count: 1})
	}
	return result, answered
}

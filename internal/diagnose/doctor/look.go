package doctor

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/procfs"
)

// firstPIDNamespace is the fixed number of the namespace from which every
// process is visible (linux/proc_ns.h).
const firstPIDNamespace = 0xEFFFFFFC

// Examine looks at the host. It always returns a report, within o.Timeout: what
// could not be looked at is a gap in it.
func Examine(ctx context.Context, o Options) Report {
	if r, done := examine(ctx, o); done {
		return r
	}
	h := newHost(ctx, o)
	h.snapshot()
	var r Report
	r.Findings = h.findings()
	r.Paths = h.subjects(&r)
	r.Graph = h.graph()
	r.Space = h.space()
	if o.PID != 0 {
		r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool { return !concerns(f, o.PID) })
	}
	if len(o.Paths) > 0 {
		r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool { return !h.asked(f.Path) })
	}
	r.Findings = ordered(r.Findings)
	h.blindness()
	r.Gaps, r.Seen = h.gaps, h.counts
	if r.Findings == nil {
		r.Findings = []Finding{}
	}
	if r.Gaps == nil {
		r.Gaps = []Gap{}
	}
	return r
}

func newHost(ctx context.Context, o Options) *host {
	if o.Timeout <= 0 {
		o.Timeout = solehold.DefaultTimeout
	}
	if o.Proc == (procfs.FS{}) {
		o.Proc = procfs.Default()
	}
	h := &host{
		ctx: ctx, o: o, proc: o.Proc, end: time.Now().Add(o.Timeout),
		files: map[procfs.FileID]*file{}, known: map[int]*process{}, boot: bootTime(o.Proc), hung: map[string]bool{}, spaces: map[uint64]mountTable{}, spaceOf: map[int]uint64{},
	}
	ns, err := h.proc.Namespace(0, "pid")
	h.first = err == nil && ns == firstPIDNamespace
	return h
}

// reads is how often the kernel's list is read before the processes are looked at.
const reads = 2

// snapshot reads locks, processes and locks again: what is told was there at the end.
func (h *host) snapshot() {
	mounts, err := h.proc.Mounts(0)
	if err != nil {
		h.gap(Gap{What: "mounts", Why: reason(err), NotRun: true})
	}
	h.mounts = newMountTable(mounts)
	h.resolve()
	before, err := h.proc.SampleLocks(reads)
	if err != nil {
		h.gap(Gap{What: "the kernel's list of locks", Why: reason(err), NotRun: true})
	}
	if h.pids, err = h.proc.Pids(); err != nil {
		h.gap(Gap{What: "the list of processes", Why: reason(err), NotRun: true})
	}
	own := os.Getpid() // a system call each time
	h.pids = slices.DeleteFunc(h.pids, func(pid int) bool { return pid == own })
	h.counts.Processes = len(h.pids)
	s := &scanner{proc: h.proc, locked: inodes(before), every: !h.first, plain: h.mounts.plain, pids: h.pids}
	holdings := h.merge(h.scan(s))
	now, err := h.proc.SampleLocks(1)
	if err != nil {
		now = before
	}
	h.join(now, holdings)
	h.late()
	h.nameAsked()
	h.nameWaiters()
	h.settle()
}

func inodes(rows []procfs.LockRow) map[uint64]bool {
	locked := map[uint64]bool{}
	for _, row := range rows {
		locked[row.Lock.Inode] = true
	}
	return locked
}

// late looks again for the holders of locks that were taken while the processes
// were looked at, and drops those that are gone by now.
func (h *host) late() {
	var wanting []*lock
	for _, l := range h.locks {
		if len(l.holders) == 0 {
			wanting = append(wanting, l)
		}
	}
	if len(wanting) == 0 {
		return
	}
	for _, l := range wanting {
		h.seek(l)
	}
	h.again(wanting)
	rows, err := h.proc.SampleLocks(1)
	if err != nil {
		return
	}
	h.locks = slices.DeleteFunc(h.locks, func(l *lock) bool {
		return len(l.holders) == 0 && !slices.ContainsFunc(rows, func(r procfs.LockRow) bool { return same(r.Lock) == same(l.row) })
	})
	if slices.ContainsFunc(h.locks, func(l *lock) bool { return len(l.holders) == 0 && !l.lease() }) {
		h.denied(h.opaque) // it may be one of theirs
	}
}

// again looks at all processes once more for the holders of a few locks: one may
// have started since the processes were listed. Where not all can be seen that
// would prove nothing.
func (h *host) again(wanting []*lock) {
	wanting = slices.DeleteFunc(wanting, func(l *lock) bool { return len(l.holders) > 0 || l.lease() })
	pids, err := h.proc.Pids()
	if len(wanting) == 0 || h.blind() || err != nil {
		return
	}
	s := &scanner{proc: h.proc, locked: map[uint64]bool{}, plain: h.mounts.plain, pids: pids, brief: true}
	for _, l := range wanting {
		s.locked[l.row.Inode] = true
	}
	for _, r := range h.scan(s) {
		for _, hold := range r.holdings {
			i := slices.IndexFunc(wanting, func(l *lock) bool { return same(l.row) == same(hold.Lock) })
			if i >= 0 {
				wanting[i].held(hold.PID, hold.FD)
				h.locate(wanting[i], hold)
			}
		}
	}
	for _, l := range wanting {
		h.inMemory(l, pids)
	}
}

// inMemory finds who keeps a lock without a descriptor: a mapping keeps the file
// open, and with it all but POSIX locks, which end with the first close.
func (h *host) inMemory(l *lock, pids []int) {
	if len(l.holders) > 0 || l.row.Type == "POSIX" {
		return
	}
	for _, pid := range pids {
		path, answered := answer(h, func() string {
			path, err := h.proc.MappedPath(pid, l.row)
			if err != nil {
				return ""
			}
			return path
		})
		if !answered {
			return
		}
		if path != "" {
			l.holders = append(l.holders, holder{pid: pid})
			l.path = strings.TrimSuffix(path, deletedMark)
		}
	}
}

// nameAsked gives locks whose holders cannot be looked into the path that was
// asked for, if they lie on that file.
func (h *host) nameAsked() {
	for _, path := range h.paths {
		id, known := h.atPath(0, path)
		for _, l := range h.locks {
			if known && l.path == "" && id != (procfs.FileID{}) && l.on(id) {
				l.path = path
			}
		}
	}
}

// seek asks the one who took the lock, and everybody who has the file open.
func (h *host) seek(l *lock) {
	var pids []int
	if l.row.PID > 0 {
		pids = append(pids, l.row.PID)
	}
	if l.file != nil {
		pids = append(pids, l.file.users()...)
	}
	slices.Sort(pids)
	for _, pid := range slices.Compact(pids) {
		fds, err := h.proc.FDs(pid)
		if err != nil {
			continue
		}
		for _, fd := range fds {
			info, err := h.proc.FDInfo(pid, fd)
			if err != nil || !slices.ContainsFunc(info.Locks, func(x procfs.Lock) bool { return same(x) == same(l.row) }) {
				continue
			}
			l.held(pid, fd)
			if l.path == "" {
				target, _ := h.proc.FDTarget(pid, fd)
				l.path = strings.TrimSuffix(target, deletedMark)
			}
		}
	}
}

// blindness tells what nobody could count: processes that the mount of /proc
// hides, and locks whose holders are elsewhere.
func (h *host) blindness() {
	if value := h.hiding(); value != "" {
		h.gap(Gap{What: "processes of other users", Why: "/proc is mounted with hidepid=" + value + ": how many there are is not known"})
	}
	unseen := 0
	for _, l := range h.locks {
		if len(l.holders) == 0 {
			unseen++
		}
	}
	if unseen > 0 && !h.first {
		h.gap(Gap{What: "holders of " + many(unseen, "lock", "locks"), Why: "they are in another pid namespace: look on the host", Count: unseen})
	}
}

// hiding is the value of hidepid where that hides processes from this user.
func (h *host) hiding() string {
	for _, m := range h.mounts.all {
		if m.Type != "proc" || m.Point != "/proc" {
			continue
		}
		for _, o := range m.Super {
			if value, ok := strings.CutPrefix(o, "hidepid="); ok && value != "0" && value != "off" && os.Geteuid() != 0 {
				return value
			}
		}
	}
	return ""
}

// concerns says whether a finding is about a process.
func concerns(f Finding, pid int) bool {
	return slices.ContainsFunc(slices.Concat(f.Holders, f.Waiters), func(p Process) bool { return p.PID == pid })
}

// asked says whether a path is one of those asked for, below one, or above one.
func (h *host) asked(path string) bool {
	if path == "" {
		return false
	}
	return slices.ContainsFunc(h.paths, func(p string) bool {
		return path == p || strings.HasPrefix(path, strings.TrimSuffix(p, "/")+"/") || strings.HasPrefix(p, path+"/") && path != "/"
	})
}

// resolve spells the paths that were asked for as the kernel does.
func (h *host) resolve() {
	for _, given := range h.o.Paths {
		abs, err := filepath.Abs(given)
		if err != nil {
			abs = given
		}
		path, answered := touch(h, abs, func() string { return real(abs) })
		if !answered {
			path = abs
		}
		h.paths = append(h.paths, path)
	}
}

// real follows the links on the way to a file, but not a link in its place:
// that may be a lock itself.
func real(path string) string {
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return path
	}
	base := filepath.Join(folder, filepath.Base(path))
	if info, err := os.Stat(base); err == nil && info.IsDir() {
		if all, err := filepath.EvalSymlinks(base); err == nil {
			return all
		}
	}
	return base
}

// ordered puts the worst first, and what is alike side by side.
func ordered(all []Finding) []Finding {
	rank := func(s Severity) int { return slices.Index([]Severity{Outage, Danger, Notice}, s) }
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(rank(a.Severity), rank(b.Severity)), strings.Compare(a.ID, b.ID), strings.Compare(a.Path, b.Path))
	})
	for i := range all {
		if all[i].Holders == nil {
			all[i].Holders = []Process{}
		}
	}
	return all
}

// reason is an error without the path that the line names anyway.
func reason(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}

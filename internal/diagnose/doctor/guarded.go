package doctor

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/diagnose"
	"github.com/solehold/solehold/internal/procfs"
)

// guarded judges the data directories that are held with solehold's protocol,
// and those that were asked for.
func (h *host) guarded() []Finding {
	all := h.nested()
	list := h.guards()
	h.lieIn(list)
	for _, g := range list {
		all = append(all, h.guardedAt(g)...)
	}
	return all
}

// guard is a directory that is guarded by solehold's protocol, as the process pid sees
// it; 0 is this one.
type guard struct {
	pid   int
	shown string
	at    place
	files []*file // those that lie in it, or below
}

func (h *host) guards() []*guard {
	var all []*guard
	done := map[procfs.FileID]bool{}
	for _, l := range h.locks {
		if !l.ours() || l.file == nil || l.file.Type != procfs.Directory || done[l.file.FileID] || !h.wanted(l) {
			continue
		}
		done[l.file.FileID] = true
		pid := h.keeper(l)
		all = append(all, &guard{pid: pid, shown: l.path, at: h.placeOf(pid, l.path, l.file.Dev)})
	}
	for _, path := range h.paths {
		m, ok := h.mounts.under(path)
		id, known := h.atPath(0, path)
		if !ok || !known || done[id] || !h.hasState(path) {
			continue
		}
		done[id] = true
		all = append(all, &guard{shown: path, at: h.placeOf(0, path, m.Device())})
	}
	return all
}

// lieIn gives each directory its files, by their paths: from each file up, so that a
// host with many directories is gone through once.
func (h *host) lieIn(all []*guard) {
	at := map[place][]*guard{}
	for _, g := range all {
		at[g.at] = append(at[g.at], g)
	}
	for _, f := range h.sortedFiles() {
		for p := range f.place.up() {
			for _, g := range at[p] {
				g.files = append(g.files, f)
			}
		}
	}
}

// nested are guarded directories that lie in another one (SH035).
func (h *host) nested() []Finding {
	type mark struct {
		*lock
		at place
	}
	var marks []mark
	at := map[place][]*lock{}
	for _, l := range h.locks {
		if l.ours() && l.file != nil && l.file.Type == procfs.Directory && len(l.holders) > 0 {
			m := mark{l, h.placeOf(h.keeper(l), l.path, l.file.Dev)}
			marks, at[m.at] = append(marks, m), append(at[m.at], l)
		}
	}
	var all []Finding
	for _, in := range marks {
		for p := range in.at.up() {
			for _, out := range at[p] {
				if in.file != out.file {
					all = append(all, h.liesIn(in.lock, out))
				}
			}
		}
	}
	return all
}

func (h *host) liesIn(in, out *lock) Finding {
	return Finding{
		ID: "SH035", Severity: Notice, Confidence: Certain, Path: in.path,
		Title:    "a guarded directory lies in another one",
		Holders:  append(h.parties(in), h.parties(out)...),
		Evidence: []string{line("%s: %s", in.path, h.held(in)), line("it lies in %s: %s", out.path, h.held(out))},
		Advice:   "give each service a directory of its own, side by side: who cleans or moves the outer one takes the inner one along",
	}
}

func (h *host) hasState(path string) bool {
	names, _ := touch(h, path, func() []string { return list(path) })
	return slices.Contains(names, datadir.StateName)
}

// guardedAt judges one directory.
func (h *host) guardedAt(g *guard) []Finding {
	shown, path := g.shown, seenBy(g.pid, g.shown)
	o := &solehold.Options{Timeout: h.o.Timeout / share}
	s, answered := touch(h, shown, func() solehold.Status {
		s, err := solehold.Inspect(h.ctx, path, o)
		if err != nil {
			s.Err = err
		}
		return s
	})
	if !answered || s.Err != nil {
		return nil // told as a subject, or as a gap
	}
	return slices.Concat(
		h.strangers(s, g), h.detached(s, shown), h.foreign(s, shown), h.kept(s, shown), h.heldLong(s, path, shown), h.far(g.pid, shown),
	)
}

// strangers are processes that write to a guarded directory without its lock
// (SH030 beside an owner, SH033 without one).
func (h *host) strangers(s solehold.Status, g *guard) []Finding {
	if s.Owner != nil && !s.Owner.Visible() {
		return nil // nobody can be told apart from the owner
	}
	found := h.writersBelow(g)
	family := h.ownersOf(s)
	strange := slices.DeleteFunc(found, func(w writing) bool {
		return slices.Contains(family, w.pid) || slices.ContainsFunc(h.ancestors(w.pid), func(p int) bool { return slices.Contains(family, p) })
	})
	if len(strange) == 0 {
		return nil
	}
	f := Finding{
		ID: "SH030", Severity: Danger, Confidence: h.sure(Certain), Path: g.shown,
		Title:  "a process writes beside the owner",
		Advice: "stop the process that works without the lock; start nothing before that",
	}
	if s.Owner == nil {
		f.ID, f.Title = "SH033", "a process writes to a guarded directory that nobody holds"
	} else {
		f.Evidence = append(f.Evidence, line("%s holds the lock", h.name(s.Owner.PID)))
		f.Holders = append(f.Holders, h.show(s.Owner.PID))
	}
	for _, w := range strange {
		f.Holders = append(f.Holders, h.show(w.pid))
		f.Evidence = append(f.Evidence, line("%s has %s open for writing without the lock%s", h.name(w.pid), w.path, h.elsewhere(w.pid)))
	}
	return []Finding{f}
}

// elsewhere says that a process is in another pid namespace.
func (h *host) elsewhere(pid int) string {
	own, err := h.proc.Namespace(0, "pid")
	its, err2 := h.proc.Namespace(pid, "pid")
	if err != nil || err2 != nil || own == its {
		return ""
	}
	return fmt.Sprintf(" (pid %d in its own namespace)", h.ownNumber(pid))
}

// writing is a process with one file that it has open for writing.
type writing struct {
	pid  int
	path string
}

// writersBelow finds who writes in a directory or below it; solehold's own files, and
// data directories of their own further below, do not count.
func (h *host) writersBelow(g *guard) []writing {
	var all []writing
	for _, f := range g.files {
		if f.removed() || h.ofAnother(f, g.at) {
			continue
		}
		for _, pid := range h.writers(f) {
			if !slices.ContainsFunc(all, func(w writing) bool { return w.pid == pid }) {
				all = append(all, writing{pid, f.path})
			}
		}
	}
	return all
}

// ofAnother says whether a file is one of solehold's, or belongs to a guarded
// directory below.
func (h *host) ofAnother(f *file, at place) bool {
	if strings.Contains(f.place.folder+"/", "/"+datadir.StateName+"/") {
		return true
	}
	depth := strings.Count(strings.TrimPrefix(f.place.folder, at.folder), "/")
	folder := filepath.Dir(f.path)
	for range depth {
		if slices.Contains(list(seenBy(f.seer, folder)), datadir.StateName) {
			return true
		}
		folder = filepath.Dir(folder)
	}
	return false
}

// ownersOf are the processes that a directory belongs to.
func (h *host) ownersOf(s solehold.Status) []int {
	if s.Owner == nil {
		return nil
	}
	family := append([]int{s.Owner.PID}, s.Owner.Sharing...)
	if s.Owner.Wrapper != 0 {
		family = append(family, s.Owner.Wrapper)
	}
	for _, l := range h.locks {
		if l.ours() && l.heldBy(s.Owner.PID) {
			family = append(family, l.pids()...)
		}
	}
	return family
}

// detached is an owner whose lock file is no longer at its path (SH021).
func (h *host) detached(s solehold.Status, shown string) []Finding {
	if s.State != solehold.Detached || s.Owner == nil {
		return nil
	}
	f := Finding{
		ID: "SH021", Severity: Danger, Confidence: Certain, Path: shown,
		Title:    "a live owner holds a lock file that was removed",
		Evidence: []string{line("%s", s.Owner), "the mark on the directory still refuses a new start"},
		Advice:   "nothing is lost; find what cleans this place, and let the owner go on",
	}
	for _, text := range s.Findings {
		f.Evidence = append(f.Evidence, line("%s", text))
	}
	if s.Owner.Visible() {
		f.Holders = []Process{h.show(s.Owner.PID)}
	}
	return []Finding{f}
}

// foreign is a record of another machine (SH070).
func (h *host) foreign(s solehold.Status, shown string) []Finding {
	if s.Record.Class != "foreign" || s.Record.Why != "other-machine" {
		return nil
	}
	return []Finding{{
		ID: "SH070", Severity: Notice, Confidence: Likely, Path: shown,
		Title:    "the record was written elsewhere",
		Evidence: []string{line("record of pid %d: %s", s.Record.PID, s.Record.Detail)},
		Advice:   "the lock of this host says nothing about the other one: make sure that no service there works on the same disk",
	}}
}

// kept is a command that outlived its wrapper and keeps the lock (SH013).
func (h *host) kept(s solehold.Status, shown string) []Finding {
	if s.Owner == nil || !s.Owner.WrapperGone {
		return nil
	}
	return []Finding{{
		ID: "SH013", Severity: Notice, Confidence: Certain, Path: shown, Holders: []Process{h.show(s.Owner.PID)},
		Title:    "lock kept by a child whose wrapper is gone",
		Evidence: []string{line("%s is gone; %s shares its descriptor and keeps the lock", h.name(s.Owner.Wrapper), h.name(s.Owner.PID))},
		Advice:   line("end pid %d, or start with solehold run --orphans=stop", s.Owner.PID),
	}}
}

// heldLong is an owner that has its directory for longer than asked for (SH001).
func (h *host) heldLong(s solehold.Status, path, shown string) []Finding {
	if s.Owner == nil || s.Owner.Since.IsZero() || h.o.MaxAge <= 0 || time.Since(s.Owner.Since) <= h.o.MaxAge {
		return nil
	}
	age := time.Since(s.Owner.Since)
	f := Finding{
		ID: "SH001", Severity: Notice, Confidence: Certain, Path: shown,
		Title:    fmt.Sprintf("held for %s, longer than the limit of %s", solehold.Age(age), h.o.MaxAge),
		Evidence: []string{line("%s", s.Owner)},
		Advice:   "if it should have ended long ago, look what it does (solehold doctor --pid) before you stop it",
	}
	report, answered := touch(h, shown, func() diagnose.Report {
		return diagnose.WithHistory(s, path, &solehold.Options{Timeout: h.o.Timeout / share})
	})
	if answered && report.Refused > 0 {
		f.Evidence = append(f.Evidence, line("%s refused since", many(report.Refused, "start", "starts")))
	}
	if s.Owner.Visible() {
		p := h.show(s.Owner.PID)
		f.Holders = []Process{p}
		if p.State == "T" || p.State == "t" {
			f.Evidence = append(f.Evidence, "holder state T (stopped): it keeps the lock and does nothing")
		}
	}
	return []Finding{f}
}

// far is a guarded directory on a file system whose locks do not reach everybody
// (SH060). The mounts are those of the process that sees it under this name, 0
// for this one.
func (h *host) far(pid int, shown string) []Finding {
	m, ok := h.mountsOf(pid).under(shown)
	_, warning := reach(m)
	asked := slices.Contains(h.paths, shown)
	if !ok || warning == "" || datadir.ClassOf(m.Type) == datadir.Stacked && !asked {
		return nil
	}
	f := farLocks(shown, m.Type, m.Source, warning)
	if pid != 0 {
		f.Holders = []Process{h.show(pid)}
	}
	if datadir.ClassOf(m.Type) == datadir.Stacked {
		f.Severity = Notice
	}
	return []Finding{f}
}

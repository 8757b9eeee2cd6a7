package doctor

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/datadir"
)

// subjects answers for each path that was asked for, and for each lock of the
// process that was. What is wrong with a path goes to the report.
func (h *host) subjects(r *Report) []Subject {
	var all []Subject
	for _, path := range h.paths {
		s, found := h.subject(path)
		all = append(all, s)
		r.Findings = append(r.Findings, found...)
	}
	if h.o.PID != 0 {
		all = append(all, h.locksOf(h.o.PID)...)
	}
	return all
}

// looked is what lstat told of a path.
type looked struct {
	info  fs.FileInfo
	err   error
	names []string
}

func (h *host) subject(path string) (Subject, []Finding) {
	l, answered := touch(h, path, func() (l looked) {
		if l.info, l.err = os.Lstat(path); l.err == nil && l.info.IsDir() {
			l.names = list(path)
		}
		return l
	})
	s := Subject{Path: path}
	switch {
	case !answered:
		s.Kind, s.State = "unknown", "the file system does not answer"
		return s, nil
	case l.err != nil:
		s.Kind, s.State = "missing", reason(l.err)
		h.gap(Gap{What: path, Why: reason(l.err), NotRun: true, Count: 1})
		return s, nil
	case markerOf(path) != "":
		return h.markerSubject(s)
	case l.info.IsDir():
		return h.directory(s, l)
	case !l.info.Mode().IsRegular():
		s.Kind, s.State = kindOf(l.info.Mode()), "not opened: only regular files and directories carry locks"
		return s, nil
	}
	return h.plainFile(s, l)
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "pipe"
	case mode&fs.ModeSymlink != 0:
		return "symlink"
	case mode&fs.ModeSocket != 0:
		return "socket"
	}
	return "device"
}

func (h *host) markerSubject(s Subject) (Subject, []Finding) {
	s.Kind = "existence-only lock"
	m, ok := h.markerAt(s.Path)
	if !ok {
		return s, nil
	}
	s.State = "exists since " + solehold.Age(m.age)
	s.Holders = h.showAll(m.openers)
	return s, h.markerFinding(m)
}

// directory says what kind of data directory it is, and how it stands.
func (h *host) directory(s Subject, l looked) (Subject, []Finding) {
	s.Kind = "directory"
	var found []Finding
	e, known := ofDirectory(l.names)
	if known {
		s.Kind = e.name + " data directory"
		h.engineState(&s, e)
	}
	if slices.Contains(l.names, datadir.StateName) {
		if known {
			s.Notes = append(s.Notes, line("%s", s.State))
		} else {
			s.Kind = "data directory"
		}
		h.guardedState(&s)
	}
	for _, path := range markersIn(s.Path, l.names) {
		if m, ok := h.markerAt(path); ok {
			found = append(found, h.markerFinding(m)...)
		}
	}
	for _, name := range l.names {
		if filepath.Ext(name) != ".pid" {
			continue
		}
		if p, ok := h.pidfileAt(filepath.Join(s.Path, name)); ok {
			s.Notes = append(s.Notes, line("%s: %s, %s", name, p.verdict, p.detail))
			found = append(found, h.pidFinding(p)...)
		}
	}
	if !slices.Contains(l.names, datadir.StateName) {
		found = append(found, h.far(0, s.Path)...)
	}
	return s, found
}

// engineState fills in who has the engine's own lock.
func (h *host) engineState(s *Subject, e engine) {
	target := &site{engine: e, path: s.Path}
	switch {
	case e.pidfile != "":
		s.State = "goes by " + e.pidfile
	case e.lock == "":
		s.State = e.name + " has no lock of its own: two can be started on this directory"
	default:
		s.State = "not held by " + e.name + "'s own lock"
		for _, l := range h.engineLocks(target) {
			s.State, s.Lock = "held by "+e.name+"'s own lock", l.row.Type
			s.Holders, s.Waiters = h.parties(l), h.awaiting(l)
		}
	}
}

// guardedState fills in what solehold's protocol says.
func (h *host) guardedState(s *Subject) {
	o := &solehold.Options{Timeout: h.o.Timeout / share}
	st, answered := touch(h, s.Path, func() solehold.Status {
		st, err := solehold.Inspect(h.ctx, s.Path, o)
		if err != nil {
			st.Err = err
		}
		return st
	})
	s.State = string(st.State)
	if !answered || st.Err != nil {
		s.State = string(solehold.NotKnown)
		h.gap(Gap{What: s.Path, Why: "its lock could not be asked", NotRun: true, Count: 1})
		return
	}
	if st.Owner != nil {
		if st.Owner.Visible() {
			s.Holders = []Process{h.show(st.Owner.PID)}
		}
		s.Notes = append(s.Notes, line("owner: %s", st.Owner))
	}
	for _, l := range h.locks {
		if l.ours() && strings.HasPrefix(l.path, s.Path+"/") {
			s.Waiters = append(s.Waiters, h.awaiting(l)...)
		}
	}
	if st.Record.Class != "none" && st.Record.Class != "live" {
		s.Notes = append(s.Notes, line("record: %s %s", st.Record.Class, st.Record.Detail))
	}
}

// resting is what most people need to hear about a lock file.
const resting = "the file exists and is not held; this is its normal resting state; do not delete it"

// plainFile is a lock file, a pid file or data in one file.
func (h *host) plainFile(s Subject, l looked) (Subject, []Finding) {
	s.Kind, s.State = "file", "not held"
	for _, held := range h.locks {
		if !held.on(idOf(l.info)) {
			continue
		}
		s.Kind, s.State, s.Lock = "lock file", "held", held.row.Type
		s.Holders = append(s.Holders, h.parties(held)...)
		s.Waiters = append(s.Waiters, h.awaiting(held)...)
	}
	if s.State != "held" {
		s.Notes = append(s.Notes, resting)
		if h.blind() {
			s.State = "not held as far as can be seen"
		}
	}
	if e, ok := h.recognise(s.Path, s.Path); ok {
		s.Kind = e.name + " file"
	}
	var found []Finding
	if p, ok := h.pidfileAt(s.Path); ok && s.State != "held" && (filepath.Ext(s.Path) == ".pid" || p.pid > 0) {
		s.Kind, s.State = "pid file", p.verdict
		s.Notes = []string{line("%s", p.detail)}
		found = h.pidFinding(p)
	}
	return s, append(found, h.far(0, s.Path)...)
}

// locksOf is what one process holds and waits for.
func (h *host) locksOf(pid int) []Subject {
	var all []Subject
	if !h.process(pid).alive {
		h.gap(Gap{What: fmt.Sprintf("pid %d", pid), Why: "there is no such process here", NotRun: true, Count: 1})
		return nil
	}
	for _, l := range h.locks {
		s := Subject{Path: l.at(), Kind: "lock", Lock: l.row.Type, Holders: h.parties(l), Waiters: h.awaiting(l)}
		switch {
		case l.heldBy(pid):
			s.State = "held by it"
		case l.awaitedBy(pid):
			s.State = "awaited by it"
		default:
			continue
		}
		all = append(all, s)
	}
	return all
}

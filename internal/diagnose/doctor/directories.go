package doctor

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/solehold/solehold/internal/procfs"
)

// directories judges every data directory that is in use: those of solehold by
// their lock, those of known engines by the engine's own.
func (h *host) directories() []Finding {
	var all []Finding
	h.sites = h.discover()
	for _, s := range h.sites {
		all = append(all, h.judge(s)...)
	}
	return append(all, h.guarded()...)
}

// judge looks at one data directory of an engine.
func (h *host) judge(s *site) []Finding {
	families := h.families(s.writers())
	if len(families) == 0 || !h.stillWriting(s) {
		return nil
	}
	switch {
	case len(families) > 1 && s.shared:
		return []Finding{h.sharedData(s, families)}
	case len(families) > 1:
		return []Finding{h.twoWriters(s, families)}
	case h.isGuarded(s):
		return nil // it needs no other lock
	case s.pidfile != "":
		return h.judgePidfile(s, families[0])
	case s.lock == "" || s.shared:
		return nil
	}
	return h.judgeLock(s, families[0])
}

// stillWriting looks a second time at the writers, so that a successor is not
// taken for a second one while its predecessor closes its files.
func (h *host) stillWriting(s *site) bool {
	for _, pid := range s.writers() {
		for _, f := range s.files {
			for _, fd := range f.fdsOf(pid) {
				if _, err := h.proc.FDInfo(pid, fd); err != nil {
					return false
				}
			}
		}
	}
	return true
}

// twoWriters is a directory that two services write to (SH030).
func (h *host) twoWriters(s *site, families [][]int) Finding {
	f := Finding{
		ID: "SH030", Severity: Danger, Confidence: h.sure(Certain), Path: s.path,
		Title:  fmt.Sprintf("%s data is written by %d services", s.name, len(families)),
		Advice: "stop one of them before more is written, and check the data; then start it below `solehold run` so that there is one",
	}
	for _, family := range families {
		f.Holders = append(f.Holders, h.show(family[0]))
		f.Evidence = append(f.Evidence, h.writes(s, family[0])+h.lockWord(s, family))
	}
	return f
}

// writes is evidence that a process writes to a directory.
func (h *host) writes(s *site, pid int) string {
	for _, f := range s.files {
		if slices.Contains(f.writers(), pid) {
			return line("%s has %s open for writing", h.name(pid), f.path)
		}
	}
	return line("%s writes there", h.name(pid))
}

// lockWord says whether a service has the engine's own lock.
func (h *host) lockWord(s *site, family []int) string {
	if s.lock == "" {
		return ""
	}
	for _, l := range h.engineLocks(s) {
		if slices.ContainsFunc(family, l.heldBy) {
			return ", and has the engine's lock"
		}
	}
	return ", without the engine's lock"
}

// engineLocks are the locks that are held on the engine's lock file, which may
// have been removed meanwhile.
func (h *host) engineLocks(s *site) []*lock {
	target := filepath.Join(s.path, s.lock)
	var all []*lock
	for _, l := range h.locks {
		switch {
		case l.file == nil || len(l.holders) == 0 || l.ours() || l.lease():
		case s.file != nil && l.file == s.file, s.file == nil && l.path == target:
			all = append(all, l)
		}
	}
	return all
}

// judgeLock is about a directory with one writer: it must have the engine's own
// lock, or the engine would let a second one in (SH031).
func (h *host) judgeLock(s *site, family []int) []Finding {
	if len(h.engineLocks(s)) > 0 || h.hidden > 0 || h.hiding() != "" {
		return nil
	}
	lock := filepath.Join(s.path, s.lock)
	f := Finding{
		ID: "SH031", Severity: Danger, Confidence: h.sure(Likely), Path: s.path, Holders: h.showAll(family),
		Title:    fmt.Sprintf("%s data is written without the engine's lock", s.name),
		Evidence: []string{h.writes(s, family[0]), line("nobody holds a lock on %s: a second %s would start beside it", lock, s.name)},
		Advice:   "start no second one; end this process properly and start the service anew. It may be a child that outlived its parent, or locking was switched off",
	}
	if id, known := h.atPath(s.pid, lock); known && id == (procfs.FileID{}) {
		f.Severity = Notice
		f.Evidence = append(f.Evidence, line("there is no file %s: this service runs with its locking switched off", lock))
		f.Advice = "switch the engine's locking on, or start it below `solehold run`; until then start no second one"
	}
	return []Finding{f}
}

// isGuarded says whether the data lies in a directory that is held with
// solehold's protocol.
func (h *host) isGuarded(s *site) bool {
	return slices.ContainsFunc(h.locks, func(l *lock) bool {
		return l.ours() && l.file != nil && l.file.Type == procfs.Directory && len(l.holders) > 0 &&
			s.place.below(h.placeOf(h.keeper(l), l.path, l.file.Dev))
	})
}

// sharedData is data that an engine lets several services write (SH034).
func (h *host) sharedData(s *site, families [][]int) Finding {
	f := Finding{
		ID: "SH034", Severity: Notice, Confidence: h.sure(Certain), Path: s.path,
		Title:  fmt.Sprintf("one %s file, %d services", s.name, len(families)),
		Advice: "fine on a local disk as long as all use the same locking and nobody removes or replaces the file or its -wal and -journal; not fine on a network file system",
	}
	for _, family := range families {
		f.Holders = append(f.Holders, h.show(family[0]))
		f.Evidence = append(f.Evidence, h.writes(s, family[0]))
	}
	if class, warning := reach(h.mountOf(s)); warning != "" && class != "stacked" {
		f.Severity = Danger
		f.Evidence = append(f.Evidence, line("%s", warning))
	}
	return f
}

func (h *host) mountOf(s *site) procfs.Mount {
	if m, ok := h.mounts.byDev[s.place.dev]; ok {
		return m
	}
	m, _ := h.mounts.under(s.path)
	return m
}

// judgePidfile is about an engine that goes by its pid file: it must name this
// service (SH032).
func (h *host) judgePidfile(s *site, family []int) []Finding {
	path := filepath.Join(s.path, s.pidfile)
	data, answered := touch(h, path, func() []byte { return h.head(seenBy(s.pid, path), pidfileSize) })
	if !answered {
		return nil
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
	named, err := strconv.Atoi(strings.TrimSpace(first))
	named = max(named, -named) // a negative one is a single-user server
	if err == nil && slices.ContainsFunc(append(h.ancestors(family[0]), family...), func(pid int) bool { return h.ownNumber(pid) == named }) {
		return nil
	}
	why := fmt.Sprintf("%s names pid %d, which is none of them", path, named)
	if err != nil {
		why = path + " is missing or empty"
	}
	return []Finding{{
		ID: "SH032", Severity: Danger, Confidence: h.sure(Certain), Path: s.path, Holders: h.showAll(family),
		Title:    fmt.Sprintf("%s data is written, and its pid file does not say by whom", s.name),
		Evidence: []string{h.writes(s, family[0]), line("%s: a second %s could start beside it", why, s.name)},
		Advice:   "start no second one; stop this one properly, which makes its pid file right again",
	}}
}

// ownNumber is the pid that a process takes itself for: another one in a container.
func (h *host) ownNumber(pid int) int {
	st, err := h.proc.Status(pid)
	if err != nil || len(st.NSpid) == 0 {
		return pid
	}
	return st.NSpid[len(st.NSpid)-1]
}

package doctor

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/procfs"
)

// marker is a lock that is held as long as its file exists; the kernel knows
// nothing of it.
type marker struct {
	path    string
	of      string // the program that makes such files
	age     time.Duration
	openers []int
	workers []int // processes of that program which work there
	named   string
}

// fresh is how young a marker is that somebody is likely to be working under.
const fresh = time.Minute

// markerOf says which program makes a file of this name its lock.
func markerOf(path string) string {
	base := filepath.Base(path)
	switch {
	case base == ".terraform.tfstate.lock.info", strings.HasSuffix(base, ".tfstate.lock.info"):
		return "terraform"
	case base == "SingletonLock":
		return "chrome"
	case strings.HasSuffix(base, ".lock") && strings.Contains(path, "/.git/"):
		return "git"
	}
	return ""
}

// markersIn finds such files in a directory that was asked for.
func markersIn(folder string, names []string) []string {
	var found []string
	for _, name := range names {
		if path := filepath.Join(folder, name); markerOf(path) != "" {
			found = append(found, path)
		}
	}
	if slices.Contains(names, ".git") {
		git := filepath.Join(folder, ".git")
		found = append(found, markersIn(git, list(git))...)
	}
	return found
}

// markerAt looks at one; false where there is none.
func (h *host) markerAt(path string) (marker, bool) {
	m := marker{path: path, of: markerOf(path)}
	type look struct {
		info   fs.FileInfo
		target string
	}
	l, answered := touch(h, path, func() look {
		info, err := os.Lstat(path)
		if err != nil {
			return look{}
		}
		target, _ := os.Readlink(path) // only Chromium's is a link
		return look{info, target}
	})
	if !answered || l.info == nil || m.of == "" {
		return m, false
	}
	m.age = time.Since(l.info.ModTime())
	if f := h.files[idOf(l.info)]; f != nil && f.Type == procfs.Regular {
		m.openers = f.users()
	}
	if l.target != "" {
		m.named = h.linkOwner(l.target)
	}
	m.workers = h.workingIn(m.of, filepath.Dir(path))
	return m, true
}

// linkOwner judges Chromium's "host-pid".
func (h *host) linkOwner(target string) string {
	i := strings.LastIndexByte(target, '-')
	pid, err := strconv.Atoi(target[i+1:])
	if i < 0 || err != nil {
		return line("it leads to %q", target)
	}
	host, err := os.Hostname()
	switch {
	case err != nil || host != target[:i]:
		return line("it names pid %d of host %s; this host is %s: that process cannot be asked from here", pid, target[:i], host)
	case !h.process(pid).alive:
		return line("it names pid %d of this host, which is not visible here", pid)
	}
	return line("it names %s", h.name(pid))
}

// workingIn finds processes of a program whose working directory is the folder,
// or above or below it.
func (h *host) workingIn(program, folder string) []int {
	var found []int
	folder = strings.TrimSuffix(folder, "/.git")
	for _, pid := range h.pids {
		if !strings.Contains(h.process(pid).stat.Comm, program) {
			continue
		}
		if cwd, err := h.proc.Cwd(pid); err == nil && (cwd == folder || strings.HasPrefix(cwd, folder+"/") || strings.HasPrefix(folder, cwd+"/")) {
			found = append(found, pid)
		}
	}
	return found
}

// markerFinding tells a lock that exists and has no visible worker, or has been
// there for long (SH041).
func (h *host) markerFinding(m marker) []Finding {
	if m.age < fresh && len(m.openers)+len(m.workers) > 0 {
		return nil
	}
	f := Finding{
		ID: "SH041", Severity: Notice, Confidence: Possible, Path: m.path,
		Title:    fmt.Sprintf("a lock of %s that only exists", m.of),
		Holders:  h.showAll(slices.Concat(m.openers, m.workers)),
		Evidence: []string{line("%s was written %s ago", m.path, solehold.Age(m.age))},
		Advice:   fmt.Sprintf("its age proves nothing. Find out what %s was doing, let it finish or end it, and let it clean up by itself", m.of),
	}
	if m.named != "" {
		f.Evidence = append(f.Evidence, m.named)
	}
	for _, pid := range m.openers {
		f.Evidence = append(f.Evidence, line("%s has it open", h.name(pid)))
	}
	for _, pid := range m.workers {
		f.Evidence = append(f.Evidence, line("%s works there", h.name(pid)))
	}
	if len(m.openers)+len(m.workers) == 0 {
		f.Evidence = append(f.Evidence, line("no visible process has it open, and no visible %s works there", m.of))
	}
	return []Finding{f}
}

package doctor

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/procfs"
)

// site is a data directory, or a data file, that somebody writes to or asked for.
type site struct {
	engine
	path  string // as the process that has it open sees it
	place place  // of the directory; of a file, the file's own path
	file  *file  // for data in one file
	pid   int    // a process that sees it at path
	files []*file
}

// writersOf are the processes that have something of it open for writing.
func (h *host) writersOf(s *site) []int {
	var pids []int
	for _, f := range s.files {
		pids = append(pids, h.writers(f)...)
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}

// listing is the names in a directory, as many as tell what it is.
const listing = 4096

// discover finds the data directories among the files that are open for writing.
func (h *host) discover() []*site {
	var all []*site
	h.engines = knownEngines()
	checked := map[place]*site{}
	for _, f := range h.sortedFiles() {
		if f.place.folder == "" || f.removed() || filepath.Base(f.place.folder) == datadir.StateName {
			continue
		}
		if s := h.dataFile(f); s != nil {
			all = append(all, s)
			continue
		}
		if s := h.dataDirectory(f, checked); s != nil {
			if !slices.Contains(all, s) {
				all = append(all, s)
			}
			s.files = append(s.files, f)
		}
	}
	return all
}

func (h *host) sortedFiles() []*file {
	all := make([]*file, 0, len(h.files))
	for _, f := range h.files {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b *file) int { return strings.Compare(a.path, b.path) })
	return all
}

// dataDirectory finds the data directory above a file that somebody writes to, if
// it lies in one.
func (h *host) dataDirectory(f *file, checked map[place]*site) *site {
	folder, base := filepath.Dir(f.path), filepath.Base(f.path)
	for up := 0; up <= 3 && folder != "/"; up++ {
		if slices.ContainsFunc(h.engines, func(e engine) bool { return up <= e.rise && e.mayHold(base) }) {
			at := h.placeAbove(f, folder)
			s, known := checked[at]
			if (!known || s != nil) && len(h.writers(f)) == 0 {
				return nil
			}
			if !known {
				s = h.siteAt(f.seer, folder, at)
				checked[at] = s
			}
			if s != nil && up <= s.rise {
				return s
			}
		}
		folder = filepath.Dir(folder)
	}
	return nil
}

// siteAt recognises a directory by its listing.
func (h *host) siteAt(pid int, folder string, at place) *site {
	names, answered := touch(h, folder, func() []string { return list(seenBy(pid, folder)) })
	if !answered {
		return nil
	}
	if e, ok := ofDirectory(names); ok {
		return &site{engine: e, path: folder, place: at, pid: pid}
	}
	return nil
}

// list returns the names in a directory, as far as it may be read.
func list(folder string) []string {
	d, err := openFolder(folder)
	if err != nil {
		return nil
	}
	defer d.Close()
	names, err := d.Readdirnames(listing)
	if err != nil {
		return names
	}
	return names
}

// dataFile recognises data in one file that somebody writes to.
func (h *host) dataFile(f *file) *site {
	base := filepath.Base(f.path)
	if base == "lock" || !mayBeData(base) && len(h.lockedFile(f.FileID)) == 0 {
		return nil
	}
	if len(h.writers(f)) == 0 {
		return nil
	}
	e, ok := h.recognise(seenBy(f.seer, f.path), f.path)
	if !ok {
		return nil
	}
	return &site{engine: e, path: f.path, place: place{f.Dev, filepath.Join(f.place.folder, base)}, file: f, pid: f.seer, files: []*file{f}}
}

// leased says whether somebody asked to be told when the file is opened: to open
// it would disturb that process.
func (h *host) leased(id procfs.FileID) bool {
	return slices.ContainsFunc(h.locks, func(l *lock) bool { return l.lease() && l.row.Inode == id.Ino })
}

// headSize is enough of a file to recognise it.
const headSize = 64

func (h *host) recognise(path, shown string) (engine, bool) {
	data, answered := touch(h, shown, func() []byte { return h.head(path, headSize) })
	if !answered {
		return engine{}, false
	}
	return ofFile(data)
}

// head reads the beginning of a regular file. It opens nothing else: to open a
// device may do something, a pipe may wait, and a lease would be broken.
func (h *host) head(path string, most int64) []byte {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || h.leased(idOf(info)) {
		return nil
	}
	f, err := openToRead(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !now.Mode().IsRegular() {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return nil
	}
	return data
}

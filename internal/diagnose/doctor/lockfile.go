package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/solehold/solehold/internal/procfs"
)

// detachedFiles are held locks whose file was removed or replaced (SH021). The
// lock still works for who has it; the next one to come opens another file and
// gets a lock, too. Those of solehold's protocol are judged with their directory:
// its owner makes a removed file anew, and its children keep the old one.
func (h *host) detachedFiles() []Finding {
	var all []Finding
	for _, l := range h.locks {
		if l.file == nil || l.file.Type != procfs.Regular || !strings.HasPrefix(l.path, "/") || len(l.holders) == 0 || l.lease() || l.ours() {
			continue
		}
		now, known := h.atPath(h.keeper(l), l.path)
		replaced := known && now != (procfs.FileID{}) && now != l.file.FileID
		if !l.file.removed() && !replaced || !l.file.removed() && !h.mounts.plain(l.file.Dev) || private(l.path) {
			continue
		}
		f := Finding{
			ID: "SH021", Severity: Danger, Confidence: Certain, Path: l.path, Holders: h.parties(l), Waiters: h.awaiting(l),
			Title:    "held lock file was removed",
			Evidence: []string{line("%s: inode %d has no name any more; %s", l.path, l.file.Ino, h.held(l))},
			Advice:   "find what cleans this place, and keep lock files out of /tmp; until the holder has ended, a second one can start",
		}
		switch {
		case replaced && len(h.lockedFile(now)) > 0:
			f.Title = "lock file was replaced, and both are held"
			f.Evidence = append(f.Evidence, line("the path leads to inode %d now, which %s has locked", now.Ino, h.name(h.keeper(h.lockedFile(now)[0]))))
			f.Holders = append(f.Holders, h.parties(h.lockedFile(now)[0])...)
		case replaced:
			f.Title = "held lock file was replaced"
			f.Evidence = append(f.Evidence, line("the path leads to inode %d now: whoever locks that is not kept out", now.Ino))
		case !known:
			f.Evidence = append(f.Evidence, "what is at the path now could not be seen")
		default:
			f.Evidence = append(f.Evidence, "nothing is at the path now: the next one to come makes a new file and locks that")
		}
		all = append(all, f)
	}
	return all
}

// private tells files that were made without a lasting name, to be nobody else's.
func private(path string) bool {
	return strings.HasPrefix(path, "/memfd:") || strings.HasPrefix(path, "/dev/shm/") || strings.HasPrefix(filepath.Base(path), "#") ||
		strings.HasPrefix(filepath.Base(path), "etilqs_")
}

// lockedFile are the held locks on a file.
func (h *host) lockedFile(id procfs.FileID) []*lock {
	var all []*lock
	for _, l := range h.locks {
		if l.file != nil && l.file.FileID == id && len(l.holders) > 0 {
			all = append(all, l)
		}
	}
	return all
}

// seenBy is a path as a process sees it: it may have another root, or other mounts.
// Pid 0 is this process.
func seenBy(pid int, path string) string {
	if pid == 0 {
		return path
	}
	return fmt.Sprintf("/proc/%d/root%s", pid, path)
}

// atPath is the file that a process finds at a path, the zero FileID for none.
// known is false where that cannot be told.
func (h *host) atPath(pid int, path string) (id procfs.FileID, known bool) {
	type result struct {
		id  procfs.FileID
		err error
	}
	r, answered := touch(h, path, func() result {
		info, err := os.Lstat(seenBy(pid, path))
		if err != nil {
			return result{err: err}
		}
		return result{id: idOf(info)}
	})
	if !answered {
		return procfs.FileID{}, false
	}
	return r.id, r.err == nil || os.IsNotExist(r.err)
}

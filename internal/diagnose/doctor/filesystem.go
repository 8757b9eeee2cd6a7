package doctor

import (
	"os"
	"path/filepath"

	"github.com/solehold/solehold/internal/datadir"
)

// remote are locks on file systems whose locks do not reach everybody (SH060).
// Our own are told with their directory, and stacked ones with the directories
// that were asked for: in a container everything is on one.
func (h *host) remote() []Finding {
	var all []Finding
	for _, l := range h.locks {
		class, warning := reach(l.mount)
		if len(l.holders) == 0 || l.ours() || l.mount.Type == "" || class != datadir.Network && class != datadir.Userspace {
			continue
		}
		f := farLocks(l.path, l.mount.Type, l.mount.Source, warning)
		f.Holders = h.parties(l)
		f.Evidence = append(f.Evidence, line("%s", h.held(l)))
		all = append(all, f)
	}
	return all
}

func farLocks(path, fsType, source, warning string) Finding {
	return Finding{
		ID: "SH060", Severity: Danger, Confidence: Certain, Path: path,
		Title:    "locks here do not reach everybody: " + fsType,
		Evidence: []string{line("%s is on %s (%s): %s", path, fsType, source, warning)},
		Advice:   "put the data on a local disk, or mount with locks that the server shares; start with --strict to be refused instead",
	}
}

// openPlaces are lock files in directories where everybody may make files (SH080).
func (h *host) openPlaces() []Finding {
	var all []Finding
	seen := map[string]bool{}
	for _, l := range h.locks {
		folder := filepath.Dir(l.path)
		if l.file == nil || l.path == "" || len(l.holders) == 0 || l.lease() || seen[l.path] || private(l.path) {
			continue
		}
		seen[l.path] = true
		mode, answered := touch(h, folder, func() os.FileMode {
			info, err := os.Lstat(seenBy(h.keeper(l), folder))
			if err != nil {
				return 0
			}
			return info.Mode()
		})
		if !answered || mode.Perm()&0o002 == 0 {
			continue
		}
		what := "anybody may remove or replace it"
		if mode&os.ModeSticky != 0 {
			what = "anybody may make the file first, and cleaners of temporary files remove it"
		}
		all = append(all, Finding{
			ID: "SH080", Severity: Notice, Confidence: Certain, Path: l.path, Holders: h.parties(l),
			Title:    "lock file in a place where everybody may write",
			Evidence: []string{line("%s has mode %s: %s", folder, mode, what), line("%s", h.held(l))},
			Advice:   "keep the lock in the data directory, or in a directory of the service below /run",
		})
	}
	return all
}

package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/solehold/solehold/internal/procfs"
)

// worthTelling is from which size on a removed file is a finding of its own.
const worthTelling = 1 << 20

// wasteful are the removed files that still take room on a mounted file system.
// What only lives in memory by design (memfd, /dev/shm) is none.
func (h *host) wasteful() []*file {
	var all []*file
	for _, f := range h.files {
		m, mounted := h.mounts.byDev[f.Dev]
		if f.Type != procfs.Regular || !f.removed() || f.Bytes == 0 || !mounted || m.Point == "/dev/shm" ||
			strings.HasPrefix(f.path, "/memfd:") || strings.HasPrefix(f.path, "/dev/shm/") || strings.HasPrefix(f.path, "/SYSV") {
			continue
		}
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b *file) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Dev, b.Dev), cmp.Compare(a.Ino, b.Ino))
	})
	return all
}

// space sums up what removed files occupy, for each file system: it is what `df`
// counts and `du` does not find.
func (h *host) space() []Space {
	var all []Space
	for _, f := range h.wasteful() {
		m := h.mounts.byDev[f.Dev]
		i := slices.IndexFunc(all, func(s Space) bool { return s.Mount == m.Point })
		if i < 0 {
			all = append(all, Space{Mount: m.Point, Memory: memory(m.Type)})
			i = len(all) - 1
		}
		all[i].Files++
		all[i].Bytes += f.Bytes
	}
	return all
}

// wasted are large removed files that are kept by who has them open (SH050). A
// removed lock file is told as that.
func (h *host) wasted() []Finding {
	totals := h.space()
	var all []Finding
	for _, f := range h.wasteful() {
		if f.Bytes < worthTelling {
			break // they are sorted
		}
		m := h.mounts.byDev[f.Dev]
		total := totals[slices.IndexFunc(totals, func(s Space) bool { return s.Mount == m.Point })]
		users := f.users()
		where := "disk"
		if total.Memory {
			where = "memory (" + m.Type + "), not disk"
		}
		found := Finding{
			ID: "SH050", Severity: Notice, Confidence: Certain, Path: f.path,
			Title: fmt.Sprintf("removed file still takes %s of %s", size(f.Bytes), where),
			Evidence: []string{
				line("%s (removed, inode %d) on %s: %s", f.path, f.Ino, m.Point, size(f.Bytes)),
				line("all removed files on %s: %s in %s", m.Point, size(total.Bytes), many(total.Files, "file", "files")),
			},
			Advice: "the room is freed when the last of these closes or unmaps it: reload or restart the service so that it opens its files anew",
		}
		for _, pid := range users {
			found.Holders = append(found.Holders, h.show(pid, f.fdsOf(pid)...))
			how := "has it mapped"
			if fds := f.fdsOf(pid); len(fds) > 0 {
				how = fmt.Sprintf("has it open as descriptor %d", fds[0])
			}
			found.Evidence = append(found.Evidence, line("%s %s", h.name(pid), how))
		}
		all = append(all, found)
	}
	return all
}

// size says bytes as people do.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
}

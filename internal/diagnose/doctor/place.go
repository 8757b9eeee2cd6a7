package doctor

import (
	"path/filepath"
	"strings"

	"github.com/solehold/solehold/internal/procfs"
)

// place is a folder within a file system: the same for every mount and every
// container that leads to it, and different for two folders of one name.
type place struct {
	dev    uint64
	folder string
}

// below says whether p is the folder q or lies in it.
func (p place) below(q place) bool {
	return p.dev == q.dev && q.folder != "" && (p.folder == q.folder || strings.HasPrefix(p.folder, strings.TrimSuffix(q.folder, "/")+"/"))
}

// settle finds out where each file that is written to lies.
func (h *host) settle() {
	for _, f := range h.files {
		if f.Type == procfs.Regular && strings.HasPrefix(f.path, "/") {
			if writers := f.writers(); len(writers) > 0 {
				f.place = h.placeOf(writers[0], filepath.Dir(f.path), f.Dev)
			}
		}
	}
}

// placeOf translates a folder that a process sees to its place.
func (h *host) placeOf(pid int, folder string, dev uint64) place {
	m, ok := h.mountsOf(pid).under(folder)
	if !ok {
		return place{dev, folder}
	}
	rest := strings.TrimPrefix(folder, strings.TrimSuffix(m.Point, "/"))
	return place{dev, filepath.Join(m.Root, rest)}
}

// mountsOf are the mounts that a process sees; ours where that is not told.
func (h *host) mountsOf(pid int) *mountTable {
	space, asked := h.spaceOf[pid]
	if !asked {
		space, _ = h.proc.Namespace(pid, "mnt")
		h.spaceOf[pid] = space
	}
	if space == 0 {
		return &h.mounts // that is not told
	}
	if t, ok := h.spaces[space]; ok {
		return &t
	}
	own, _ := h.proc.Namespace(0, "mnt")
	t := h.mounts
	if own != space {
		if mounts, err := h.proc.Mounts(pid); err == nil {
			t = newMountTable(mounts)
			h.mounts.add(mounts)
		}
	}
	h.spaces[space] = t
	return &t
}

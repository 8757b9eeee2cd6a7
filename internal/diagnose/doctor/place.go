package doctor

import (
	"iter"
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

// up gives the folder and each one above it.
func (p place) up() iter.Seq[place] {
	return func(yield func(place) bool) {
		for p.folder != "" && yield(p) {
			above := filepath.Dir(p.folder)
			if above == p.folder {
				return
			}
			p.folder = above
		}
	}
}

// settle finds out where each open file lies.
func (h *host) settle() {
	for _, f := range h.files {
		if f.Type == procfs.Regular && strings.HasPrefix(f.path, "/") {
			f.place = h.placeAbove(f, filepath.Dir(f.path))
		}
	}
}

// placeAbove is the place of a folder above a file. Below a mount that is seen
// from here that needs no look at the process' own mounts.
func (h *host) placeAbove(f *file, folder string) place {
	if m, ok := h.mounts.byID[f.Mount]; ok && (place{0, folder}).below(place{0, m.Point}) {
		return within(m, folder, f.Dev)
	}
	return h.placeOf(f.seer, folder, f.Dev)
}

// placeOf translates a folder that a process sees to its place.
func (h *host) placeOf(pid int, folder string, dev uint64) place {
	m, ok := h.mountsOf(pid).under(folder)
	if !ok {
		return place{dev, folder}
	}
	return within(m, folder, dev)
}

// within is a folder's place below the mount that it is reached by.
func within(m procfs.Mount, folder string, dev uint64) place {
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

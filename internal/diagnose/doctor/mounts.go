package doctor

import (
	"strings"

	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/procfs"
)

// mountTable finds mounts by the device of a file.
type mountTable struct {
	all   []procfs.Mount
	byDev map[uint64]procfs.Mount
	byID  map[int]procfs.Mount // those of our own namespace
}

func newMountTable(mounts []procfs.Mount) mountTable {
	t := mountTable{all: mounts, byDev: map[uint64]procfs.Mount{}, byID: map[int]procfs.Mount{}}
	for _, m := range mounts {
		t.byID[m.ID] = m
	}
	t.add(mounts)
	return t
}

// add takes the mounts of another mount namespace too. Of several mounts of one
// file system the one that shows all of it is the best name.
func (t *mountTable) add(mounts []procfs.Mount) {
	for _, m := range mounts {
		if old, ok := t.byDev[m.Device()]; !ok || old.Root != "/" && m.Root == "/" {
			t.byDev[m.Device()] = m
		}
	}
}

// plain says whether a device is one whose files have the inode and device that
// the kernel's list of locks prints.
func (t *mountTable) plain(dev uint64) bool {
	m, ok := t.byDev[dev]
	if !ok {
		return false
	}
	switch m.Type {
	case "overlay", "btrfs", "bcachefs", "aufs", "ecryptfs":
		return false
	}
	return true
}

// under finds the mount of a path, as this process sees paths.
func (t *mountTable) under(path string) (procfs.Mount, bool) {
	var best procfs.Mount
	found := false
	for _, m := range t.all {
		if m.Point != "/" && path != m.Point && !strings.HasPrefix(path, m.Point+"/") {
			continue
		}
		if !found || len(m.Point) >= len(best.Point) {
			best, found = m, true
		}
	}
	return best, found
}

// memory says whether a file system keeps its files in memory.
func memory(fsType string) bool {
	return fsType == "tmpfs" || fsType == "ramfs" || fsType == "devtmpfs"
}

// reach says why the locks of a mount do not reach everybody, and how far they do.
func reach(m procfs.Mount) (datadir.Class, string) {
	fsys := datadir.Judge(m)
	return fsys.Class, fsys.Warning
}

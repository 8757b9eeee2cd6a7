package dataroot

import (
	"fmt"

	"github.com/solehold/solehold"
	"golang.org/x/sys/unix"
)

// deviceOf names the file system of a path; what cannot be told is left out.
func deviceOf(path string) Device {
	fsys, err := solehold.FilesystemOf(path)
	if err != nil {
		return Device{}
	}
	d := Device{Type: fsys.Type, Source: fsys.Source}
	var st unix.Statfs_t
	if unix.Statfs(path, &st) == nil && lasting(int64(st.Type)) && st.Fsid.Val != [2]int32{} {
		d.ID = fmt.Sprintf("%08x%08x", uint32(st.Fsid.Val[0]), uint32(st.Fsid.Val[1]))
	}
	return d
}

// lasting tells the file systems whose f_fsid comes from the UUID on the disk:
// that of the others is the number of the device, which may be another one after
// a reboot (statfs(2)).
func lasting(magic int64) bool {
	const ext, btrfs, f2fs = 0xEF53, 0x9123683E, 0xF2F52010
	return magic == ext || magic == btrfs || magic == f2fs
}

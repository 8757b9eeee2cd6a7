package datadir

import "golang.org/x/sys/unix"

func fsType(fd int) (string, error) {
	var st unix.Statvfs_t
	if err := unix.Fstatvfs(fd, &st); err != nil {
		return "", err
	}
	return unix.ByteSliceToString(st.Fstypename[:]), nil
}

package datadir

import "golang.org/x/sys/unix"

func fsType(fd int) (string, error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return "", err
	}
	return unix.ByteSliceToString(st.F_fstypename[:]), nil
}

package procfs

import (
	"encoding/binary"
	"io/fs"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// descriptors lists through one open folder: a path below it costs half of a path from the root. Nothing is asked of a
// server (AT_STATX_DONT_SYNC), for it may not answer.
func (m mounted) descriptors(pid int, into []Descriptor) ([]Descriptor, error) {
	name := dir(pid) + "/fd"
	folder, err := restarted(func() (int, error) {
		return syscall.Open(m.root+"/"+name, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	})
	if err != nil {
		return into, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	defer syscall.Close(folder)
	l := listing{folder: folder, into: into}
	var buf [4096]byte // on the stack: a scan lists every process
	for {
		n, err := unix.Getdents(folder, buf[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return l.into, &fs.PathError{Op: "list", Path: name, Err: err}
		}
		if n == 0 {
			return l.into, nil
		}
		l.entries(buf[:n])
	}
}

// listing is one process' descriptors while they are listed.
type listing struct {
	folder int
	denied bool // the process may not be looked into
	into   []Descriptor
}

// entries describes each entry of a buffer of getdents64: inode and offset, 8 bytes each, the length of the entry, one
// byte of type, the name.
func (l *listing) entries(buf []byte) {
	const nameAt = 19
	for len(buf) > nameAt {
		length := int(binary.NativeEndian.Uint16(buf[16:]))
		if length <= nameAt || length > len(buf) {
			return
		}
		fd, ok := digits(buf[nameAt:length])
		buf = buf[length:]
		if !ok {
			continue
		}
		l.entry(fd)
	}
}

// entry describes one descriptor, unless it was closed meanwhile.
func (l *listing) entry(fd int) {
	d := Descriptor{FD: fd}
	if !l.denied {
		var err error
		if d.File, err = statAt(l.folder, strconv.Itoa(fd)); err == unix.ENOENT {
			return
		}
		l.denied = err == unix.EACCES
	}
	l.into = append(l.into, d)
}

// digits reads a number that a NUL ends.
func digits(name []byte) (int, bool) {
	n := 0
	for i, c := range name {
		switch {
		case c == 0:
			return n, i > 0
		case c < '0' || c > '9' || i > 9:
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return 0, false
}

// writable reads the mode of the link itself, which is that of the open file: one call instead of fdinfo's three.
func (m mounted) writable(name string) (bool, error) {
	var st unix.Stat_t
	if err := unix.Lstat(m.root+"/"+name, &st); err != nil {
		return false, &fs.PathError{Op: "lstat", Path: name, Err: err}
	}
	return st.Mode&0o200 != 0, nil
}

func (m mounted) describe(name string) (File, error) {
	f, err := statAt(unix.AT_FDCWD, m.root+"/"+name)
	if err != nil {
		return f, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return f, nil
}

func statAt(folder int, name string) (File, error) {
	const flags = unix.AT_STATX_DONT_SYNC | unix.AT_NO_AUTOMOUNT
	var st unix.Statx_t
	if err := unix.Statx(folder, name, flags, unix.STATX_TYPE|unix.STATX_NLINK|unix.STATX_INO|unix.STATX_SIZE|unix.STATX_BLOCKS|unix.STATX_MNT_ID, &st); err != nil {
		return File{}, err
	}
	f := File{
		FileID: FileID{Dev: device(st.Dev_major, st.Dev_minor), Ino: st.Ino},
		Type:   Other, Links: st.Nlink, Size: int64(st.Size), Bytes: int64(st.Blocks) * 512,
	}
	if st.Mask&unix.STATX_MNT_ID != 0 {
		f.Mount = int(st.Mnt_id)
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		f.Type = Regular
	case unix.S_IFDIR:
		f.Type = Directory
	}
	return f, nil
}

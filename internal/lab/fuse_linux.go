package lab

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// The part of the kernel's FUSE protocol (linux/fuse.h) that a directory with one file, "lock", needs.
const (
	fuseLookup  = 1
	fuseForget  = 2
	fuseGetattr = 3
	fuseOpen    = 14
	fuseStatfs  = 17
	fuseRelease = 18
	fuseFlush   = 25
	fuseInit    = 26
	fuseOpendir = 27
	fuseSetlk   = 32
	fuseSetlkw  = 33

	fuseFile = 2 // node id of the file; that of the directory is 1

	flagPosixLocks = 1 << 1
	flagFlockLocks = 1 << 10
)

type fuseIn struct {
	Len, Opcode   uint32
	Unique, Node  uint64
	UID, GID, PID uint32
	_             uint32
}

type fuseOut struct {
	Len    uint32
	Error  int32
	Unique uint64
}

type fuseAttr struct {
	Ino, Size, Blocks, Atime, Mtime, Ctime    uint64
	AtimeNsec, MtimeNsec, CtimeNsec           uint32
	Mode, Nlink, UID, GID, Rdev, Blksize, Flg uint32
}

// serveHanging mounts a file system whose locks are not answered, as those of a network server that is gone, and serves
// it until the end of the process: DIR hang|answer.
func serveHanging(w []string) (string, error) {
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("/dev/fuse: %w", err)
	}
	how := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd)
	if err := unix.Mount("lab", w[0], "fuse", unix.MS_NOSUID|unix.MS_NODEV, how); err != nil {
		return "", fmt.Errorf("mount fuse: %w", err)
	}
	go serveRequests(fd, w[1] == "hang")
	return "", nil
}

func serveRequests(fd int, hang bool) {
	buf := make([]byte, 1<<20)
	for {
		n, err := unix.Read(fd, buf)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.ENOENT):
			continue
		case err != nil:
			return // unmounted
		}
		var in fuseIn
		if _, err := binary.Decode(buf[:n], binary.NativeEndian, &in); err != nil {
			return
		}
		body, errno, silent := fuseAnswer(in, buf[binary.Size(in):n], hang)
		if silent {
			continue
		}
		out := fuseOut{uint32(binary.Size(fuseOut{}) + len(body)), -int32(errno), in.Unique}
		head, err := binary.Append(nil, binary.NativeEndian, out)
		if err != nil {
			return
		}
		if _, err := unix.Write(fd, append(head, body...)); err != nil && !errors.Is(err, unix.ENOENT) {
			return
		}
	}
}

// fuseAnswer gives the answer to one request; silent means that there will be none.
func fuseAnswer(in fuseIn, arg []byte, hang bool) (body []byte, errno unix.Errno, silent bool) {
	switch in.Opcode {
	case fuseForget:
		return nil, 0, true
	case fuseInit:
		return pack([]uint32{7, 31, 0, flagPosixLocks | flagFlockLocks, 0, 4096, 1}, make([]uint32, 9)), 0, false
	case fuseGetattr:
		return pack([]uint64{60, 0}, attrOf(in.Node)), 0, false
	case fuseOpen, fuseOpendir:
		return pack([]uint64{1, 0}), 0, false
	case fuseStatfs:
		return make([]byte, 80), 0, false
	case fuseRelease, fuseFlush:
		return nil, 0, false
	case fuseLookup:
		name, _, _ := strings.Cut(string(arg), "\x00")
		if name == "lock" {
			return pack([]uint64{fuseFile, 1, 60, 60, 0}, attrOf(fuseFile)), 0, false
		}
		return nil, unix.ENOENT, hang
	case fuseSetlk, fuseSetlkw:
		return nil, 0, hang
	}
	return nil, unix.ENOSYS, false
}

func attrOf(node uint64) fuseAttr {
	a := fuseAttr{Ino: node, Mode: unix.S_IFDIR | 0o700, Nlink: 2, Blksize: 4096}
	if node == fuseFile {
		a.Mode, a.Nlink = unix.S_IFREG|0o600, 1
	}
	return a
}

func pack(parts ...any) []byte {
	var b bytes.Buffer
	for _, p := range parts {
		_ = binary.Write(&b, binary.NativeEndian, p) // a buffer takes everything, and the parts have sizes
	}
	return b.Bytes()
}

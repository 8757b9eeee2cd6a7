package procid

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in struct kinfo_proc of sys/user.h where pointers have 64 bits; its
// layout is fixed, and its size and pid are checked.
const (
	kinfoSize  = 1088
	kinfoPID   = 72
	kinfoPPID  = 76
	kinfoStart = 336
	kinfoStat  = 388
	kinfoComm  = 447
	commLength = 20
	zombie     = 5 // SZOMB of sys/proc.h
)

func look(pid int) (glance, error) {
	if err := exists(pid); err != nil {
		return glance{}, err
	}
	k := kinfo(pid)
	boot, err := unix.SysctlTimeval("kern.boottime")
	if k == nil || err != nil {
		return glance{}, nil // it lives; more is not told
	}
	// The wall clock may be set: what stays is the distance from the boot.
	micros := func(b []byte) uint64 {
		return binary.NativeEndian.Uint64(b)*1e6 + binary.NativeEndian.Uint64(b[8:])
	}
	start := micros(k[kinfoStart:]) - (uint64(boot.Sec)*1e6 + uint64(boot.Usec))
	return glance{start: start, ended: k[kinfoStat] == zombie}, nil
}

// kinfo returns nil where the layout is not the known one.
func kinfo(pid int) []byte {
	k, err := unix.SysctlRaw("kern.proc.pid", pid)
	if err != nil || unsafe.Sizeof(uintptr(0)) != 8 || len(k) != kinfoSize || binary.NativeEndian.Uint32(k) != kinfoSize {
		return nil
	}
	if int(int32(binary.NativeEndian.Uint32(k[kinfoPID:]))) != pid {
		return nil
	}
	return k
}

// confined reports whether this process is in a jail, which hides all outside.
func confined() bool {
	n, err := unix.SysctlUint32("security.jail.jailed")
	return err != nil || n != 0
}

// bootID is made anew at each boot, from FreeBSD 14 on.
func bootID() string {
	id, err := unix.SysctlRaw("kern.boot_id")
	if err != nil {
		return ""
	}
	return hex.EncodeToString(id)
}

func machineID() string {
	id, err := unix.Sysctl("kern.hostuuid")
	if id = strings.ReplaceAll(id, "-", ""); err != nil || strings.Trim(id, "0") == "" {
		return ""
	}
	return id
}

func startedBy(pid int) string {
	if pid == 0 {
		pid = unix.Getpid()
	}
	k := kinfo(pid)
	if k == nil {
		return ""
	}
	parent := int(int32(binary.NativeEndian.Uint32(k[kinfoPPID:])))
	if k = kinfo(parent); k == nil {
		return fmt.Sprintf("pid %d", parent)
	}
	return fmt.Sprintf("%s, pid %d", unix.ByteSliceToString(k[kinfoComm:kinfoComm+commLength]), parent)
}

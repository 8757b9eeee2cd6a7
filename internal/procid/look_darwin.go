package procid

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// zombie is SZOMB of sys/proc.h.
const zombie = 5

func look(pid int) (glance, error) {
	if err := exists(pid); err != nil {
		return glance{}, err
	}
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return glance{}, err
	}
	start := k.Proc.P_starttime
	return glance{start: uint64(start.Sec)*1e6 + uint64(start.Usec), ended: k.Proc.P_stat == zombie}, nil
}

// confined is a question of jails.
func confined() bool { return false }

// bootID is made anew at each boot.
func bootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}

// machineID is not told by any sysctl of macOS.
func machineID() string { return "" }

func startedBy(pid int) string {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if pid == 0 {
		k, err = unix.SysctlKinfoProc("kern.proc.pid", unix.Getpid())
	}
	if err != nil {
		return ""
	}
	parent := int(k.Eproc.Ppid)
	p, err := unix.SysctlKinfoProc("kern.proc.pid", parent)
	if err != nil {
		return fmt.Sprintf("pid %d", parent)
	}
	return fmt.Sprintf("%s, pid %d", unix.ByteSliceToString(p.Proc.P_comm[:]), parent)
}

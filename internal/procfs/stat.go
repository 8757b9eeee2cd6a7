package procfs

import (
	"slices"
	"strings"
)

// maxAncestors bounds the chain of parents. Real chains have some ten links; a made-up /proc may have a long one.
const maxAncestors = 1024

// statColumns is how many columns must follow the name; start time is the last of them that is needed. The processor is in
// one that follows.
const (
	statColumns = 20
	cpuColumn   = 36
)

// The kernel's PF_KTHREAD and PF_EXITING in the column of flags.
const (
	flagKernel  = 0x00200000
	flagExiting = 0x00000004
)

// Stat is what /proc/N/stat says of a process, as far as it is used here. See proc_pid_stat(5).
type Stat struct {
	// PID is the process as the mount's pid namespace counts it; useful after asking for pid 0.
	PID int
	// Comm is the name, at most 15 bytes for programs. The process chooses it freely: it may hold ")", spaces, newlines.
	Comm string
	// State is one letter: that of the first thread, which may be a zombie, 'Z', while others go on. See Ended.
	State byte
	// PPID is the parent; 0 for pid 1, for kernel threads' root and for a parent outside of the pid namespace.
	PPID int
	// PGID is the process group, which job control signals.
	PGID int
	// SID is the session.
	SID int
	// TTY is the device number of the controlling terminal; 0 if there is none.
	TTY int
	// Threads is how many there are, with a first one that has exited.
	Threads int
	// StartTicks is the start in clock ticks (1/100 s on all usual systems) since boot. With the pid and the boot id it
	// tells a process from a later one of the same pid; alone it repeats after a reboot.
	StartTicks uint64
	// CPU is the processor that the first thread, or the one that was asked for, has run on last.
	CPU int
	// Exiting says that its first thread ends or has ended: its files cannot be seen any more, even by root.
	Exiting bool
	// Kernel says that it is a thread of the kernel: it has no descriptors, program or arguments.
	Kernel bool
}

// Ended says that no thread of it lives: it answers signals until it is reaped, but holds no file and no lock any more. A
// process that is being killed shows as a zombie before its last thread has let go of them.
func (s Stat) Ended() bool { return s.State == 'X' || s.State == 'Z' && s.Threads <= 1 }

// Stat reads /proc/N/stat. It needs no rights beyond seeing the process.
func (f FS) Stat(pid int) (Stat, error) {
	return load(f, dir(pid)+"/stat", smallLimit, parseStat)
}

// Ancestors returns the chain of parents, beginning with the process' own parent, up to pid 1. It ends early where a
// parent cannot be read any more (it ended, or is hidden), and after 1024 links; it never repeats a process.
func (f FS) Ancestors(pid int) []Stat {
	var chain []Stat
	stat, err := f.Stat(pid)
	self := stat.PID
	for err == nil && stat.PPID > 0 && stat.PPID != self && len(chain) < maxAncestors {
		parent := stat.PPID
		if slices.ContainsFunc(chain, func(s Stat) bool { return s.PID == parent }) {
			break // pids were reused while the chain was followed
		}
		if stat, err = f.Stat(parent); err == nil {
			chain = append(chain, stat)
		}
	}
	return chain
}

// parseStat splits after the last ")", for the name may hold any number of them.
func parseStat(text string) (Stat, error) {
	left, right := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if left < 0 || right < left {
		return Stat{}, malformed(text, errComm)
	}
	cols := strings.Fields(text[right+1:])
	if len(cols) < statColumns || len(cols[0]) != 1 {
		return Stat{}, malformed(text, errColumns)
	}
	var c columns
	s := Stat{
		PID:        c.int(strings.TrimSpace(text[:left])),
		Comm:       text[left+1 : right],
		State:      cols[0][0],
		PPID:       c.int(cols[1]),
		PGID:       c.int(cols[2]),
		SID:        c.int(cols[3]),
		TTY:        c.int(cols[4]),
		Threads:    c.int(cols[17]),
		StartTicks: c.uint(cols[19], 10),
	}
	if len(cols) > cpuColumn {
		s.CPU = c.int(cols[cpuColumn])
	}
	flags := c.uint(cols[6], 10)
	s.Exiting, s.Kernel = flags&flagExiting != 0, flags&flagKernel != 0
	return s, c.in(text)
}

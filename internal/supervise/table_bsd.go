//go:build darwin || dragonfly || freebsd || netbsd || openbsd || (linux && solehold_portable)

package supervise

import (
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// row is a process as ps(1) shows it.
type row struct {
	pid, ppid, pgid int
	state           string
	command         string
}

// ended reports whether it only waits to be reaped.
func (r row) ended() bool { return strings.HasPrefix(r.state, "Z") }

// table lists all processes. ps knows each system's own layout, and is asked only
// while something is stopped or looked at.
func table() []row {
	cmd := exec.Command("/bin/ps", "-A", "-o", "pid=,ppid=,pgid=,stat=,command=")
	cmd.Env = []string{"LC_ALL=C", "PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.Output()
	if err != nil {
		return nil
	}
	own := cmd.Process.Pid
	return slices.DeleteFunc(rows(string(out)), func(r row) bool { return r.pid == own })
}

// rows reads the output of ps. Lines that do not fit are left out.
func rows(text string) (all []row) {
	const columns = 4
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < columns {
			continue
		}
		r := row{state: f[3], command: strings.Join(f[columns:], " ")}
		var errs [3]error
		r.pid, errs[0] = strconv.Atoi(f[0])
		r.ppid, errs[1] = strconv.Atoi(f[1])
		r.pgid, errs[2] = strconv.Atoi(f[2])
		if errs == [3]error{} && r.pid > 0 {
			all = append(all, r)
		}
	}
	return all
}

// ancestors lists the processes above one; pid 0 is this one.
func ancestors(pid int) (pids []int) {
	if pid == 0 {
		pid = unix.Getpid()
	}
	parent := map[int]int{}
	for _, r := range table() {
		parent[r.pid] = r.ppid
	}
	for above := parent[pid]; above > 0 && !slices.Contains(pids, above); above = parent[above] {
		pids = append(pids, above)
	}
	return pids
}

// birthsBelow lists the living descendants of a process.
func birthsBelow(pid int) (all []birth) {
	in := map[int]bool{pid: true}
	rows := table()
	for grown := true; grown; {
		grown = false
		for _, r := range rows {
			if !in[r.pid] && in[r.ppid] && !r.ended() {
				in[r.pid], grown = true, true
				if b, err := birthOf(r.pid); err == nil {
					all = append(all, b)
				}
			}
		}
	}
	return all
}

// orphanedGroup reports whether no shell watches this process group: none of its
// members has a parent in the same session outside of it (setpgid(2)).
func orphanedGroup() bool {
	own := unix.Getpgrp()
	session, err := unix.Getsid(0)
	rows := table()
	return err != nil || !slices.ContainsFunc(rows, func(r row) bool {
		if r.pgid != own {
			return false
		}
		group, groupErr := unix.Getpgid(r.ppid)
		sid, sidErr := unix.Getsid(r.ppid)
		return groupErr == nil && sidErr == nil && sid == session && group != own
	})
}

// commandOf is the command line of a process, for people.
func commandOf(pid int) []string {
	for _, r := range table() {
		if r.pid == pid {
			return strings.Fields(r.command)
		}
	}
	return nil
}

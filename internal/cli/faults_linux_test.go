package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"github.com/solehold/solehold/internal/oslock"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/procid"
	"github.com/solehold/solehold/internal/record"
	"golang.org/x/sys/unix"
)

// failing runs a command whose lock calls fail, or never come back:
// failing ENOLCK|EOPNOTSUPP|EIO|hang set|get|set,get COMMAND...
func failing(args []string) int {
	runtime.LockOSThread() // the filter is of this thread, and of what it becomes
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return complain("failing: %v", err)
	}
	action, flags := uint32(unix.SECCOMP_RET_USER_NOTIF), uintptr(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
	if args[0] != "hang" {
		errno := map[string]syscall.Errno{"ENOLCK": unix.ENOLCK, "EOPNOTSUPP": unix.EOPNOTSUPP, "EIO": unix.EIO}[args[0]]
		action, flags = unix.SECCOMP_RET_ERRNO|uint32(errno), 0
	}
	filter := onFcntl(action, strings.Split(args[1], ","))
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	listener, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return complain("failing: %v", errno)
	}
	if flags != 0 {
		// Whoever has the listener could answer. The command has it and does not.
		if _, err := unix.FcntlInt(listener, unix.F_SETFD, 0); err != nil {
			return complain("failing: %v", err)
		}
	}
	return become(args[2:])
}

// onFcntl is a filter that does something about fcntl(2) with some commands.
func onFcntl(action uint32, names []string) []unix.SockFilter {
	const (
		load   = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equals = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		end    = unix.BPF_RET | unix.BPF_K
		number = 0      // offsets in struct seccomp_data
		second = 16 + 8 // the low half of the second argument
	)
	commands := map[string]uint32{"set": unix.F_OFD_SETLK, "get": unix.F_OFD_GETLK}
	filter := []unix.SockFilter{
		{Code: load, K: number},
		{Code: equals, K: unix.SYS_FCNTL, Jt: 1},
		{Code: end, K: unix.SECCOMP_RET_ALLOW},
		{Code: load, K: second},
	}
	for _, name := range names {
		filter = append(filter,
			unix.SockFilter{Code: equals, K: commands[name], Jf: 1},
			unix.SockFilter{Code: end, K: action})
	}
	return append(filter, unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ALLOW})
}

// hung runs a command in a mount namespace where a file or directory lies on a
// file system that never answers: one whose server has the connection open and
// reads nothing. hung PATH COMMAND...
func hung(args []string) int {
	runtime.LockOSThread()
	mode := "40000"
	if st, err := os.Stat(args[0]); err == nil && st.Mode().IsRegular() {
		mode = "100000"
	}
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR, 0)
	if err == nil {
		err = unix.Unshare(unix.CLONE_NEWNS)
	}
	if err == nil {
		err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	}
	if err == nil {
		err = unix.Mount("hung", args[0], "fuse", 0, fmt.Sprintf("fd=%d,rootmode=%s,user_id=0,group_id=0", fd, mode))
	}
	if err != nil {
		return complain("hung: %v", err)
	}
	return become(args[1:])
}

func lockFile(dir string) string { return filepath.Join(dir, ".solehold", "lock") }

// forge changes the record in the lock file of a directory, which stays the
// same file, and becomes a command if there is one:
// forge DIR FIELD=VALUE... [-- COMMAND...]
// The fields are pid, start, boot, pidns, machine, name and command, each of the
// holder and of its child; the value self is this process'. holder=PID and
// child=PID put another process there as it is now, child=none takes it away.
func forge(args []string) int {
	var command []string
	if i := slices.Index(args, "--"); i >= 0 {
		args, command = args[:i], args[i+1:]
	}
	path := lockFile(args[0])
	data, err := os.ReadFile(path)
	if err != nil {
		return complain("forge: %v", err)
	}
	r, err := record.Decode(data)
	if err != nil {
		return complain("forge: %v", err)
	}
	for _, change := range args[1:] {
		if err := forgeField(r, change); err != nil {
			return complain("forge: %v", err)
		}
	}
	slot := record.NewEncoder(r.Holder).Encode(r)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return complain("forge: %v", err)
	}
	if _, err := f.WriteAt(append(slot, slot...), 0); err != nil {
		return complain("forge: %v", err)
	}
	f.Close()
	if len(command) > 0 {
		return become(command)
	}
	return 0
}

func forgeField(r *record.Record, change string) error {
	field, value, _ := strings.Cut(change, "=")
	if value == "self" {
		value = strconv.Itoa(os.Getpid())
	}
	number, _ := strconv.ParseUint(value, 10, 64) // of those fields that are numbers
	switch {
	case change == "child=none":
		r.Child = nil
		return nil
	case field == "child":
		r.Child = &record.Process{}
		return forgeProcess(r.Child, int(number))
	case field == "holder":
		return forgeProcess(&r.Holder.Process, int(number))
	}
	for _, p := range []*record.Process{&r.Holder.Process, r.Child} {
		if p == nil {
			continue
		}
		switch field {
		case "pid":
			p.PID, p.PidfsID = int(number), 0
		case "start":
			p.StartTicks, p.PidfsID = number, 0
		case "boot":
			p.BootID = value
		case "pidns":
			p.PIDNS, p.PidfsID = number, 0
		case "machine":
			r.Holder.MachineID = value
		case "name":
			r.Name = value
		case "command":
			var command []string
			if err := json.Unmarshal([]byte(value), &command); err != nil {
				return err
			}
			p.Command = command
		default:
			return fmt.Errorf("no field %s", field)
		}
	}
	return nil
}

// forgeProcess describes a process as a holder would.
func forgeProcess(p *record.Process, pid int) error {
	id, err := procid.Of(procfs.Default(), pid)
	if err != nil {
		return err
	}
	p.PID, p.StartTicks, p.BootID, p.PIDNS, p.TimeNS, p.PidfsID = id.PID, id.StartTicks, id.BootID, id.PIDNS, id.TimeNS, id.PidfsID
	p.Command, err = procfs.Default().Cmdline(pid)
	return err
}

// squat takes the mark of a directory and nothing else, as a stranger could who
// may only read it, says so and stays: squat DIR
func squat(args []string) int {
	fd, err := unix.Open(args[0], unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err == nil {
		err = oslock.TryMark(uintptr(fd), oslock.Owner)
	}
	if err != nil {
		return complain("squat: %v", err)
	}
	fmt.Println("squatting")
	for {
		unix.Pause()
	}
}

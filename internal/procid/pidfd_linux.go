package procid

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"github.com/solehold/solehold/internal/procfs"
	"golang.org/x/sys/unix"
)

var (
	errNoProcess = errors.New("no such process")
	errThread    = errors.New("a thread, not a process")
)

// pidfsMagic is PID_FS_MAGIC of linux/magic.h: before 6.9 all pidfds share one
// inode, which would make every process the same.
const pidfsMagic = 0x50494446

// answer is what the kernel says of a pid.
type answer struct {
	number uint64 // of the process under it, 0 where the kernel has none
	ended  bool   // it has exited with all its threads, and was not reaped yet
}

// ask asks the kernel. It needs no rights over the process, nor to see it in /proc.
func ask(pid int) (answer, error) {
	fd, err := openPID(pid)
	if err != nil {
		return answer{}, err
	}
	defer unix.Close(fd)
	number, err := numberOf(fd)
	return answer{number, ended(fd)}, err
}

// ended reports whether the process of a descriptor has exited.
func ended(fd int) bool {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(p, 0)
	return err == nil && n == 1
}

func openPID(pid int) (int, error) {
	if pid <= 0 {
		return -1, errNoProcess
	}
	fd, err := unix.PidfdOpen(pid, 0)
	switch err {
	case unix.ESRCH:
		return -1, errNoProcess
	case unix.EINVAL, unix.ENOENT: // ENOENT since 6.13
		return -1, errThread
	}
	return fd, err
}

func numberOf(fd int) (uint64, error) {
	var sfs unix.Statfs_t
	if err := unix.Fstatfs(fd, &sfs); err != nil || uint32(sfs.Type) != pidfsMagic {
		return 0, err
	}
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return st.Ino, err
}

// pidfsAlive asks the kernel for a process by its number alone (since 6.14); one
// that has exited and was not reaped yet is not alive. It
// is only an answer in the first pid namespace: elsewhere a live process is not
// found either.
func pidfsAlive(number uint64) (bool, error) {
	self, err := unix.PidfdOpen(unix.Getpid(), 0)
	if err != nil {
		return false, err
	}
	defer unix.Close(self)
	handle, _, err := unix.NameToHandleAt(self, "", unix.AT_EMPTY_PATH)
	if err != nil || handle.Size() != 8 {
		return false, errors.Join(err, errors.ErrUnsupported)
	}
	id := binary.NativeEndian.AppendUint64(nil, number)
	fd, err := unix.OpenByHandleAt(self, unix.NewFileHandle(handle.Type(), id), unix.O_CLOEXEC)
	if err == unix.ESTALE {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	return !ended(fd), nil
}

// Handle is a proven process that a signal can be sent to: it never reaches
// another one, also when the pid is used again.
type Handle struct{ fd int }

// Open returns a handle of the process id. ErrNotThisProcess says that it is
// gone, that its pid belongs to another, or that neither can be excluded; other
// errors that the kernel gave no answer.
func Open(proc procfs.FS, id ID) (*Handle, error) {
	// The kernel's numbers begin anew at each boot.
	if boot, err := proc.BootID(); err != nil || boot != id.BootID {
		return nil, fmt.Errorf("%w (another boot)", ErrNotThisProcess)
	}
	fd, err := openPID(id.PID)
	if errors.Is(err, errNoProcess) || errors.Is(err, errThread) {
		return nil, fmt.Errorf("%w (%w)", ErrNotThisProcess, err)
	}
	if err != nil {
		return nil, os.NewSyscallError("pidfd_open", err)
	}
	h := &Handle{fd: fd}
	number, _ := numberOf(fd)
	if id.PidfsID != 0 && number != 0 {
		if number != id.PidfsID {
			h.Close()
			return nil, ErrNotThisProcess
		}
		return h, nil
	}
	// The start time is read after the descriptor was opened: if it fits, the
	// descriptor is that process, since whoever had the pid before started earlier.
	now, err := Of(proc, id.PID)
	now.PidfsID, id.PidfsID = 0, 0
	if err != nil || now != id {
		h.Close()
		return nil, ErrNotThisProcess
	}
	return h, nil
}

// FD returns the descriptor: it becomes readable when the process ends.
func (h *Handle) FD() int { return h.fd }

// Signal sends a signal to exactly this process.
func (h *Handle) Signal(sig unix.Signal) error {
	return unix.PidfdSendSignal(h.fd, sig, nil, 0)
}

// Ended reports whether the process has exited, reaped or not.
func (h *Handle) Ended() bool { return ended(h.fd) }

// Close closes the handle; the process is not touched.
func (h *Handle) Close() error { return unix.Close(h.fd) }

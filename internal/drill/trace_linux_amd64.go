package drill

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

const canTrace = true

// callSize is the length of the instruction that enters the kernel, and callCode its bytes.
const (
	callSize = 2
	callCode = 0x050f
)

// tracee is a thread that stands still under our hand.
type tracee struct {
	pid     int
	regs    unix.PtraceRegs // as they were
	call    uint64          // where the instruction is that enters the kernel
	pending []unix.Signal   // came meanwhile
	child   int             // was born meanwhile
}

// bear makes a process start a program as its child, as if it had forked and called execve itself. The process goes on as
// if nothing had been. No byte of its code is changed: the instruction is used with which it waits in the kernel.
func bear(pid int, argv ...string) (child int, err error) {
	runtime.LockOSThread() // all of it must be asked by one thread
	defer runtime.UnlockOSThread()
	t, err := take(pid)
	if err != nil {
		return 0, err
	}
	defer t.release()
	if err := unix.PtraceSetOptions(pid, unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_TRACEFORK); err != nil {
		return 0, os.NewSyscallError("ptrace", err)
	}
	if _, err := t.enter(unix.SYS_CLONE, 0, 0, 0); err != nil { // no signal to the parent when it ends
		return 0, err
	}
	c := &tracee{pid: t.child, regs: t.regs, call: t.call}
	if _, err = c.stopped(); err == nil {
		err = c.become(argv)
	}
	if err != nil {
		unix.Kill(c.pid, unix.SIGKILL) // it is not collected before we have: the number is its own
		unix.Wait4(c.pid, nil, unix.WALL, nil)
		return 0, err
	}
	return c.pid, os.NewSyscallError("ptrace", unix.PtraceDetach(c.pid))
}

// take stops a thread where it waits in the kernel.
func take(pid int) (*tracee, error) {
	for range 100 {
		if err := unix.PtraceAttach(pid); err != nil {
			return nil, os.NewSyscallError("ptrace", err)
		}
		t := &tracee{pid: pid}
		if err := t.halt(); err != nil {
			return nil, err
		}
		t.call = t.regs.Rip - callSize
		var code [8]byte
		_, err := unix.PtracePeekText(pid, uintptr(t.call), code[:])
		if err == nil && binary.LittleEndian.Uint16(code[:]) == callCode && int64(t.regs.Orig_rax) >= 0 {
			return t, nil
		}
		t.release()
		time.Sleep(time.Millisecond)
	}
	return nil, errNotInCall
}

// halt waits for the stop that attaching asked for.
func (t *tracee) halt() error {
	for {
		sig, err := t.stopped()
		if err != nil {
			return err
		}
		if sig == unix.SIGSTOP {
			return unix.PtraceGetRegs(t.pid, &t.regs)
		}
		if sig == unix.SIGTRAP {
			sig = 0 // it has just become another program: the kernel tells that to who traces, and would kill it else
		}
		if err := unix.PtraceCont(t.pid, int(sig)); err != nil {
			return os.NewSyscallError("ptrace", err)
		}
	}
}

// stopped waits until the thread stands still, and gives the signal for which it does.
func (t *tracee) stopped() (unix.Signal, error) {
	var status unix.WaitStatus
	for {
		_, err := unix.Wait4(t.pid, &status, unix.WALL, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 0, os.NewSyscallError("wait4", err)
		case !status.Stopped():
			return 0, fmt.Errorf("pid %d has ended meanwhile (%s)", t.pid, ending(status))
		case status.TrapCause() > 0: // in the middle of a call: of the birth of a child
			message, err := unix.PtraceGetEventMsg(t.pid)
			t.child = int(message)
			if err == nil {
				err = unix.PtraceSingleStep(t.pid)
			}
			if err != nil {
				return 0, os.NewSyscallError("ptrace", err)
			}
			continue
		}
		return status.StopSignal(), nil
	}
}

// ending says how a process has ended.
func ending(s unix.WaitStatus) string {
	if s.Signaled() {
		return s.Signal().String()
	}
	return fmt.Sprintf("exit %d", s.ExitStatus())
}

// restarts are the kernel's own words (include/linux/errno.h) for a call that a signal has kept from beginning, and that is
// to be made again: programs never see them, who traces does.
var restarts = []error{unix.Errno(512), unix.Errno(513), unix.Errno(514)}

// enter makes the thread do one system call, and gives the answer.
func (t *tracee) enter(call, a, b, c uint64) (answer int64, err error) {
	for range 100 {
		if answer, err = t.enterOnce(call, a, b, c); !slices.Contains(restarts, err) {
			break
		}
	}
	return answer, err
}

func (t *tracee) enterOnce(call, a, b, c uint64) (int64, error) {
	regs := t.regs
	regs.Rip, regs.Rax, regs.Orig_rax = t.call, call, ^uint64(0)
	regs.Rdi, regs.Rsi, regs.Rdx, regs.R10, regs.R8 = a, b, c, 0, 0
	if err := unix.PtraceSetRegs(t.pid, &regs); err != nil {
		return 0, os.NewSyscallError("ptrace", err)
	}
	for {
		if err := unix.PtraceSingleStep(t.pid); err != nil {
			return 0, os.NewSyscallError("ptrace", err)
		}
		sig, err := t.stopped()
		if err != nil {
			return 0, err
		}
		if sig == unix.SIGTRAP {
			break
		}
		t.pending = append(t.pending, sig)
	}
	err := unix.PtraceGetRegs(t.pid, &regs)
	if answer := int64(regs.Rax); answer < 0 && answer > -4096 && err == nil {
		return answer, unix.Errno(-answer)
	}
	return int64(regs.Rax), err
}

// become makes the child another program: the words are put below its stack, which nobody needs any more.
func (t *tracee) become(argv []string) error {
	const room = 4096
	at := (t.regs.Rsp - room) &^ 15
	var text, pointers []byte
	for _, word := range argv {
		pointers = binary.LittleEndian.AppendUint64(pointers, at+512+uint64(len(text)))
		text = append(append(text, word...), 0)
	}
	if len(text) > room-512 || len(pointers) > 256 {
		return unix.E2BIG
	}
	pointers = binary.LittleEndian.AppendUint64(pointers, 0)
	for offset, block := range map[uint64][]byte{0: pointers, 512: text} {
		if _, err := unix.PtracePokeData(t.pid, uintptr(at+offset), block); err != nil {
			return os.NewSyscallError("ptrace", err)
		}
	}
	end := at + uint64(len(pointers)) - 8 // an empty environment
	_, err := t.enter(unix.SYS_EXECVE, at+512, at, end)
	if err != nil {
		return fmt.Errorf("execve %s: %w", argv[0], err)
	}
	return nil
}

// release lets the thread go on where it was.
func (t *tracee) release() {
	unix.PtraceSetRegs(t.pid, &t.regs)
	unix.PtraceDetach(t.pid)
	for _, sig := range t.pending {
		unix.Tgkill(t.pid, t.pid, sig)
	}
}

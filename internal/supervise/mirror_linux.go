//go:build !solehold_portable

package supervise

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Mirror ends this process as the command ended: by the same signal where a
// signal killed it, so that a supervisor's table of what to restart still fits.
// Where that is impossible (pid 1 cannot kill itself), or with asCode, it
// returns the exit code, 128+n for signal n.
func Mirror(e End, asCode bool) int {
	if e.Signal == 0 {
		return e.Code
	}
	if !asCode && os.Getpid() != 1 {
		dieBy(e)
	}
	return 128 + int(e.Signal)
}

// dieBy restores the kernel's own handling, which Go's runtime does not give
// back for SIGABRT, SIGQUIT or SIGSEGV, and sends the signal. A core of this
// process would tell nothing, also to a program that collects them, which no
// limit stops.
func dieBy(e End) {
	unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	var dfl [64]byte // struct sigaction of any layout: all zero is SIG_DFL
	syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(e.Signal), uintptr(unsafe.Pointer(&dfl)), 0, 8, 0, 0)
	who := os.Getpid()
	if e.Keys {
		// The keys reached the command's group alone, since it had the
		// terminal. Without us they would have reached this group: the script
		// that runs us would go on after ^C.
		who = 0
	}
	syscall.Kill(who, e.Signal)
	// A signal to oneself is delivered before kill returns, to this thread or
	// another; a moment is enough for the latter.
	unix.Poll(nil, 1000)
}

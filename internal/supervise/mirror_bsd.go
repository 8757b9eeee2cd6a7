//go:build darwin || dragonfly || freebsd || netbsd || openbsd || (linux && solehold_portable)

package supervise

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Mirror ends this process as the command ended: by the same signal where a signal
// killed it and Go's runtime gives back its handling, so that a supervisor's table
// of what to restart still fits. Elsewhere, or with asCode, it returns the exit
// code, 128+n for signal n.
func Mirror(e End, asCode bool) int {
	if e.Signal == 0 {
		return e.Code
	}
	switch e.Signal {
	case syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGTRAP, syscall.SIGSYS:
		asCode = true // the runtime would print its own stacks
	}
	if !asCode && os.Getpid() != 1 {
		dieBy(e)
	}
	return 128 + int(e.Signal)
}

func dieBy(e End) {
	unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	signal.Reset(e.Signal)
	who := os.Getpid()
	if e.Keys {
		// The keys reached the command's group alone, since it had the terminal. A
		// script that runs us would go on after ^C.
		who = 0
	}
	syscall.Kill(who, e.Signal)
	time.Sleep(time.Second) // it comes to another thread, perhaps
}

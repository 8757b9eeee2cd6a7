//go:build unix

package supervise

import "syscall"

func moreSignals() map[string]syscall.Signal {
	return map[string]syscall.Signal{
		"USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2, "STOP": syscall.SIGSTOP, "TSTP": syscall.SIGTSTP,
		"CONT": syscall.SIGCONT, "WINCH": syscall.SIGWINCH, "SYS": syscall.SIGSYS,
		"XCPU": syscall.SIGXCPU, "XFSZ": syscall.SIGXFSZ,
	}
}

package supervise

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
)

// DefaultReloadSignal tells a command that its configuration has changed.
const DefaultReloadSignal = syscall.SIGHUP

// signalNames are those that people give with --stop-signal; the numbers differ
// by system, so they come from syscall.
func signalNames() map[string]syscall.Signal {
	return map[string]syscall.Signal{
		"HUP": syscall.SIGHUP, "INT": syscall.SIGINT, "QUIT": syscall.SIGQUIT, "ABRT": syscall.SIGABRT,
		"KILL": syscall.SIGKILL, "TERM": syscall.SIGTERM, "ALRM": syscall.SIGALRM, "PIPE": syscall.SIGPIPE,
		"SEGV": syscall.SIGSEGV, "BUS": syscall.SIGBUS, "FPE": syscall.SIGFPE, "ILL": syscall.SIGILL, "TRAP": syscall.SIGTRAP,
	}
}

// ParseSignal reads a signal's name, with or without SIG, or its number.
func ParseSignal(s string) (syscall.Signal, error) {
	if n, err := strconv.Atoi(s); err == nil && n > 0 && n <= 64 {
		return syscall.Signal(n), nil
	}
	name := strings.TrimPrefix(strings.ToUpper(s), "SIG")
	for _, names := range []map[string]syscall.Signal{signalNames(), moreSignals()} {
		if sig, ok := names[name]; ok {
			return sig, nil
		}
	}
	return 0, fmt.Errorf("%q is not a signal; say e.g. TERM, INT or 15", s)
}

// SignalName returns the name with SIG.
func SignalName(sig syscall.Signal) string {
	for _, names := range []map[string]syscall.Signal{signalNames(), moreSignals()} {
		for name, s := range names {
			if s == sig {
				return "SIG" + name
			}
		}
	}
	return "signal " + strconv.Itoa(int(sig))
}

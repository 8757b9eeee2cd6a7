package supervise

import (
	"os"
	"os/signal"
	"slices"
	"syscall"
)

func (r *runner) forward(signals ...os.Signal) {
	if heard := slices.DeleteFunc(signals, signal.Ignored); len(heard) > 0 { // none would mean all
		signal.Notify(r.signals, heard...)
	}
}

// signalOf is what the runtime hands over, as it is meant.
func signalOf(s os.Signal) syscall.Signal { return s.(syscall.Signal) }

// isStop tells the signals that mean the end.
func isStop(s os.Signal) bool {
	return s == syscall.SIGTERM || s == syscall.SIGINT
}

// endsWait tells the signals that end the wait for a lock: those, and a terminal
// that was closed or told to quit.
func endsWait(s os.Signal) bool {
	return isStop(s) || s == syscall.SIGHUP || s == syscall.SIGQUIT
}

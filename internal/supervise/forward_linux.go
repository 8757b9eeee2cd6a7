package supervise

import (
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// The signals that have no name and mean what the program says (signal(7)); those
// below are the C library's own.
const (
	firstRealTime = 35
	lastRealTime  = 64
)

// listen catches the signals that the runner acts on or passes on. What this
// process was started to ignore stays ignored, by the command too: nohup, and a
// script's background job that ^C must not reach.
func (r *runner) listen() {
	signal.Notify(r.children, syscall.SIGCHLD)
	r.forward(syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2)
	// Caught so that a reader of our messages who leaves, or a file that may not
	// grow, is an error of one write and not the end of the wrapper. Nobody
	// reads these; a command gets them itself.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE, syscall.SIGXFSZ)
}

// listenToAll catches the others, too, just before there is a command to pass
// them on to: until then ^Z stops us as any program. A refused start does without,
// since each signal costs the runtime a hand-over between threads. SIGURG is not
// there: Go's runtime sends it to itself all the time.
func (r *runner) listenToAll() {
	r.forward(syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGALRM, syscall.SIGWINCH, syscall.SIGVTALRM, syscall.SIGIO, syscall.SIGPWR)
	for s := firstRealTime; s <= lastRealTime; s++ {
		r.forward(syscall.Signal(s))
	}
}

func (r *runner) forward(signals ...os.Signal) {
	if heard := slices.DeleteFunc(signals, signal.Ignored); len(heard) > 0 { // none would mean all
		signal.Notify(r.signals, heard...)
	}
}

// isStop tells the signals that mean the end.
func isStop(s os.Signal) bool {
	return s == syscall.SIGTERM || s == syscall.SIGINT
}

// endsWait tells the signals that end the wait for a lock: those, and a terminal
// that was closed or told to quit.
func endsWait(s os.Signal) bool {
	return isStop(s) || s == syscall.SIGHUP || s == syscall.SIGQUIT
}

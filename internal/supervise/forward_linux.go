//go:build !solehold_portable

package supervise

import "syscall"

// The signals that have no name and mean what the program says (signal(7)); those
// below are the C library's own.
const (
	firstRealTime = 35
	lastRealTime  = 64
)

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

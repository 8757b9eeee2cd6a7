//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package supervise

import "syscall"

// ask asks all of them to end. SIGCONT follows, since a stopped process would not
// hear it.
func (t *target) ask(sig syscall.Signal) (heard int, err error) {
	heard, err = t.signal(sig)
	t.signal(syscall.SIGCONT)
	return heard, err
}

// freeze takes in what they have started until nothing new comes: one that is
// stopped starts no more. They are killed next.
func (t *target) freeze() {
	for known := -1; known != len(t.grips); {
		known = len(t.grips)
		t.signal(syscall.SIGSTOP)
		t.addBelow()
	}
}

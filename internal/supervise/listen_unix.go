//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package supervise

import (
	"os"
	"os/signal"
	"syscall"
)

// listen catches the signals that the runner acts on or passes on. What this
// process was started to ignore stays ignored, by the command too: nohup, and a
// script's background job that ^C must not reach.
func (r *runner) listen() {
	signal.Notify(r.children, syscall.SIGCHLD)
	r.forward(syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2)
	surviveReaders()
}

// deafen undoes listen.
func (r *runner) deafen() {
	signal.Stop(r.children)
	signal.Stop(r.signals)
}

// attended reports whether a person has started this.
func (r *runner) attended() bool { return r.tty != nil }

// surviveReaders makes a reader of our messages who leaves, or a file that may not
// grow, an error of one write and not the end of the wrapper. Nobody reads these
// signals; a command gets them itself.
func surviveReaders() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE, syscall.SIGXFSZ)
}

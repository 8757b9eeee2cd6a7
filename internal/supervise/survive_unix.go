//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package supervise

import (
	"os"
	"os/signal"
	"syscall"
)

// surviveReaders makes a reader of our messages who leaves, or a file that may not
// grow, an error of one write and not the end of the wrapper. Nobody reads these
// signals; a command gets them itself.
func surviveReaders() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE, syscall.SIGXFSZ)
}

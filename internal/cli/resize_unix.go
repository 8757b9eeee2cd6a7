//go:build unix

package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// tellSize tells when the terminal has another size.
func tellSize(to chan<- os.Signal) { signal.Notify(to, syscall.SIGWINCH) }

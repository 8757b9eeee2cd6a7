package supervise

import (
	"os"
	"os/signal"

	"golang.org/x/sys/windows"
)

func isTerminal(f *os.File) bool {
	var mode uint32
	return windows.GetConsoleMode(windows.Handle(f.Fd()), &mode) == nil
}

// deafen undoes listen.
func (r *runner) deafen() { signal.Stop(r.signals) }

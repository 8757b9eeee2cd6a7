//go:build unix

package cli

import (
	"os"
	"syscall"
)

// become replaces this process. It only returns with an error.
func become(path string, args []string) error { return syscall.Exec(path, args, os.Environ()) }

//go:build !unix

package supervise

import "syscall"

func moreSignals() map[string]syscall.Signal { return nil }

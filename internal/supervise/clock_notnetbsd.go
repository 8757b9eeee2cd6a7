//go:build darwin || dragonfly || freebsd || openbsd || (linux && solehold_portable)

package supervise

import "golang.org/x/sys/unix"

const monotonic = unix.CLOCK_MONOTONIC

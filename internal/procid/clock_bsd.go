//go:build darwin || dragonfly || freebsd || openbsd

package procid

import "golang.org/x/sys/unix"

const monotonic = unix.CLOCK_MONOTONIC

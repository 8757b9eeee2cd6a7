//go:build !linux

package cluster

// SystemClock is the clock of this system that deadlines should run on: a [ProcessClock] where there is no CLOCK_BOOTTIME.
func SystemClock() Clock { return NewProcessClock() }

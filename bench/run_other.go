//go:build !linux

package main

// run is not reached.
func run() int { return 0 }

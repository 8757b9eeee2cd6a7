//go:build !linux

package solehold_test

import "os"

func systemParts() map[string]func() { return nil }

func thisBinary() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

func (a *agent) killTraced() {}

func (a *actor) systemOrders() map[string]func(order) answer { return nil }

//go:build !linux && !darwin && !freebsd && !windows

package procid

// confined: whether others are hidden is not asked, so nobody is proven dead by not being seen.
func confined() bool { return true }

func bootID() string { return "" }

func machineID() string { return "" }

func startedBy(int) string { return "" }

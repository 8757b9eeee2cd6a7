//go:build dragonfly || netbsd || openbsd

package procid

// look tells that a process is there; whether it is the same one is not asked here.
func look(pid int) (glance, error) { return glance{}, exists(pid) }

// confined: whether others are hidden is not asked, so nobody is proven dead by not being seen.
func confined() bool { return true }

func bootID() string { return "" }

func machineID() string { return "" }

func startedBy(int) string { return "" }

//go:build dragonfly || netbsd || openbsd

package procid

// look tells that a process is there; whether it is the same one is not asked here.
func look(pid int) (glance, error) { return glance{}, exists(pid) }

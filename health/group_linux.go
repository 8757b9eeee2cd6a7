package health

import "golang.org/x/sys/unix"

// awaitExit waits until the child has ended and leaves it to be reaped, so that its number stays its own. It is false
// where that cannot be told.
func awaitExit(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == nil
		}
	}
}

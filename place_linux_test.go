package solehold_test

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// ownedDir makes an empty data directory of a user.
func ownedDir(t testing.TB, uid int) string {
	t.Helper()
	dir := dataDir(t)
	must(t, os.Chown(dir, uid, uid))
	return dir
}

// awaitEnd waits for the end of a process that need not be a child.
func awaitEnd(t testing.TB, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return
	}
	must(t, err)
	defer unix.Close(fd)
	for {
		_, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(patience.Milliseconds()))
		if err != unix.EINTR {
			must(t, err)
			return
		}
	}
}

// killAtEnd ends a process that is not a child when the test ends.
func killAtEnd(t testing.TB, pid int) {
	t.Cleanup(func() {
		unix.Kill(pid, unix.SIGKILL)
		awaitEnd(t, pid)
	})
}

package journald

import (
	"os"

	"github.com/solehold/solehold/internal/journal"
	"golang.org/x/sys/unix"
)

// Send tells the journal at a socket of an event. It does not wait: where the
// journal is not there, or has no room, that is the error, and nothing was sent.
// An event is small enough for one datagram.
func Send(socket, dir string, e journal.Event) error {
	text, err := Datagram(dir, e)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	return os.NewSyscallError("sendto", unix.Sendto(fd, text, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, &unix.SockaddrUnix{Name: socket}))
}

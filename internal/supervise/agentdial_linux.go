//go:build !solehold_portable

package supervise

import (
	"fmt"
	"os"
	"time"

	"github.com/solehold/solehold/internal/agent/wire"
	"golang.org/x/sys/unix"
)

// dialLimit is how long the agent of a host may leave somebody standing at its
// socket.
const dialLimit = 5 * time.Second

// dial finds the agent of this host. What it says is believed, so that it must be
// of root or of our own user.
func (a *agent) dial() error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	limit := unix.NsecToTimeval(int64(dialLimit))
	if err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit); err == nil {
		err = unix.Connect(fd, &unix.SockaddrUnix{Name: a.c.Socket})
	}
	if err != nil {
		unix.Close(fd)
		return fmt.Errorf("connect: %w: is solehold-cluster agent --listen %s at work there?", err, a.c.Socket)
	}
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil || peer.Uid != 0 && int(peer.Uid) != os.Geteuid() {
		unix.Close(fd)
		return fmt.Errorf("who listens there is neither root nor this user: %+v, %v", peer, err)
	}
	unix.SetNonblock(fd, true)
	a.conn = os.NewFile(uintptr(fd), "agent")
	return nil
}

// introduce says which lock is wanted. The agent of a host gets a descriptor of
// this process with it: a number alone may be another's by the time it is used.
func (a *agent) introduce(m wire.Message) error {
	if a.process != nil {
		return wire.Write(a.conn, m)
	}
	own, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return os.NewSyscallError("pidfd_open", err)
	}
	defer unix.Close(own)
	return wire.Write(withRights{a.conn, own}, m)
}

// withRights sends a descriptor with what is written first.
type withRights struct {
	conn *os.File
	fd   int
}

// Write sends p and the descriptor.
func (w withRights) Write(p []byte) (n int, err error) {
	raw, err := w.conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	if ended := raw.Write(func(fd uintptr) bool {
		n, err = unix.SendmsgN(int(fd), p, unix.UnixRights(w.fd), nil, unix.MSG_NOSIGNAL)
		return err != unix.EAGAIN
	}); ended != nil {
		err = ended
	}
	if err != nil || n == len(p) {
		return n, err
	}
	more, err := w.conn.Write(p[n:])
	return n + more, err
}

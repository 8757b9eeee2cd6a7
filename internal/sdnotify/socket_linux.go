package sdnotify

import (
	"encoding/hex"
	"os"

	"golang.org/x/sys/unix"
)

const (
	// maxText is what systemd takes at most in one datagram.
	maxText = 4096
	// maxFDs is what systemd takes at most with one datagram.
	maxFDs = 768
)

// Socket receives what a command says.
type Socket struct {
	file *os.File
	name string
}

// Listen makes a socket in the abstract name space, under a name that cannot be
// guessed: it leaves no file behind and works whatever user the command becomes.
func Listen() (*Socket, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	var random [16]byte
	if _, err := unix.Getrandom(random[:], 0); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("getrandom", err)
	}
	name := "@solehold-" + hex.EncodeToString(random[:])
	err = unix.Bind(fd, &unix.SockaddrUnix{Name: name})
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PASSCRED, 1)
	}
	if err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("bind", err)
	}
	return &Socket{file: os.NewFile(uintptr(fd), name), name: name}, nil
}

// Name is the value of NOTIFY_SOCKET for the command.
func (s *Socket) Name() string { return s.name }

// Close ends Receive.
func (s *Socket) Close() error { return s.file.Close() }

// Receive waits for one message. pid is the process that sent it, as the kernel
// says, 0 where it does not.
func (s *Socket) Receive() (m Message, pid int, err error) {
	raw, err := s.file.SyscallConn()
	if err != nil {
		return m, 0, err
	}
	text, extra := make([]byte, maxText), make([]byte, unix.CmsgSpace(unix.SizeofUcred)+unix.CmsgSpace(4*maxFDs))
	var n, extraN int
	var recvErr error
	err = raw.Read(func(fd uintptr) bool {
		n, extraN, _, _, recvErr = unix.Recvmsg(int(fd), text, extra, unix.MSG_CMSG_CLOEXEC|unix.MSG_DONTWAIT)
		return recvErr != unix.EAGAIN && recvErr != unix.EINTR
	})
	if err == nil {
		err = recvErr
	}
	if err != nil {
		return m, 0, err
	}
	m = Parse(text[:n])
	m.FDs, pid = control(extra[:extraN])
	return m, pid, nil
}

func control(b []byte) (fds []int, pid int) {
	messages, err := unix.ParseSocketControlMessage(b)
	if err != nil {
		return nil, 0
	}
	for i := range messages {
		if rights, err := unix.ParseUnixRights(&messages[i]); err == nil {
			fds = append(fds, rights...)
		} else if cred, err := unix.ParseUnixCredentials(&messages[i]); err == nil {
			pid = int(cred.Pid)
		}
	}
	return fds, pid
}

// Drop closes the descriptors of a message.
func (m Message) Drop() {
	for _, fd := range m.FDs {
		unix.Close(fd)
	}
}

// Upstream is the manager's socket.
type Upstream struct {
	fd int
	to unix.SockaddrUnix
}

// Dial prepares to speak to the manager's socket, as NOTIFY_SOCKET names it. A
// nil Upstream, without an error, is the answer to an empty name: nobody listens.
func Dial(name string) (*Upstream, error) {
	if name == "" {
		return nil, nil
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	return &Upstream{fd: fd, to: unix.SockaddrUnix{Name: name}}, nil
}

// Send passes a message on with its descriptors. It never blocks: a manager that
// does not read, or is gone, costs the message and an error.
func (u *Upstream) Send(m Message) error {
	if u == nil || len(m.Lines) == 0 {
		return nil
	}
	var rights []byte
	if len(m.FDs) > 0 {
		rights = unix.UnixRights(m.FDs...)
	}
	return os.NewSyscallError("sendmsg", unix.Sendmsg(u.fd, m.Text(), rights, &u.to, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL))
}

// Say sends one line.
func (u *Upstream) Say(line string) error { return u.Send(Message{Lines: []string{line}}) }

// Close closes the socket.
func (u *Upstream) Close() error {
	if u == nil {
		return nil
	}
	return unix.Close(u.fd)
}

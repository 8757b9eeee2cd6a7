package web

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
)

// The codes that a program exits with which cannot listen, as in sysexits.h.
const (
	CodeUsage      = 64
	CodeCreate     = 73
	CodePermission = 77
)

// ListenError says why there is nothing to listen on.
type ListenError struct {
	// Address is what was asked for.
	Address string
	// Why it cannot be.
	Why string
	// Next is what to do.
	Next string
	// Code is what a program exits with.
	Code int
	// Err is the cause, nil for an address that is refused.
	Err error
}

// Error names the address and the reason.
func (e *ListenError) Error() string {
	text := fmt.Sprintf("%s: %s", e.Address, e.Why)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *ListenError) Unwrap() error { return e.Err }

// Listen opens an address: a loopback address with its port, or unix: with a path.
// The error is a *ListenError.
func Listen(address string) (net.Listener, error) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return listenUnix(address, path)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, &ListenError{address, "not an address", "write host:port, such as 127.0.0.1:9321, or unix:/run/solehold.sock", CodeUsage, err}
	}
	if host == "localhost" {
		host = "127.0.0.1" // what a name means is others' to say
	}
	if ip, err := netip.ParseAddr(host); err != nil || !ip.IsLoopback() {
		return nil, &ListenError{
			address, "not a loopback address: everybody who reaches it would see what runs here",
			"listen on 127.0.0.1 or [::1], or on unix:/path; from elsewhere reach it through ssh -L", CodeUsage, nil,
		}
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, whyNot(address, err)
	}
	return l, nil
}

func whyNot(address string, err error) *ListenError {
	e := &ListenError{Address: address, Why: "cannot listen", Next: "choose another one with --listen", Code: CodeCreate, Err: cause(err)}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		e.Why = "another program listens there"
	case errors.Is(err, fs.ErrPermission):
		e.Why, e.Code = "this user may not listen there", CodePermission
	}
	return e
}

// cause is the error of the system call, without the words around it.
func cause(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return err
}

// listenUnix makes a socket. One that is there is taken away only if it is proven to
// be ours and dead: a socket of this user at which nobody answers.
func listenUnix(address, path string) (net.Listener, error) {
	if path == "" {
		return nil, &ListenError{address, "the path is empty", "write unix:/path", CodeUsage, nil}
	}
	l, err := net.Listen("unix", path)
	if errors.Is(err, syscall.EADDRINUSE) {
		if e := clear(address, path); e != nil {
			return nil, e
		}
		l, err = net.Listen("unix", path)
	}
	if err != nil {
		return nil, whyNot(address, err)
	}
	if err := os.Chmod(path, 0o660); err != nil {
		l.Close()
		return nil, whyNot(address, err)
	}
	return l, nil
}

// clear removes a dead socket, and refuses everything else.
func clear(address, path string) error {
	refused := func(why string) error {
		return &ListenError{address, why, "choose another path, or remove it yourself if you know what it is", CodeCreate, syscall.EADDRINUSE}
	}
	before, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return whyNot(address, err)
	case before.Mode().Type() != fs.ModeSocket:
		return refused("there is something that is no socket")
	case !mine(before):
		return refused("there is a socket of another user")
	}
	c, err := net.Dial("unix", path)
	if err == nil {
		c.Close()
		return refused("another program listens there")
	}
	now, again := os.Lstat(path)
	if !errors.Is(err, syscall.ECONNREFUSED) || again != nil || !os.SameFile(before, now) {
		return refused("there is a socket that is not proven to be dead")
	}
	if err := os.Remove(path); err != nil {
		return whyNot(address, err)
	}
	return nil
}

// crowd is a listener that serves so many connections at once; the others wait in
// the kernel's queue.
type crowd struct {
	net.Listener
	room chan struct{}
}

func bounded(l net.Listener, most int) net.Listener { return &crowd{l, make(chan struct{}, most)} }

// Accept waits for room, then for a connection.
func (c *crowd) Accept() (net.Conn, error) {
	c.room <- struct{}{}
	conn, err := c.Listener.Accept()
	if err != nil {
		<-c.room
		return nil, err
	}
	return &guest{Conn: conn, leave: sync.OnceFunc(func() { <-c.room })}, nil
}

type guest struct {
	net.Conn
	leave func()
}

// Close makes room for the next one.
func (g *guest) Close() error {
	defer g.leave()
	return g.Conn.Close()
}

// silent drops what net/http says of connections: strangers could fill a log by it.
func silent() *log.Logger { return log.New(io.Discard, "", 0) }

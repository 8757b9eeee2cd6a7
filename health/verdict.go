package health

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"syscall"
)

// errSelf is a connection of a socket to itself, which happens where nobody listens on a port that the kernel also gives
// to clients.
var errSelf = errors.New("nobody listens there")

// VerdictOf says what an error of connecting or asking means: [Unknown] where it tells only about the prober (its
// descriptors, memory, local ports, rights, network or name lookup, or a cancelled context), otherwise [Fail].
func VerdictOf(err error) Verdict {
	var lookup *net.DNSError
	switch {
	case err == nil:
		return OK
	case errors.As(err, &lookup), errors.Is(err, context.Canceled), errors.Is(err, fs.ErrPermission):
		return Unknown
	case slices.ContainsFunc(shortages(), func(e syscall.Errno) bool { return errors.Is(err, e) }):
		return Unknown
	}
	return Fail
}

// shortages are errors that say nothing about the service.
func shortages() []syscall.Errno {
	return []syscall.Errno{
		syscall.EMFILE, syscall.ENFILE, // no descriptor left
		syscall.EADDRNOTAVAIL,           // no local port left, or no such local network
		syscall.ENOBUFS, syscall.ENOMEM, // no memory left in the kernel
		syscall.ENETUNREACH,  // no way there from here
		syscall.ENETDOWN,     // no network
		syscall.EAFNOSUPPORT, // no such network here, for example without IPv6
	}
}

// words says in a few words what happened: the innermost error says it best.
func words(err error) string {
	var lookup *net.DNSError
	var call *os.SyscallError
	var file *fs.PathError
	switch {
	case errors.As(err, &lookup):
		return "name lookup: " + lookup.Err + " (" + lookup.Name + ")"
	case errors.Is(err, syscall.EAGAIN):
		return "its queue of waiting connections is full"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "no local address or port left to ask from"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection closed in the middle of the answer"
	case errors.As(err, &call):
		return call.Err.Error()
	case errors.As(err, &file):
		return file.Err.Error()
	}
	return err.Error()
}

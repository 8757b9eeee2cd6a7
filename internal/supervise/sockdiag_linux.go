//go:build !solehold_portable

package supervise

import (
	"encoding/binary"
	"net/netip"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// The numbers of linux/sock_diag.h and linux/inet_diag.h.
const (
	sockDiagByFamily = 20
	tcpListen        = 10
	diagRequestSize  = unix.SizeofNlMsghdr + 56
	diagPort         = 4  // of idiag_sport in struct inet_diag_msg
	diagAddr         = 8  // of idiag_src
	diagInode        = 68 // of idiag_inode
	diagSize         = 72
)

// listeners asks the kernel which TCP sockets of this network namespace accept
// connections to an address; sorted. It needs no rights, and takes no longer
// where many connections are open.
func listeners(at netip.AddrPort) ([]uint32, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 1})
	best, found := 0, []uint32(nil)
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		all, err := listening(fd, family, at)
		if err != nil {
			return nil, os.NewSyscallError("sock_diag", err)
		}
		for _, l := range all {
			if l.fit > best {
				best, found = l.fit, nil
			}
			if l.fit == best {
				found = append(found, l.inode)
			}
		}
	}
	slices.Sort(found)
	return found, nil
}

// listener is a socket and how well it fits an address: the kernel gives a
// connection to one that is bound to the address itself before one that takes
// any, and to one of its own family before one that takes both.
type listener struct {
	inode uint32
	fit   int
}

func listening(fd int, family byte, at netip.AddrPort) (found []listener, err error) {
	q := make([]byte, diagRequestSize)
	binary.NativeEndian.PutUint32(q, diagRequestSize)
	binary.NativeEndian.PutUint16(q[4:], sockDiagByFamily)
	binary.NativeEndian.PutUint16(q[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	body := q[unix.SizeofNlMsghdr:]
	body[0], body[1] = family, unix.IPPROTO_TCP
	binary.NativeEndian.PutUint32(body[4:], 1<<tcpListen)
	binary.BigEndian.PutUint16(body[8:], at.Port())
	if err := unix.Sendto(fd, q, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	buf := make([]byte, 32<<10)
	for {
		n, _, err := unix.Recvfrom(fd, buf, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		for left := buf[:n]; len(left) >= unix.SizeofNlMsghdr; {
			size := int(binary.NativeEndian.Uint32(left))
			if size < unix.SizeofNlMsghdr || size > len(left) {
				return nil, unix.EBADMSG
			}
			switch binary.NativeEndian.Uint16(left[4:]) {
			case unix.NLMSG_DONE:
				return found, nil
			case unix.NLMSG_ERROR:
				return nil, unix.EOPNOTSUPP
			}
			if l := fits(left[unix.SizeofNlMsghdr:size], at); l.fit > 0 {
				found = append(found, l)
			}
			left = left[min(len(left), (size+3)&^3):]
		}
	}
}

// fits reads one socket; it does not fit where it cannot take a connection to at.
func fits(m []byte, at netip.AddrPort) listener {
	if len(m) < diagSize || binary.BigEndian.Uint16(m[diagPort:]) != at.Port() {
		return listener{}
	}
	size := 4
	if m[0] == unix.AF_INET6 {
		size = 16
	}
	bound, _ := netip.AddrFromSlice(m[diagAddr : diagAddr+size])
	bound, want := bound.Unmap(), at.Addr().Unmap().WithZone("")
	l := listener{inode: binary.NativeEndian.Uint32(m[diagInode:])}
	switch {
	case bound == want:
		l.fit = 3
	case !bound.IsUnspecified(), bound.Is4() && want.Is6():
	case bound.Is4() == want.Is4():
		l.fit = 2
	default:
		l.fit = 1
	}
	return l
}

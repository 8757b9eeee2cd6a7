//go:build !solehold_portable

package supervise_test

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold/internal/supervise"
	"golang.org/x/sys/unix"
)

// listenAt listens and returns the address and the socket's number.
func listenAt(t *testing.T, network, address string) (netip.AddrPort, uint32) {
	t.Helper()
	shared := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) })
	}}
	l, err := shared.Listen(t.Context(), network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	raw, err := l.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	raw.Control(func(fd uintptr) { err = unix.Fstat(int(fd), &st) })
	if err != nil {
		t.Fatal(err)
	}
	return netip.MustParseAddrPort(l.Addr().String()), uint32(st.Ino)
}

// at is an address with the port of another one.
func portOf(addr string, p netip.AddrPort) netip.AddrPort {
	return netip.MustParseAddrPort(net.JoinHostPort(addr, strconv.Itoa(int(p.Port()))))
}

// The kernel tells which socket takes a connection to an address.
func TestListeners(t *testing.T) {
	t.Parallel()
	at, inode := listenAt(t, "tcp4", "127.0.0.1:0")
	for _, c := range []struct {
		to   netip.AddrPort
		want []uint32
	}{
		{at, []uint32{inode}},
		{portOf("::ffff:127.0.0.1", at), []uint32{inode}},
		{portOf("127.0.0.2", at), nil},
		{portOf("::1", at), nil},
	} {
		got, err := supervise.Listeners(c.to)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v, want %v", c.to, got, err, c.want)
		}
	}
}

// One that is bound to the address goes before one that takes any, and that of the
// family before one of both.
func TestListenersFit(t *testing.T) {
	t.Parallel()
	any4, wild := listenAt(t, "tcp4", "0.0.0.0:0")
	own, bound := listenAt(t, "tcp4", portOf("127.0.0.7", any4).String())
	for to, want := range map[netip.AddrPort]uint32{own: bound, portOf("127.0.0.8", any4): wild} {
		if got, err := supervise.Listeners(to); err != nil || !slices.Equal(got, []uint32{want}) {
			t.Errorf("%s: %v, %v, want %d", to, got, err, want)
		}
	}
	if got, err := supervise.Listeners(portOf("::1", any4)); err != nil || len(got) > 0 {
		t.Errorf("a socket of IPv4 takes IPv6: %v, %v", got, err)
	}
}

// A socket that takes both families takes IPv4 too, where no other one does.
func TestListenersOfBoth(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "[::]:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if !strings.HasPrefix(l.Addr().String(), "[::]") {
		t.Fatalf("it listens at %s", l.Addr())
	}
	at := netip.MustParseAddrPort(l.Addr().String())
	for _, addr := range []string{"127.0.0.1", "::1"} {
		if got, err := supervise.Listeners(portOf(addr, at)); err != nil || len(got) != 1 {
			t.Errorf("%s: %v, %v", addr, got, err)
		}
	}
}

// Nobody listens: no socket, and no error. Many connections are not listed.
func TestListenersOfNobody(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := netip.MustParseAddrPort(l.Addr().String())
	for range 50 {
		c, err := net.Dial("tcp", at.String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	if got, err := supervise.Listeners(at); err != nil || len(got) != 1 {
		t.Errorf("beside connections: %v, %v", got, err)
	}
	l.Close()
	if got, err := supervise.Listeners(at); err != nil || len(got) > 0 {
		t.Errorf("nobody: %v, %v", got, err)
	}
}

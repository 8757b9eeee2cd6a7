package health

import (
	"context"
	"net"
	"net/netip"
	"time"
)

// dial connects to a checked address. Names are looked up by Go itself, in the hosts file and then in the DNS, as only
// that ends in time; each address of a name gets its share of the time. Of several errors one that is about the service
// is given.
func (c *check) dial(network, address string) (net.Conn, error) {
	addresses := []string{address}
	if network == "tcp" {
		var err error
		if addresses, err = resolve(c.ctx, address); err != nil {
			return nil, err
		}
	}
	var worst error
	for i, a := range addresses {
		conn, err := c.dialOne(network, a, len(addresses)-i)
		if err == nil {
			return conn, nil
		}
		if worst == nil || VerdictOf(worst) == Unknown {
			worst = err
		}
	}
	return nil, worst
}

// resolve gives the addresses of host:port.
func resolve(ctx context.Context, address string) ([]string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return []string{address}, nil
	}
	hosts, err := (&net.Resolver{PreferGo: true}).LookupHost(ctx, host)
	for i := range hosts {
		hosts[i] = net.JoinHostPort(hosts[i], port)
	}
	return hosts, err
}

// dialOne connects to one address in its share of the time that is left.
func (c *check) dialOne(network, address string, share int) (net.Conn, error) {
	deadline, _ := c.ctx.Deadline()
	dialer := net.Dialer{Timeout: max(time.Until(deadline)/time.Duration(share), time.Nanosecond), KeepAlive: -1}
	conn, err := dialer.DialContext(c.ctx, network, address)
	if err != nil {
		return nil, err
	}
	c.peer = peerOf(conn)
	if c.peer.Local.IsValid() && c.peer.Local == c.peer.Remote {
		conn.Close()
		c.peer = Peer{}
		return nil, errSelf
	}
	return conn, nil
}

func peerOf(conn net.Conn) Peer {
	if u, ok := conn.(*net.UnixConn); ok {
		return Peer{Path: u.RemoteAddr().String(), PID: listenerPID(u)}
	}
	return Peer{Local: addrPort(conn.LocalAddr()), Remote: addrPort(conn.RemoteAddr())}
}

func addrPort(a net.Addr) netip.AddrPort {
	if t, ok := a.(*net.TCPAddr); ok {
		return netip.AddrPortFrom(t.AddrPort().Addr().Unmap(), t.AddrPort().Port())
	}
	return netip.AddrPort{}
}

// guard ends all reading and writing of conn with the check. The returned function closes conn and waits until nothing
// of the guard is left.
func (c *check) guard(conn net.Conn) (release func()) {
	deadline, _ := c.ctx.Deadline()
	conn.SetDeadline(deadline)
	over := make(chan struct{})
	stop := context.AfterFunc(c.ctx, func() {
		conn.SetDeadline(time.Unix(1, 0))
		close(over)
	})
	return func() {
		if !stop() {
			<-over
		}
		conn.Close()
	}
}

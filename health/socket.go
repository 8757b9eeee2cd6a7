package health

import "context"

// socketProbe connects and does nothing more.
type socketProbe struct{ network, address string }

// TCP gives a probe that connects to host:port and closes the connection: OK if something listens there and its queue
// has room. It does not see that a service hangs: the kernel connects for it. The error is about the address.
func TCP(address string) (Probe, error) {
	if err := ParseTCP(address); err != nil {
		return nil, err
	}
	return &socketProbe{"tcp", address}, nil
}

// Unix gives a probe that connects to the stream socket at an absolute path, or at @name for Linux's abstract sockets,
// and closes the connection: OK as for [TCP]. The error is about the path.
func Unix(path string) (Probe, error) {
	if err := ParseUnix(path); err != nil {
		return nil, err
	}
	return &socketProbe{"unix", path}, nil
}

// Check connects once.
func (p *socketProbe) Check(ctx context.Context) Result {
	c, cancel := begin(ctx)
	defer cancel()
	conn, err := c.dial(p.network, p.address)
	if err != nil {
		return c.failed("connection", err)
	}
	conn.Close()
	return c.end(OK, "%s connected", p.network)
}

// String gives for example "tcp 127.0.0.1:80".
func (p *socketProbe) String() string { return p.network + " " + p.address }

package clustertest

import (
	"net"
	"sync"
	"testing"
)

// Proxy is a TCP connection that can be cut as a network is: bytes vanish on the way, and connections stay open.
type Proxy struct {
	listener net.Listener
	target   string

	mu     sync.Mutex
	open   chan struct{} // closed while bytes pass
	closed bool
	conns  []net.Conn
}

// NewProxy listens on a free port of this machine and forwards to the target. It is closed at the end of the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	p, err := ListenProxy(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// ListenProxy is NewProxy outside of a test: the caller closes it.
func ListenProxy(target string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, target: target, open: make(chan struct{})}
	close(p.open)
	go p.serve()
	return p, nil
}

// Addr is where it listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Cut lets nothing pass from now on. What was under way arrives after Heal, as TCP would send it again.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.open:
		p.open = make(chan struct{})
	default:
	}
}

// Heal lets everything pass again.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.open:
	default:
		close(p.open)
	}
}

// Close ends it and all connections.
func (p *Proxy) Close() {
	p.listener.Close()
	p.Heal()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.conns {
		c.Close()
	}
}

// wait returns when bytes pass.
func (p *Proxy) wait() {
	p.mu.Lock()
	open := p.open
	p.mu.Unlock()
	<-open
}

func (p *Proxy) serve() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.forward(c)
	}
}

func (p *Proxy) forward(client net.Conn) {
	p.keep(client)
	p.wait()
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		client.Close()
		return
	}
	p.keep(server)
	go p.copy(client, server)
	p.copy(server, client)
}

// keep has a connection closed at the end.
func (p *Proxy) keep(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.Close()
	}
	p.conns = append(p.conns, c)
}

func (p *Proxy) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		p.wait()
		if _, werr := to.Write(buffer[:n]); err != nil || werr != nil {
			return
		}
	}
}

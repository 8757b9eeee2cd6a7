package zookeeper

import (
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"time"
)

// errEnded refuses to connect a session that has ended.
var errEnded = errors.New("this session has ended")

// dialer connects one session, keeps the library's own pings from the wire, so that the session lives by renewals alone, and reads from the wire what the library does not tell: the time to live that the server
// has granted, and the session that it has given.
type dialer struct {
	patience time.Duration // for the answer to a connection; the library would take up to 6 times the time to live

	mu      sync.Mutex
	session int64
	ttl     time.Duration
	ended   bool
	renewed time.Time // when a renewal was asked for
	conn    net.Conn  // the present one
}

func (d *dialer) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	if !d.wanted() {
		return nil, errEnded
	}
	c, err := net.DialTimeout(network, address, timeout)
	if err != nil {
		return nil, err
	}
	if !d.keep(c) {
		c.Close()
		return nil, errEnded
	}
	return &sniffer{Conn: c, d: d}, nil
}

// keep takes note of a connection, unless the session has ended while it was made.
func (d *dialer) keep(c net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.conn = c
	return !d.ended
}

// hangUp ends the connection and lets no other be made: the server hears nothing more, and the session runs out.
func (d *dialer) hangUp() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = true
	if d.conn != nil {
		d.conn.Close()
	}
}

// wanted reports whether a connection may be made: a reconnection would keep a session alive that nobody renews.
func (d *dialer) wanted() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.ended && (d.session == 0 || time.Since(d.renewed) < d.ttl/10*6)
}

// renew takes note of a renewal.
func (d *dialer) renew() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.renewed = time.Now()
}

// answered takes the answer to a connection. Another session than the first, or none, is the end.
func (d *dialer) answered(session int64, ttl time.Duration) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if session == 0 || d.session != 0 && d.session != session {
		d.ended = true
		if session != 0 {
			return errEnded
		}
		return nil // the library reads for itself that it has expired
	}
	if d.session == 0 {
		d.renewed = time.Now()
	}
	d.session, d.ttl = session, ttl
	return nil
}

func (d *dialer) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = true
}

// granted gives the time to live, and whether the session has ended.
func (d *dialer) granted() (ttl time.Duration, ended bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ttl, d.ended
}

// sniffer reads the first answer on a connection as it passes: length, version, time-out in milliseconds, session.
type sniffer struct {
	net.Conn
	d    *dialer
	head []byte
	done bool
}

const headSize = 4 + 4 + 4 + 8

// SetReadDeadline bounds the answer to the connection: a server that accepts and is silent must not keep the library from
// trying the next one.
func (s *sniffer) SetReadDeadline(t time.Time) error {
	if limit := time.Now().Add(s.d.patience); !s.done && t.After(limit) {
		t = limit
	}
	return s.Conn.SetReadDeadline(t)
}

// Write drops pings: length 8, number -2, kind 11. The library writes a packet at a time.
func (s *sniffer) Write(b []byte) (int, error) {
	if len(b) == 12 && binary.BigEndian.Uint32(b[4:]) == ^uint32(1) && binary.BigEndian.Uint32(b[8:]) == 11 {
		return len(b), nil
	}
	return s.Conn.Write(b)
}

// Read is for one goroutine, as the library's is.
func (s *sniffer) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	if s.done {
		return n, err
	}
	s.head = append(s.head, b[:n]...)
	if len(s.head) < headSize {
		return n, err
	}
	s.done = true
	ttl := time.Duration(binary.BigEndian.Uint32(s.head[8:])) * time.Millisecond
	if bad := s.d.answered(int64(binary.BigEndian.Uint64(s.head[12:])), ttl); bad != nil {
		return 0, bad
	}
	return n, err
}

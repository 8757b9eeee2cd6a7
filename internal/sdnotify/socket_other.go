//go:build !linux

package sdnotify

import "errors"

// Socket is systemd's, which only Linux has.
type Socket struct{}

// Listen is for Linux.
func Listen() (*Socket, error) { return nil, errors.ErrUnsupported }

// Name is empty.
func (s *Socket) Name() string { return "" }

// Close does nothing.
func (s *Socket) Close() error { return nil }

// Receive never receives.
func (s *Socket) Receive() (m Message, pid int, err error) { return m, 0, errors.ErrUnsupported }

// Drop does nothing: no descriptor ever came with a message.
func (m Message) Drop() {}

// Upstream is the service manager; a nil one, as there is here, takes everything
// and does nothing.
type Upstream struct{}

// Dial finds nobody where no name is given, and is for Linux.
func Dial(name string) (*Upstream, error) {
	if name == "" {
		return nil, nil
	}
	return nil, errors.ErrUnsupported
}

// Send does nothing.
func (u *Upstream) Send(Message) error { return nil }

// Say does nothing.
func (u *Upstream) Say(string) error { return nil }

// Close does nothing.
func (u *Upstream) Close() error { return nil }

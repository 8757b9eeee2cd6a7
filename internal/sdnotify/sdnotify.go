// Package sdnotify relays systemd's readiness protocol between a command and
// the service manager above its wrapper. The manager only listens to the
// wrapper, so the command gets a socket of the wrapper's own and everything it
// says is passed on, in order, without ever blocking either side.
//
// The protocol is sd_notify(3): datagrams of lines NAME=VALUE, some with file
// descriptors. No D-Bus is involved.
package sdnotify

import "strings"

const (
	// SocketVar names the manager's socket.
	SocketVar = "NOTIFY_SOCKET"
	// WatchdogVar is the watchdog's limit in microseconds.
	WatchdogVar = "WATCHDOG_USEC"
	// WatchdogPIDVar is whom the watchdog means: a command that is not this
	// process would ignore the watchdog.
	WatchdogPIDVar = "WATCHDOG_PID"
	// ListenPIDVar is whom socket activation means.
	ListenPIDVar = "LISTEN_PID"
)

// Message is one datagram.
type Message struct {
	// Lines are the NAME=VALUE pairs in order.
	Lines []string
	// FDs are the descriptors that came with it; the receiver closes them.
	FDs []int
}

// Parse splits a datagram. Empty lines are left out, everything else is kept.
func Parse(text []byte) Message {
	var m Message
	for line := range strings.SplitSeq(string(text), "\n") {
		if line != "" {
			m.Lines = append(m.Lines, line)
		}
	}
	return m
}

// Get returns the value of the last line of that name.
func (m Message) Get(name string) (value string, ok bool) {
	for _, line := range m.Lines {
		if v, found := strings.CutPrefix(line, name+"="); found {
			value, ok = v, true
		}
	}
	return value, ok
}

// Ready reports whether the message says that the service serves.
func (m Message) Ready() bool { v, _ := m.Get("READY"); return v == "1" }

// Watchdog reports whether the message is a sign of life.
func (m Message) Watchdog() bool { v, _ := m.Get("WATCHDOG"); return v == "1" }

// Without returns the message less the lines of these names.
func (m Message) Without(names ...string) Message {
	out := Message{FDs: m.FDs}
	for _, line := range m.Lines {
		drop := false
		for _, n := range names {
			drop = drop || strings.HasPrefix(line, n+"=")
		}
		if !drop {
			out.Lines = append(out.Lines, line)
		}
	}
	return out
}

// Text is the datagram's content.
func (m Message) Text() []byte { return []byte(strings.Join(m.Lines, "\n")) }

// Environment returns the variables for a command that speaks to socket instead
// of the manager: WATCHDOG_PID is left out, since a library takes the watchdog
// as meant for it only when the variable is missing or names it.
func Environment(env []string, socket string) []string {
	var out []string
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		if name != SocketVar && name != WatchdogPIDVar {
			out = append(out, v)
		}
	}
	return append(out, SocketVar+"="+socket)
}

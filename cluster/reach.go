package cluster

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"
)

// reachTime is how long a server has to take a connection, when it is asked why it was silent.
const reachTime = 200 * time.Millisecond

// WhySilent gives an error that says that time was over as one that says what becomes of a connection to each server: an
// engine's client often knows no more than that it has waited. Other errors stay as they are, with
// false.
func WhySilent(err error, servers ...string) (why error, silent bool) {
	if !late(err) {
		return err, false
	}
	words := make([]string, len(servers))
	var all sync.WaitGroup
	for i, server := range servers {
		all.Go(func() {
			if words[i] = reach(server); len(servers) > 1 {
				words[i] = server + ": " + words[i]
			}
		})
	}
	all.Wait()
	return silentError{err, strings.Join(words, "; ")}, true
}

// late says that an error is of time that was over: of a context, or of a connection.
func late(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// silentError is one that says why nobody answered.
type silentError struct {
	error
	why string
}

func (e silentError) Error() string { return "no answer in time: " + e.why }

func (e silentError) Unwrap() error { return e.error }

func reach(server string) string {
	c, err := net.DialTimeout("tcp", server, reachTime)
	if err == nil {
		c.Close()
		return "it takes connections, and does not answer as this engine does"
	}
	if late(err) {
		return fmt.Sprintf("no connection within %v", reachTime)
	}
	var number syscall.Errno
	if errors.As(err, &number) {
		return number.Error()
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	return err.Error()
}

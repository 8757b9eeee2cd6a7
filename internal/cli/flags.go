package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/supervise"
)

// seconds is a duration flag that also takes a bare number of seconds, as the
// configuration of most supervisors does.
type seconds time.Duration

// Set reads "30s", "1m30s", "30" or "forever".
func (s *seconds) Set(text string) error {
	if text == "forever" {
		*s = seconds(solehold.WaitForever)
		return nil
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		text = strconv.FormatFloat(n, 'f', -1, 64) + "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return fmt.Errorf("not a time: say e.g. 30s or 2m")
	}
	*s = seconds(d)
	return nil
}

// String prints the duration as Go does.
func (s *seconds) String() string {
	if *s == seconds(solehold.WaitForever) {
		return "forever"
	}
	return time.Duration(*s).String()
}

// Type names the kind of value in help texts.
func (s *seconds) Type() string { return "duration" }

// choice is a flag with a few values.
type choice struct {
	value   string
	allowed []string
}

// Set takes one of the allowed values.
func (c *choice) Set(text string) error {
	if !slices.Contains(c.allowed, text) {
		return fmt.Errorf("must be one of: %s", strings.Join(c.allowed, ", "))
	}
	c.value = text
	return nil
}

// String returns the chosen value.
func (c *choice) String() string { return c.value }

// Type names the kind of value in help texts.
func (c *choice) Type() string { return strings.Join(c.allowed, "|") }

// signalFlag is a signal by name or number.
type signalFlag struct{ signal syscall.Signal }

// Set reads "TERM", "SIGTERM" or "15".
func (s *signalFlag) Set(text string) (err error) {
	s.signal, err = supervise.ParseSignal(text)
	return err
}

// String returns the signal's name.
func (s *signalFlag) String() string { return supervise.SignalName(s.signal) }

// Type names the kind of value in help texts.
func (s *signalFlag) Type() string { return "signal" }

func baseName(command string) string { return filepath.Base(command) }

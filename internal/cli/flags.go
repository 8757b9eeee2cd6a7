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
	"github.com/spf13/pflag"
)

// seconds is a duration flag that also takes a bare number of seconds, as the
// configuration of most supervisors does.
type seconds time.Duration

// Set reads "30s", "1m30s" or "30".
func (s *seconds) Set(text string) error {
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
func (s *seconds) String() string { return time.Duration(*s).String() }

// Type names the kind of value in help texts.
func (s *seconds) Type() string { return "duration" }

// patience is how long to wait for an owner. Only this has no limit if wanted:
// what may take any time in a file system or a probe is a hang.
type patience struct{ seconds }

// Set reads what seconds does, and "forever".
func (p *patience) Set(text string) error {
	if text == forever {
		p.seconds = seconds(solehold.WaitForever)
		return nil
	}
	return p.seconds.Set(text)
}

// String prints what Set reads.
func (p *patience) String() string {
	if p.seconds == seconds(solehold.WaitForever) {
		return forever
	}
	return p.seconds.String()
}

const forever = "forever"

// lookFlags are those of every command that looks at what is there.
type lookFlags struct {
	state   string
	timeout seconds
}

func (f *lookFlags) register(fl *pflag.FlagSet) {
	f.timeout = seconds(solehold.DefaultTimeout)
	fl.StringVar(&f.state, "state", "", "where solehold's files lie, if not in DIR")
	fl.Var(&f.timeout, "timeout", "how long the file system may take to answer")
}

func (f *lookFlags) options() *solehold.Options {
	return &solehold.Options{StateDir: f.state, Timeout: time.Duration(f.timeout)}
}

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

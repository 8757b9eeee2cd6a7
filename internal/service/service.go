// Package service makes the definitions by which service managers start a
// command: units and timers of systemd, property lists of launchd, tasks and
// services of Windows. It writes and removes files; it starts, stops and
// registers nothing.
//
// Each setting that is not obvious carries its reason in the line above it.
package service

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Kind is a form of definition.
type Kind string

// The kinds of definitions.
const (
	Systemd Kind = "systemd" // a service of systemd
	Timer   Kind = "timer"   // a watch as a timer of systemd
	Launchd Kind = "launchd" // a job of launchd (macOS)
	Task    Kind = "task"    // a task of the Windows Task Scheduler
	WinSvc  Kind = "winsvc"  // a service of Windows
)

// Job is what a service manager is to do.
type Job struct {
	// Name names the service in its manager: letters, digits and . _ - @
	Name string
	// Dir is the data directory, State where solehold's files lie if not in it;
	// both absolute.
	Dir, State string
	// Command is the command line: solehold, run or watch, and so on.
	Command []string
	// Status is the command line that ends with 0 if nobody has the directory;
	// empty for no question before a start (systemd).
	Status []string
	// User is whom it runs as; empty for that of the manager.
	User string
	// Session says that it is for the manager of one user and not of the machine.
	Session bool
	// Ready says that somebody tells the manager when the service is up.
	Ready bool
	// Probed says that it is asked whether it is well, so that the manager's
	// watchdog means something.
	Probed bool
	// Creates says that solehold makes Dir where it is missing.
	Creates bool
	// Becomes says that the command replaces solehold (run --exec).
	Becomes bool
	// Restarts says that solehold itself starts the command again.
	Restarts bool
	// HeldExit is the exit code of a start that found the directory taken.
	HeldExit int
	// Grace is how long a stop takes at most before solehold kills.
	Grace time.Duration
	// Every is the time between two looks of a watch; 0 for a service.
	Every time.Duration
	// Home is the home directory of the user, where Session says that it matters.
	Home string
}

// File is one file of a definition.
type File struct {
	// Name is its base name.
	Name string
	// Text is its content, in UTF-8.
	Text string
	// Encode turns it into what the manager reads; nil for the text itself.
	Encode func(text string) []byte
}

// Bytes is what is written.
func (f File) Bytes() []byte {
	if f.Encode == nil {
		return []byte(f.Text)
	}
	return f.Encode(f.Text)
}

// made begins every definition, and is how Uninstall knows one again.
const made = "Made by solehold unit"

// Files makes the definition of a job. The error says what of it cannot be told
// to such a manager.
func (j Job) Files(k Kind) ([]File, error) {
	if err := j.check(); err != nil {
		return nil, err
	}
	switch k {
	case Systemd:
		return j.systemd()
	case Timer:
		return j.timer()
	case Launchd:
		return j.launchd()
	case Task:
		return j.task()
	case WinSvc:
		return j.winsvc()
	}
	return nil, fmt.Errorf("%q is no kind of definition", k)
}

func (j Job) check() error {
	if j.Name == "" || len(j.Name) > 200 || strings.Trim(j.Name, nameLetters) != "" || strings.HasPrefix(j.Name, ".") || strings.HasPrefix(j.Name, "-") {
		return fmt.Errorf("%q cannot name a service: use letters, digits and . _ - @", j.Name)
	}
	if strings.Trim(j.User, nameLetters) != "" {
		return fmt.Errorf("%q is no name of a user", j.User)
	}
	if j.User != "" && j.Session {
		return fmt.Errorf("the manager of one user starts nothing as another one, %s: leave one of the two out", j.User)
	}
	for _, word := range append(append([]string{j.Dir, j.State}, j.Command...), j.Status...) {
		if strings.ContainsRune(word, 0) {
			return fmt.Errorf("%q has a zero byte, which no argument of a program can have", word)
		}
	}
	return nil
}

const nameLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@"

// description says what the job is in one line. It does not end with the path: a
// backslash at the end of a line would take the next one in.
func (j Job) description() string {
	what := j.Name
	if j.Every > 0 {
		what = "Watch of " + j.Name
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return ' '
		}
		return r
	}, what+" (one owner of "+j.Dir+")")
}

// seconds is a span in whole seconds, rounded up.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

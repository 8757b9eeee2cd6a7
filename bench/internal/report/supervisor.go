package report

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Supervisor is what lived after the things that were done to a supervisor.
type Supervisor struct {
	// Name is the supervisor with its flags, Version that of its package.
	Name    string `json:"name"`
	Version string `json:"version"`
	// Lives says whether the service lived after SIGKILL of the supervisor,
	// Relaunched how many services lived after that supervisor was started again.
	Lives      bool `json:"service_lives_after_kill"`
	Relaunched int  `json:"live_after_relaunch"`
	// DeafLives and DeafRelaunched are the same for a service that ignores SIGTERM.
	DeafLives      bool `json:"deaf_service_lives_after_kill"`
	DeafRelaunched int  `json:"live_after_relaunch_over_deaf"`
	// Doubles are how many services lived after two starts at once, for each try.
	Doubles []int `json:"live_after_double_start"`
	// Left is what lived after a normal stop of a service with a tree, Stop how
	// long it took.
	Left Left `json:"left_after_stop"`
	Stop Stop `json:"stop"`
	// Frozen is a normal stop of a service that is stopped by SIGSTOP.
	Frozen Stop `json:"stop_of_frozen"`
	// Error says why the rest is missing.
	Error string `json:"error,omitempty"`
}

// Left counts processes by what they are of the service.
type Left struct {
	// Service is the service's own process.
	Service int `json:"service"`
	// Ignorer is a process of its group that ignores SIGTERM.
	Ignorer int `json:"ignorer"`
	// Escapee is a process that has left its session and group.
	Escapee int `json:"escapee"`
}

// Stop is how a stop went.
type Stop struct {
	// Ended says whether it did, in the time that was given.
	Ended bool `json:"ended"`
	// Seconds is how long it took, or was waited for.
	Seconds float64 `json:"seconds"`
}

// StopOf makes a Stop.
func StopOf(took time.Duration, ended bool) Stop { return Stop{ended, took.Seconds()} }

func (s Stop) text() string {
	if s.Ended {
		return fmt.Sprintf("%.2f s", s.Seconds)
	}
	return fmt.Sprintf("not in %.0f s", s.Seconds)
}

const supervisorFormat = "  %-24s %8s %8s   %8s %8s   %8s   %9s %12s   %12s\n"

// writeSupervisors writes the table of supervisors.
func (r *Report) writeSupervisors(b io.Writer) {
	if len(r.Supervisors) == 0 {
		return
	}
	fmt.Fprint(b, `
1 what lives: services counted from outside, by a mark in their environment
  killed: the supervisor was, by SIGKILL; does the service live? how many do once the supervisor was started again?
  deaf: the same with a service that ignores SIGTERM
  double: two starts in the same instant, for each try the number of services
  left: after a normal stop; the service / a process of its group that ignores SIGTERM / one that has left by setsid
  frozen: how long a normal stop takes when the service is stopped by SIGSTOP
`)
	fmt.Fprintf(b, supervisorFormat, "", "killed:", "then", "deaf:", "then", "double", "left", "stop took", "frozen")
	for _, s := range r.Supervisors {
		if s.Error != "" {
			fmt.Fprintf(b, "  %-24s %s\n", s.Name, s.Error)
			continue
		}
		left := fmt.Sprintf("%d/%d/%d", s.Left.Service, s.Left.Ignorer, s.Left.Escapee)
		fmt.Fprintf(b, supervisorFormat, s.Name, alive(s.Lives), fmt.Sprint(s.Relaunched), alive(s.DeafLives), fmt.Sprint(s.DeafRelaunched),
			strings.Trim(strings.ReplaceAll(fmt.Sprint(s.Doubles), " ", ","), "[]"), left, s.Stop.text(), s.Frozen.text())
	}
	for _, s := range r.Supervisors {
		fmt.Fprintf(b, "  (%s: %s)\n", s.Name, s.Version)
	}
}

func alive(yes bool) string {
	if yes {
		return "lives"
	}
	return "gone"
}

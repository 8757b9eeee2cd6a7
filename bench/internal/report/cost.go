package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Cost is what a supervisor costs, and how soon its service runs again.
type Cost struct {
	// Name is the supervisor with its flags; Pause is what it waits for by its own
	// rules before it starts a service again, "" where it never does.
	Name  string `json:"name"`
	Pause string `json:"own_pause,omitempty"`
	// Restart is the time in ns from the death of a service to the main of the
	// next, nil where that was not measured.
	Restart *Figure `json:"restart_ns,omitempty"`
	// Idle is what it takes while nothing happens, nil where that was not measured.
	Idle *Idle `json:"idle,omitempty"`
}

// Idle is what a process takes while nothing happens.
type Idle struct {
	// Private is memory that is shared with nobody, in KiB. Anonymous is the part of
	// it that no file is behind; the rest is code, which the kernel can drop.
	Private   float64 `json:"private_kib"`
	Anonymous float64 `json:"anonymous_kib"`
	// Wakeups are the voluntary context switches of all threads a second.
	Wakeups float64 `json:"wakeups_per_s"`
	// CPU is the ms of CPU time a minute.
	CPU float64 `json:"cpu_ms_per_min"`
}

const costFormat = "  %-22s %17s %17s %9s %12s  %s\n"

// writeCosts writes the table of costs.
func (r *Report) writeCosts(b io.Writer) {
	costs := slices.DeleteFunc(slices.Clone(r.Costs), func(c Cost) bool { return c.Restart == nil && c.Idle == nil })
	if len(costs) == 0 {
		return
	}
	fmt.Fprint(b, `
2 what it costs: the time from SIGKILL of a service until the main of the next one, median and largest; then of the idle
  supervisor its private memory (of that, without code), the voluntary context switches of all threads and its CPU time
`)
	fmt.Fprintf(b, costFormat, "", "restart", "private", "wake-ups", "CPU", "its own pause")
	for _, c := range costs {
		restart, private, wakeups, cpu := "", "", "", ""
		if c.Restart != nil {
			restart = c.Restart.text("ns")
		}
		if i := c.Idle; i != nil {
			private, wakeups, cpu = fmt.Sprintf("%.0f (%.0f) KiB", i.Private, i.Anonymous), quantity(i.Wakeups, "/s"), quantity(i.CPU, "ms/min")
		}
		line := fmt.Sprintf(costFormat, c.Name, restart, private, wakeups, cpu, c.Pause)
		fmt.Fprintln(b, strings.TrimRight(line, " \n"))
	}
}

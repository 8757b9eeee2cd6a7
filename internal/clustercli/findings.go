package clustercli

import (
	"fmt"
	"strings"
	"time"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/internal/diagnose/doctor"
)

// The limits from which something is worth telling.
const (
	fullAt     = 0.8             // of the space
	skewAt     = 5 * time.Second // the date of an answer has whole seconds
	changesAt  = 3               // of the leader, and
	changeEach = time.Hour       // one in less than this
	slowPart   = 50              // a read that takes longer than this part of the time to live
)

// examined is what is judged.
type examined struct {
	target cluster.Target
	ttl    time.Duration
	health cluster.Health
	locks  []cluster.Seen
}

// findings judges, the worst first.
func (e examined) findings() []doctor.Finding {
	var all []doctor.Finding
	for _, check := range []func() doctor.Finding{
		e.away, e.blocked, e.silent, e.faulty, e.forgets, e.full, e.restless, e.slow, e.foreign, e.unseen, e.skewed, e.few,
	} {
		if f := check(); f.ID != "" {
			f.Confidence, f.Path, f.Holders = doctor.Certain, e.target.String(), []doctor.Process{}
			all = append(all, f)
		}
	}
	return all
}

// of gives a line for each server that says something.
func (e examined) of(say func(cluster.Server) string) []string {
	var lines []string
	for _, s := range e.health.Servers {
		if text := say(s); text != "" {
			lines = append(lines, s.Address+": "+text)
		}
	}
	return lines
}

// works reports whether a server answers and is part of the whole.
func works(s cluster.Server) bool { return s.Err == "" && !s.Alone }

func trouble(s cluster.Server) string {
	if s.Alone {
		return "it knows of no leader"
	}
	return s.Err
}

func (e examined) away() doctor.Finding {
	for _, s := range e.health.Servers {
		if works(s) {
			return doctor.Finding{}
		}
	}
	return doctor.Finding{
		ID: "SH100", Severity: doctor.Outage, Title: "no server of the engine can give a lock", Evidence: e.of(trouble),
		Advice: "start the servers or mend the way to them; commands whose lock is not confirmed are stopped at 0.60 of the ttl, and nothing is started",
	}
}

func (e examined) silent() doctor.Finding {
	lines := e.of(trouble)
	if len(lines) == 0 || len(lines) == len(e.health.Servers) {
		return doctor.Finding{}
	}
	return doctor.Finding{
		ID: "SH101", Severity: doctor.Danger, Title: fmt.Sprintf("%d of %d servers of the engine do not answer from here", len(lines), len(e.health.Servers)), Evidence: lines,
		Advice: "mend them before another one fails; take an address that is nobody's out of the URL",
	}
}

func (e examined) faulty() doctor.Finding {
	lines := e.of(func(s cluster.Server) string { return s.Faults })
	if len(lines) == 0 {
		return doctor.Finding{}
	}
	return doctor.Finding{
		ID: "SH102", Severity: doctor.Danger, Title: "a version with known faults in its leases", Evidence: lines,
		Advice: "upgrade; strict=1 in the URL refuses such servers",
	}
}

func (e examined) blocked() doctor.Finding {
	if len(e.health.Blocked) == 0 {
		return doctor.Finding{}
	}
	return doctor.Finding{
		ID: "SH103", Severity: doctor.Outage, Title: "the engine takes no claims", Evidence: e.health.Blocked,
		Advice: "what has a lock goes on while its lease is renewed, and nothing else can start: do what the evidence says",
	}
}

func (e examined) full() doctor.Finding {
	lines := e.of(func(s cluster.Server) string {
		if s.Limit <= 0 || float64(s.Used) < fullAt*float64(s.Limit) {
			return ""
		}
		return fmt.Sprintf("%s of %s are used", size(s.Used), size(s.Limit))
	})
	if len(lines) == 0 {
		return doctor.Finding{}
	}
	return doctor.Finding{
		ID: "SH104", Severity: doctor.Danger, Title: "the space of the engine is nearly used up", Evidence: lines,
		Advice: "find what fills it; etcd: compact and defragment, or a higher --quota-backend-bytes. When it is full nothing can start",
	}
}

func (e examined) restless() doctor.Finding {
	lines := e.of(func(s cluster.Server) string {
		if s.Changes < changesAt || s.Up <= 0 || s.Up/time.Duration(s.Changes) > changeEach {
			return ""
		}
		return fmt.Sprintf("it has seen %d changes of the leader in %v", s.Changes, s.Up.Round(time.Second))
	})
	if len(lines) == 0 {
		return doctor.Finding{}
	}
	return doctor.Finding{
		ID: "SH105", Severity: doctor.Danger, Title: "the leader changes often", Evidence: lines,
		Advice: "look at the disks, the load and the network of the members; a ttl of several election times-out rides over a change",
	}
}

func (e examined) slow() doctor.Finding {
	if e.health.Latency <= e.ttl/slowPart {
		return doctor.Finding{}
	}
	return doctor.Finding{
		ID: "SH106", Severity: doctor.Danger, Title: "the engine answers slowly",
		Evidence: []string{fmt.Sprintf("the fastest of three reads took %v; with a ttl of %v a renewal is sent again after %v and a holder is told after %v",
			e.health.Latency.Round(time.Microsecond), e.ttl, e.ttl/10, e.ttl/10*6)},
		Advice: "look at the disks and the load of the servers and the way to them, or use a longer ttl on every machine",
	}
}

func (e examined) skewed() doctor.Finding {
	lines := e.of(func(s cluster.Server) string {
		if s.Skew.Abs() < skewAt {
			return ""
		}
		word := "ahead of"
		if s.Skew < 0 {
			word = "behind"
		}
		return fmt.Sprintf("its clock is %v %s the one here", s.Skew.Abs(), word)
	})
	if len(lines) == 0 {
		return doctor.Finding{}
	}
	return doctor.Finding{
		ID: "SH107", Severity: doctor.Notice, Title: "clocks do not agree", Evidence: lines,
		Advice: "set them with NTP. No lock is decided by the time of day, but certificates and histories are",
	}
}

func (e examined) few() doctor.Finding {
	if named := len(e.health.Servers); e.health.Members <= named || named > 1 {
		return doctor.Finding{}
	}
	return doctor.Finding{
		ID: "SH108", Severity: doctor.Notice, Title: "the URL names one of several servers",
		Evidence: []string{fmt.Sprintf("the engine has %d members", e.health.Members)},
		Advice:   "name them all in the URL: etcd://a:2379,b:2379,c:2379/PREFIX. Where only one is known, its end stops every command",
	}
}

func (e examined) forgets() doctor.Finding {
	if len(e.health.Forgets) == 0 {
		return doctor.Finding{}
	}
	return doctor.Finding{
		ID: "SH109", Severity: doctor.Danger, Title: "the engine may forget claims and tokens", Evidence: e.health.Forgets,
		Advice: "set it as the evidence says; until then let the resource check the token (package fence)",
	}
}

func (e examined) foreign() doctor.Finding {
	var lines []string
	for _, s := range e.locks {
		if s.Foreign {
			lines = append(lines, fmt.Sprintf("%s (lock %q)", s.Key, s.Name))
		}
	}
	if len(lines) == 0 {
		return doctor.Finding{}
	}
	return doctor.Finding{
		ID: "SH110", Severity: doctor.Danger, Title: "something that solehold did not write is in the place of a lock", Evidence: some(lines),
		Advice: "look who writes there, and give one of both another prefix; solehold leaves it alone, and such a lock cannot be taken",
	}
}

// some gives the first lines, and how many there are more.
func some(lines []string) []string {
	const most = 10
	if n := len(lines); n > most {
		return append(lines[:most], fmt.Sprintf("and %d more", n-most))
	}
	return lines
}

// size is a number of bytes for people.
func size(n int64) string {
	const unit = 1 << 10
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	v, units := float64(n)/unit, "KMGTPE"
	for v >= unit {
		v, units = v/unit, units[1:]
	}
	return fmt.Sprintf("%.1f %siB", v, units[:1])
}

// oneLine keeps a text of a server on its line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

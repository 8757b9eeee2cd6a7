package clustercli

import (
	"fmt"
	"strings"
	"time"

	"github.com/solehold/solehold/cluster"
)

// finding is one thing that is wrong, in the words of solehold doctor.
type finding struct {
	ID         string   `json:"id"`
	Severity   string   `json:"severity"`
	Confidence string   `json:"confidence"`
	Title      string   `json:"title"`
	Path       string   `json:"path"`
	Evidence   []string `json:"evidence"`
	Advice     string   `json:"advice"`
}

// The words of solehold doctor for how bad it is, and for what is proven.
const (
	outage = "outage"
	danger = "danger"
	notice = "notice"

	certain = "certain"
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
func (e examined) findings() []finding {
	var all []finding
	for _, check := range []func() finding{
		e.away, e.blocked, e.silent, e.faulty, e.forgets, e.full, e.restless, e.slow, e.foreign, e.skewed, e.few,
	} {
		if f := check(); f.ID != "" {
			f.Confidence, f.Path = certain, e.target.String()
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

func (e examined) away() finding {
	for _, s := range e.health.Servers {
		if works(s) {
			return finding{}
		}
	}
	return finding{
		ID: "SH100", Severity: outage, Title: "no server of the engine can give a lock", Evidence: e.of(trouble),
		Advice: "start the servers or mend the way to them; commands whose lock is not confirmed are stopped at 0.60 of the ttl, and nothing is started",
	}
}

func (e examined) silent() finding {
	lines := e.of(trouble)
	if len(lines) == 0 || len(lines) == len(e.health.Servers) {
		return finding{}
	}
	return finding{
		ID: "SH101", Severity: danger, Title: fmt.Sprintf("%d of %d servers of the engine do not answer from here", len(lines), len(e.health.Servers)), Evidence: lines,
		Advice: "mend them before another one fails; take an address that is nobody's out of the URL",
	}
}

func (e examined) faulty() finding {
	lines := e.of(func(s cluster.Server) string { return s.Faults })
	if len(lines) == 0 {
		return finding{}
	}
	return finding{
		ID: "SH102", Severity: danger, Title: "a version with known faults in its leases", Evidence: lines,
		Advice: "upgrade; strict=1 in the URL refuses such servers",
	}
}

func (e examined) blocked() finding {
	if len(e.health.Blocked) == 0 {
		return finding{}
	}
	return finding{
		ID: "SH103", Severity: outage, Title: "the engine takes no claims", Evidence: e.health.Blocked,
		Advice: "what has a lock goes on while its lease is renewed, and nothing else can start: do what the evidence says",
	}
}

func (e examined) full() finding {
	lines := e.of(func(s cluster.Server) string {
		if s.Limit <= 0 || float64(s.Used) < fullAt*float64(s.Limit) {
			return ""
		}
		return fmt.Sprintf("%s of %s are used", size(s.Used), size(s.Limit))
	})
	if len(lines) == 0 {
		return finding{}
	}
	return finding{
		ID: "SH104", Severity: danger, Title: "the space of the engine is nearly used up", Evidence: lines,
		Advice: "find what fills it; etcd: compact and defragment, or a higher --quota-backend-bytes. When it is full nothing can start",
	}
}

func (e examined) restless() finding {
	lines := e.of(func(s cluster.Server) string {
		if s.Changes < changesAt || s.Up <= 0 || s.Up/time.Duration(s.Changes) > changeEach {
			return ""
		}
		return fmt.Sprintf("it has seen %d changes of the leader in %v", s.Changes, s.Up.Round(time.Second))
	})
	if len(lines) == 0 {
		return finding{}
	}
	return finding{
		ID: "SH105", Severity: danger, Title: "the leader changes often", Evidence: lines,
		Advice: "look at the disks, the load and the network of the members; a ttl of several election times-out rides over a change",
	}
}

func (e examined) slow() finding {
	if e.health.Latency <= e.ttl/slowPart {
		return finding{}
	}
	return finding{
		ID: "SH106", Severity: danger, Title: "the engine answers slowly",
		Evidence: []string{fmt.Sprintf("the fastest of three reads took %v; with a ttl of %v a renewal is sent again after %v and a holder is told after %v",
			e.health.Latency.Round(time.Microsecond), e.ttl, e.ttl/10, e.ttl/10*6)},
		Advice: "look at the disks and the load of the servers and the way to them, or use a longer ttl on every machine",
	}
}

func (e examined) skewed() finding {
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
		return finding{}
	}
	return finding{
		ID: "SH107", Severity: notice, Title: "clocks do not agree", Evidence: lines,
		Advice: "set them with NTP. No lock is decided by the time of day, but certificates and histories are",
	}
}

func (e examined) few() finding {
	if named := len(e.health.Servers); e.health.Members <= named || named > 1 {
		return finding{}
	}
	return finding{
		ID: "SH108", Severity: notice, Title: "the URL names one of several servers",
		Evidence: []string{fmt.Sprintf("the engine has %d members", e.health.Members)},
		Advice:   "name them all in the URL: etcd://a:2379,b:2379,c:2379/PREFIX. Where only one is known, its end stops every command",
	}
}

func (e examined) forgets() finding {
	if len(e.health.Forgets) == 0 {
		return finding{}
	}
	return finding{
		ID: "SH109", Severity: danger, Title: "the engine may forget claims and tokens", Evidence: e.health.Forgets,
		Advice: "set it as the evidence says; until then let the resource check the token (package fence)",
	}
}

func (e examined) foreign() finding {
	var lines []string
	for _, s := range e.locks {
		if s.Foreign {
			lines = append(lines, fmt.Sprintf("%s (lock %q)", s.Key, s.Name))
		}
	}
	if len(lines) == 0 {
		return finding{}
	}
	const most = 10
	if n := len(lines); n > most {
		lines = append(lines[:most], fmt.Sprintf("and %d more", n-most))
	}
	return finding{
		ID: "SH110", Severity: danger, Title: "something that solehold did not write is in the place of a lock", Evidence: lines,
		Advice: "look who writes there, and give one of both another prefix; solehold leaves it alone, and such a lock cannot be taken",
	}
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

package evidence

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// subject names the service and what is wrong with it.
func (s *scene) subject() string {
	if len(s.r.PIDs) == 0 {
		return s.name()
	}
	subject := fmt.Sprintf("pid %d (%s)", s.r.PIDs[0], short(s.command(s.r.PIDs[0])))
	if s.r.Silent >= time.Second {
		return fmt.Sprintf("%s has not answered for %s", subject, age(s.r.Silent))
	}
	return subject + ": " + printable(s.r.Reason)
}

// sentence is the finding: what was seen, not what is guessed.
func (s *scene) sentence() (string, error) {
	all := s.waiting()
	subject := s.subject() + "."
	if toldElsewhere {
		return subject + " " + s.counted(), nil
	}
	if len(all) == 0 && len(s.r.PIDs) > 0 && s.ended() {
		return subject + " It has ended before it could be looked at.", nil
	}
	if i := slices.IndexFunc(all, func(w wait) bool { return w.locked }); i >= 0 {
		return subject + " " + s.lockSentence(all[i]), nil
	}
	for _, state := range []byte{'T', 't', 'D'} {
		if i := slices.IndexFunc(all, func(w wait) bool { return w.state == state }); i >= 0 {
			return subject + " " + stateSentence(all[i]), nil
		}
	}
	if dump := goroutines(s.r.Output); dump != "" {
		return subject + " " + printable(dump), nil
	}
	return subject + " " + threadsSentence(all), nil
}

// counted is what can be said where the system does not tell what threads wait for.
func (s *scene) counted() string {
	alive := 0
	for _, pid := range s.r.PIDs {
		if _, err := describe(pid); err == nil {
			alive++
		}
	}
	if alive == 0 && len(s.r.PIDs) > 0 {
		return "It has ended before it could be looked at."
	}
	return fmt.Sprintf("%d of its %d processes live; what their threads wait for this system does not tell.", alive, len(s.r.PIDs))
}

// ended reports whether every process of the service is gone.
func (s *scene) ended() bool {
	return !slices.ContainsFunc(s.r.PIDs, func(pid int) bool {
		st, err := s.proc.Stat(pid)
		return err == nil && !st.Ended()
	})
}

func (s *scene) lockSentence(w wait) string {
	who, waits := "It", "waits"
	if w.pid != s.r.PIDs[0] {
		who = fmt.Sprintf("Its process %d (%s)", w.pid, short(s.command(w.pid)))
	}
	if w.age >= time.Second {
		waits = "has been waiting " + age(w.age)
	}
	text := fmt.Sprintf("%s %s in %s() for %s", who, waits, w.call, w.target)
	if w.blockers.none() {
		return text + "; no holder is visible."
	}
	return text + ", held by " + s.chain(w.blockers, []int{w.pid}) + "."
}

func stateSentence(w wait) string {
	text := fmt.Sprintf("Thread %d is %s", w.tid, stateName(w.state))
	if w.pid == w.tid {
		text = fmt.Sprintf("Process %d is %s", w.pid, stateName(w.state))
	}
	if w.call != "" {
		text += " in " + w.where()
	}
	if w.wchan != "" {
		text += " (" + w.wchan + ")"
	}
	if w.age >= time.Second {
		text += ", and has not run for " + age(w.age)
	}
	return text + "."
}

// threadsSentence counts where the threads are.
func threadsSentence(all []wait) string {
	if len(all) == 0 {
		return "No thread of it could be looked at."
	}
	if len(all) == 1 && all[0].call != "" {
		text := "It is in " + all[0].where()
		if all[0].age >= time.Second {
			text += ", and has not run for " + age(all[0].age)
		}
		return text + "."
	}
	count := map[string]int{}
	for _, w := range all {
		where := "running"
		switch {
		case w.call != "":
			where = "in " + w.where()
		case w.wchan != "":
			where = "waiting in " + plain(w.wchan)
		case w.state == 'S':
			where = "sleeping"
		}
		count[where]++
	}
	var places []string
	for where, n := range count {
		places = append(places, fmt.Sprintf("%d %s", n, where))
	}
	slices.Sort(places)
	if len(places) > 8 {
		places = append(places[:8], fmt.Sprintf("%d other places", len(places)-8))
	}
	return fmt.Sprintf("Of its %d threads: %s.", len(all), strings.Join(places, ", "))
}

func short(s string) string {
	if r := []rune(s); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return s
}

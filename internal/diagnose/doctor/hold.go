package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/solehold/solehold"
)

// aged are locks that may be held for longer than asked for (SH001). The kernel
// does not say since when a lock is held: it cannot be longer than its holder
// lives, and for a program that lives to hold it that is the answer. Our own
// locks have their time in the record and are judged with their directory.
func (h *host) aged() []Finding {
	if h.o.MaxAge <= 0 {
		return nil
	}
	var all []Finding
	for _, l := range h.locks {
		keeper := h.keeper(l)
		if keeper == 0 || l.ours() || l.lease() {
			continue
		}
		started := h.started(h.process(keeper))
		age := time.Since(started)
		if started.IsZero() || age <= h.o.MaxAge {
			continue
		}
		f := Finding{
			ID: "SH001", Severity: Notice, Confidence: Possible, Path: l.path, Holders: h.parties(l),
			Title:    "lock perhaps held for longer than " + h.o.MaxAge.String(),
			Evidence: []string{line("%s: %s", l.at(), h.held(l)), line("it started %s ago; the lock cannot be older, and may be younger", solehold.Age(age))},
			Advice:   "if it should have ended long ago, look what it does (solehold doctor --pid) before you stop it",
		}
		if strings.HasSuffix(h.program(keeper), "/flock") {
			f.Confidence, f.Title = Likely, "lock held for longer than "+h.o.MaxAge.String()
		}
		all = append(all, f)
	}
	return all
}

// stopped are locks whose holder does not run (SH003).
func (h *host) stopped() []Finding {
	var all []Finding
	for _, l := range h.locks {
		keeper := h.keeper(l)
		if keeper == 0 || l.lease() || len(l.waiters) == 0 && h.o.MaxAge <= 0 {
			continue // a stopped program that keeps nobody waiting is somebody's debugging
		}
		halted := slices.DeleteFunc(l.pids(), func(pid int) bool { return !strings.ContainsRune("Tt", rune(h.process(pid).stat.State)) })
		if len(halted) == 0 {
			continue
		}
		f := Finding{
			ID: "SH003", Severity: Notice, Confidence: Certain, Path: l.path, Holders: h.parties(l), Waiters: h.awaiting(l),
			Title:    "lock held by a stopped process",
			Evidence: []string{line("%s: %s", l.at(), h.held(l)), line("%s is in state T: it was stopped by a signal or a debugger and keeps the lock", h.name(halted[0]))},
			Advice:   "let it go on (kill -CONT) or end it; the lock is its own until then",
		}
		if len(l.waiters) > 0 {
			f.Severity = Outage
		}
		if len(halted) < len(l.holders) {
			f.Confidence = Likely // the others run; mostly they wait for the stopped one
		}
		all = append(all, f)
	}
	return all
}

// inherited are locks that only children of those who took them keep (SH013).
func (h *host) inherited() []Finding {
	var all []Finding
	for _, l := range h.locks {
		if l.row.Type != "FLOCK" || len(l.holders) == 0 || l.row.PID <= 0 || !h.leftBehind(l) {
			continue
		}
		keeper := h.keeper(l)
		p := h.process(keeper)
		by, advice := "has it in its memory", line("end pid %d", keeper)
		if fds := l.fdsOf(keeper); len(fds) > 0 {
			by = fmt.Sprintf("inherited descriptor %d", fds[0])
			advice = line("start the helper with the descriptor closed (%d>&-), or end pid %d", fds[0], keeper)
		}
		all = append(all, Finding{
			ID: "SH013", Severity: Notice, Confidence: h.sure(Likely), Path: l.path, Holders: h.parties(l), Waiters: h.awaiting(l),
			Title: "lock kept by a daemonised child",
			Evidence: []string{
				line("%s was locked by pid %d, which is gone", l.at(), l.row.PID),
				line("%s started later, %s and keeps it; its parent is %d", h.name(keeper), by, p.stat.PPID),
			},
			Advice: advice,
		})
	}
	return all
}

// leftBehind says whether everybody who keeps a lock started after the process
// that took it, and has lost its own parent. In the usual
// shell idiom, flock 9 in a subshell, the taker is gone as well, but the subshell
// was there before it.
func (h *host) leftBehind(l *lock) bool {
	if l.heldBy(l.row.PID) {
		return false
	}
	oldest := h.process(h.keeper(l)).stat.StartTicks
	if taker := h.process(l.row.PID); taker.alive && taker.stat.StartTicks <= oldest {
		return false // it is alive, and has passed the descriptor on
	}
	return !slices.ContainsFunc(l.pids(), func(pid int) bool { return pid < l.row.PID || !h.adopted(pid) })
}

// adopted says whether a process' parent is not the one that started it, but a
// reaper: it is in another session than its parent without having made it.
func (h *host) adopted(pid int) bool {
	st := h.process(pid).stat
	parent := h.process(st.PPID).stat
	return st.PPID <= 1 || st.SID != pid && parent.SID != st.SID || parent.Comm == "systemd"
}

// orphaned are locks that nobody visible holds although everybody is visible (SH014).
func (h *host) orphaned() []Finding {
	var all []Finding
	for _, l := range h.locks {
		if len(l.holders) > 0 || l.lease() || h.blind() {
			continue
		}
		f := Finding{
			ID: "SH014", Severity: Notice, Confidence: Likely, Path: l.path, Waiters: h.awaiting(l),
			Title:    "lock that no process has a descriptor of",
			Evidence: []string{line("%s: %s lock in the kernel's list, but in no process' descriptors", l.at(), l.row.Type)},
			Advice:   "it belongs to the kernel itself (an NFS or SMB server), or its descriptor is under way between two processes: look again",
		}
		if l.row.PID > 0 {
			state := "gone"
			if h.process(l.row.PID).alive {
				state = "alive, without the descriptor"
			}
			f.Evidence = append(f.Evidence, line("it was taken by pid %d, which is %s", l.row.PID, state))
		}
		all = append(all, f)
	}
	return all
}

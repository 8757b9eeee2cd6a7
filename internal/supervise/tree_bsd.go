//go:build darwin || dragonfly || freebsd || netbsd || openbsd || (linux && solehold_portable)

package supervise

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/solehold/solehold"
)

// tree is every process of the command that can be proven to be one: its group,
// and what runs below it. A process that has left the group and whose parent has
// ended is known only if it was seen before, on a system that tells when it started.
type tree struct {
	group    int           // 0 before the first start
	known    map[int]birth // seen in the tree, by number
	orphaned bool          // the command itself has ended
	wake     func()        // has the loop look again
}

func (t *tree) begin(group int) { t.group, t.known, t.orphaned = group, map[int]birth{}, false }

// empty reports whether nothing that is known is left. Nobody tells of the end of
// a process that is no child: it is looked for, while that is waited for.
func (t *tree) empty() bool {
	left := !t.orphaned || t.group != 0 && syscall.Kill(-t.group, 0) != syscall.ESRCH && len(t.members()) > 0
	for _, b := range t.known {
		left = left || alive(b)
	}
	if left && t.orphaned {
		time.AfterFunc(sweepAgain, t.wake)
	}
	return !left
}

// members lists the living processes, and remembers them.
func (t *tree) members() []row {
	all := table()
	in := map[int]bool{}
	for _, r := range all {
		b, seen := t.known[r.pid]
		in[r.pid] = r.pgid == t.group || seen && alive(b)
	}
	for grown := true; grown; {
		grown = false
		for _, r := range all {
			if !in[r.pid] && in[r.ppid] {
				in[r.pid], grown = true, true
			}
		}
	}
	var found []row
	for _, r := range all {
		if !in[r.pid] || r.ended() {
			continue
		}
		found = append(found, r)
		if b, err := birthOf(r.pid); err == nil {
			t.known[r.pid] = b
		}
	}
	return found
}

// pids lists the living processes by their numbers.
func (t *tree) pids() (pids []int) {
	for _, m := range t.members() {
		pids = append(pids, m.pid)
	}
	return pids
}

// names lists the members for people, a few of them.
func (t *tree) names() string {
	return fewOf(t.members(), func(m row) string {
		return fmt.Sprintf("pid %d (%s)", m.pid, solehold.CommandLine(strings.Fields(m.command)))
	})
}

// signal reaches the group at once, then those that have left it.
func (t *tree) signal(sig syscall.Signal) {
	members := t.members()
	if slices.ContainsFunc(members, func(m row) bool { return m.pgid == t.group }) {
		syscall.Kill(-t.group, sig)
	}
	for _, m := range members {
		if b, ok := t.known[m.pid]; ok && m.pgid != t.group && (b.start == 0 || alive(b)) {
			syscall.Kill(m.pid, sig)
		}
	}
}

// ask asks all to end. SIGCONT follows, since a stopped process would not hear it.
func (t *tree) ask() {
	t.signal(syscall.SIGTERM)
	t.signal(syscall.SIGCONT)
}

// kill ends every member. They are stopped first, so that none can fork away while
// the others are killed.
func (t *tree) kill() {
	const rounds = 20
	before := -1
	for range rounds {
		now := len(t.members())
		if now == before || now == 0 {
			break
		}
		before = now
		t.signal(syscall.SIGSTOP)
	}
	t.signal(syscall.SIGKILL)
}

package lab

import "time"

func kill9() Experiment {
	const (
		before = "a second start before the kill"
		state  = "the killed process"
		asked  = "kill -0 of its pid says"
		after  = "who waits for the lock"
		took   = "time from SIGKILL to the next owner"
		posix  = "the same with a POSIX lock"
	)
	return Experiment{
		Name:     "kill9",
		Title:    "flock stays after SIGKILL",
		Believed: "A process that is killed with -9 cannot clean up, so its flock stays and must be removed by hand; a POSIX lock stays until the pid is used again.",
		Happens: "The kernel closes the descriptors of a dead process, and the lock goes with the last of them, also of a POSIX lock, whoever has the pid. " +
			"A zombie holds nothing any more, although kill -0 calls it alive. A lock that stays is held by somebody else: see `inherited`.",
		Advice: "No clean-up after a crash, and no removal. Do not ask a pid whether a lock is held: ask the lock.",
		Facts:  []Fact{{before, refused}, {state, "zombie"}, {asked, "alive"}, {after, gets}, {took, ""}, {posix, gets}},
		run: func(b *bench) {
			holder, other, second, waiter := b.actor(), b.actor(), b.actor(), b.actor()
			lock, record := b.path("lock"), b.path("record")
			holder.must("hold", lock)
			other.must("open", "f", record)
			other.must("posix", "f")
			b.try(before, second, "hold", lock)
			waiter.must("open", "f", lock)
			waiter.must("open", "p", record)
			wait := "flock"
			b.decisive(func() { wait = "flock-wait" })
			waiter.tell(wait, "f")
			begin := time.Now()
			b.decisive(holder.kill)
			b.tryHeard(after, waiter, wait)
			b.see(took, micros(time.Since(begin)))
			b.decisive(other.kill)
			b.see(state, procState(holder.pid))
			b.see(asked, existsByKill(holder.pid))
			b.try(posix, waiter, "posix", "p")
		},
	}
}

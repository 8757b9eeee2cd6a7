package lab

func childUnlock() Experiment {
	const (
		closed   = "a second start after the child has closed its descriptor"
		unlocked = "a second start after the child has unlocked it"
		count    = "owners at once"
		ended    = "a second start after the owner has closed its own, the child alive"
	)
	return Experiment{
		Name:     "child-unlock",
		Title:    "an unlock in a child unlocks for its parent",
		Believed: "Parent and child have descriptors of their own: what a child closes or unlocks is its own, and the parent's close releases the lock.",
		Happens: "They share one open file. A close by either changes nothing until the last one is closed. But LOCK_UN by either releases for both: " +
			"the owner goes on, without a lock and without being told.",
		Advice: "A child closes what it inherited and never unlocks it, also not in its clean-up at exit. An owner that wants to be told asks the kernel now and " +
			"then whether the lock is still there, through another open file; solehold's guard does.",
		Facts: []Fact{{closed, refused}, {unlocked, gets}, {count, "2"}, {ended, refused}},
		run: func(b *bench) {
			owner, second, parent := b.actor(), b.actor(), b.actor()
			lock, other := b.path("lock"), b.path("other")
			owner.must("open", "f", lock, "leaky")
			owner.must("flock", "f")
			owner.must("child", "close", "f")
			b.try(closed, second, "hold", lock)
			b.decisive(func() { owner.must("child", "unlock", "f") })
			b.see(count, 1+got(b.try(unlocked, second, "hold", lock)))

			parent.must("open", "f", other, "leaky")
			parent.must("flock", "f")
			parent.must("child", "keep")
			parent.must("close", "f")
			b.try(ended, second, "hold", other)
		},
	}
}

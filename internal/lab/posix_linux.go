package lab

func posixClose() Experiment {
	const (
		before = "a second process before the close"
		after  = "a second process after the close"
		count  = "owners at once"
		ofd    = "the same with an OFD lock"
		flock  = "the same with flock"
	)
	return Experiment{
		Name:     "posix-close",
		Title:    "closing another descriptor of the file drops a POSIX lock",
		Believed: "A POSIX lock (fcntl F_SETLK, lockf, and what most databases use) lasts until it is unlocked or the process ends.",
		Happens: "It ends when the process closes any descriptor of that file: a backup that reads it, a library that looks at its size, a second open of " +
			"the same database. The process is not told.",
		Advice: "Use OFD locks (F_OFD_SETLK) or flock: they belong to the open file, and closing another descriptor leaves them. Where a database uses POSIX " +
			"locks, never open its files beside it in the same process.",
		Facts: []Fact{{before, refused}, {after, gets}, {count, "2"}, {ofd, refused}, {flock, refused}},
		run: func(b *bench) {
			owner, second := b.actor(), b.actor()
			for _, how := range []string{"posix", "ofd", "flock"} {
				path := b.path(how)
				owner.must("open", how, path)
				owner.must(how, how)
				second.must("open", how, path)
			}
			b.try(before, second, "posix", "posix")
			for _, how := range []string{"posix", "ofd", "flock"} {
				b.decisive(func() {
					owner.must("open", "look", b.path(how), "ro")
					owner.must("close", "look")
				})
			}
			b.see(count, 1+got(b.try(after, second, "posix", "posix")))
			b.try(ofd, second, "ofd", "ofd")
			b.try(flock, second, "flock", "flock")
		},
	}
}

package lab

func levelLocks() Experiment {
	const (
		other = "a second process opens the same LevelDB"
		again = "a second open in the same process"
		after = "the second process after that second open"
		death = "the second process after the first was killed"
	)
	return Experiment{
		Name:     "leveldb",
		Title:    "LevelDB has no lock",
		Believed: "LevelDB does not lock its directory, so two processes can open it, and a lock file of one's own beside it is needed.",
		Happens: "Every LevelDB locks its file LOCK (here the Go implementation). The dangers are elsewhere: other mounts (see `two-mounts`), and implementations " +
			"with POSIX locks whose second open in one process drops the lock of the first (see `posix-close`).",
		Advice: "Open a database once in a process. Let its own lock refuse a second process, or take a lock on the data directory before, which can say who has it.",
		Facts:  []Fact{{other, refused}, {again, refused}, {after, refused}, {death, gets}},
		run: func(b *bench) {
			first, second, dir := b.actor(), b.actor(), b.newDir("data")
			first.must("db-open", "one", "LevelDB", dir)
			b.try(other, second, "db-open", "one", "LevelDB", dir)
			b.try(again, first, "db-open", "two", "LevelDB", dir)
			b.try(after, second, "db-open", "one", "LevelDB", dir)
			b.decisive(first.kill)
			b.try(death, second, "db-open", "one", "LevelDB", dir)
		},
	}
}

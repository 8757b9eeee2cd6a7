package lab

func removeAll() Experiment {
	const (
		cleaned  = "a start after another service's RemoveAll"
		first    = "owners at once"
		deferred = "a start after the first owner's deferred Remove"
		second   = "owners at once then, and none of them the first"
		ours     = "a start under solehold after its state was removed"
	)
	return Experiment{
		Name:     "removeall",
		Title:    "RemoveAll against a deferred Remove",
		Believed: "Every service cleans its own directory with RemoveAll, and removes its lock file with defer at its end. The names are its own.",
		Happens: "One service's clean-up takes the lock file of another that runs in the same place, and the next start makes a new one: two owners. " +
			"Then the deferred Remove of the first one runs. It removes a name, not its file: it takes the lock file of the second owner, and a third comes in.",
		Advice: "Give each service and instance a data directory of its own (`solehold root new`). Remove what is below an open directory (os.Root) that one holds, " +
			"never a shared path. Never remove lock files.",
		Facts: []Fact{{cleaned, gets}, {first, "2"}, {deferred, gets}, {second, "2"}, {ours, refused}},
		run: func(b *bench) {
			a, cleaner, c, d := b.actor(), b.actor(), b.actor(), b.actor()
			dir, data := b.newDir("shared"), b.newDir("data")
			lock := b.path("shared", "kb.lock")
			a.must("hold", lock)
			b.decisive(func() { cleaner.must("removeall", dir) })
			b.newDir("shared")
			next := b.try(cleaned, c, "hold", lock)
			b.see(first, 1+got(next))
			b.decisive(func() { a.must("remove", lock) }) // defer os.Remove(lock)
			a.must("close", lock)
			b.see(second, got(next)+got(b.try(deferred, d, "hold", lock)))

			a.must("acquire", data)
			cleaner.must("removeall", b.path("data", ".solehold"))
			b.try(ours, c, "acquire", data)
		},
	}
}

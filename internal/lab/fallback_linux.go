package lab

import "os"

func localFallback() Experiment {
	const (
		asked   = "the second host asks the engine"
		cut     = "the second host, cut off, falls back to a lock on its own disk"
		count   = "hosts that believe to own the shared data"
		healed  = "the second host asks the engine again, the way mended"
		without = "the second host, cut off, without a fallback"
	)
	return Experiment{
		Name:     "fallback",
		Title:    "fall back to a local lock when the engine cannot be reached",
		Believed: "When etcd, Redis or another engine cannot be reached, degrade: use local locks and file events until it is back.",
		Happens: "Only this host cannot reach it. The other one goes on owning, and a lock on this host's own disk excludes nobody there. Both own, until the way is " +
			"mended and the data is already split.",
		Advice: "Degraded means: do not start, and stop in time when a lease can no longer be renewed. What may run on without the engine needs a claim that nobody else " +
			"may take, chosen before, not a lock of a smaller scope.",
		Facts: []Fact{{asked, refused}, {cut, gets}, {count, "2"}, {healed, refused}, {without, "does not start"}},
		needs: []need{needRedis()},
		run: func(b *bench) {
			sock := b.engineServer()
			first, second := b.actor(), b.actor()
			way, own := b.path("way"), b.newDir("second host")
			const long = "600000"
			b.do(func() error { return os.Symlink(sock, way) })
			first.must("lease-take", sock, "kb", "first", long)
			b.try(asked, second, "lease-take", way, "kb", "second", long)
			b.decisive(func() { b.do(func() error { return os.Remove(way) }) })
			b.see(count, 1+got(b.orElse(cut, second, way, own)))
			b.see(without, b.orNothing(second, way))
			b.decisive(func() { b.do(func() error { return os.Symlink(sock, way) }) })
			b.try(healed, second, "lease-take", way, "kb", "second", long)
		},
	}
}

// engineSays asks the engine; nothing when it cannot be reached.
func (b *bench) engineSays(a *actor, way string) (how string) {
	b.do(func() error {
		_, err := a.send([]string{"lease-take", way, "kb", "second", "600000"})
		how, _ = word(err) // another error is an engine that cannot be reached
		return nil
	})
	return how
}

// orElse asks the engine, and takes a local lock if it does not answer.
func (b *bench) orElse(what string, a *actor, way, own string) (how string) {
	if how = b.engineSays(a, way); how == "" {
		how = b.attempt(a, "hold", own+"/lock")
	}
	b.see(what, how)
	return how
}

// orNothing asks the engine, and does not start if it does not answer.
func (b *bench) orNothing(a *actor, way string) (how string) {
	if how = b.engineSays(a, way); how == "" {
		return "does not start"
	}
	return how
}

package lab

func mutexFinalizer() Experiment {
	const (
		after = "the mutex, its goroutine ended, after three collections"
		fixed = "the same where the goroutine unlocks with defer"
	)
	return Experiment{
		Name:     "mutex",
		Title:    "a finalizer unlocks a sync.Mutex",
		Believed: "Since Go 1.22 a sync.Mutex whose goroutine has ended is cleaned up by a finalizer.",
		Happens: "There is no such thing: a mutex has no owner, no finalizer, and nobody knows which goroutine locked it. It stays locked, and everybody waits. " +
			"It also cannot be left over from another run: it lives in the memory of its process and is gone with it.",
		Advice: "Unlock with defer, directly after Lock. Between processes use a lock of the kernel, which does end with its process.",
		Facts:  []Fact{{after, "locked"}, {fixed, "free"}},
		run: func(b *bench) {
			a := b.actor()
			how := "unlock"
			b.decisive(func() { how = "leave" })
			b.see(after, a.must("mutex", how))
			b.see(fixed, a.must("mutex", "unlock"))
		},
	}
}

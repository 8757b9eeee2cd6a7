package lab

func garbage() Experiment {
	const (
		fd    = "the descriptor of the forgotten file"
		after = "a second start after a garbage collection"
		count = "owners at once"
		kept  = "a second start where the file is kept"
		ours  = "a second start where a solehold.Lock is forgotten"
	)
	return Experiment{
		Name:     "garbage",
		Title:    "a lock that the garbage collector releases",
		Believed: "The lock was taken in a function that has returned without an error, and nobody has closed the file.",
		Happens: "Nobody refers to the os.File any more. Go closes the descriptor of such a file at some collection, minutes or days later, and the kernel frees the lock. " +
			"Python and other languages do the same, only sooner.",
		Advice: "Keep the file in something that lives as long as the lock, and end its life with defer. A solehold.Lock that is dropped stays held until the process ends.",
		Facts:  []Fact{{fd, "closed"}, {after, gets}, {count, "2"}, {kept, refused}, {ours, refused}},
		run: func(b *bench) {
			owner, careful, second := b.actor(), b.actor(), b.actor()
			lock, other, dir := b.path("lock"), b.path("other"), b.newDir("data")
			how := "keep"
			b.decisive(func() { how = "drop" })
			owner.must("take-file", lock, how)
			owner.must("acquire", dir)
			owner.must("drop-lock", dir)
			b.see(fd, owner.must("collect", lock))
			b.see(count, 1+got(b.try(after, second, "hold", lock)))
			careful.must("take-file", other, "keep")
			careful.must("collect", other)
			b.try(kept, second, "hold", other)
			b.try(ours, second, "acquire", dir)
		},
	}
}

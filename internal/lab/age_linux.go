package lab

import (
	"os"
	"time"
)

func age() Experiment {
	const (
		before = "a second start before the removal"
		after  = "a second start after the removal"
		count  = "owners at once"
		guard  = "the same under solehold, its lock file removed"
	)
	return Experiment{
		Name:     "age",
		Title:    "a lock file older than five minutes is stale",
		Believed: "A lock file that is older than five minutes was left behind. Remove it and start.",
		Happens: "Age proves nothing: the holder may just be busy. The lock is on the file and not on its name. So the holder keeps a lock " +
			"that nobody can meet any more, and who comes next makes a new file and locks that one. Both own.",
		Advice: "Never remove a lock file, held or not. Ask the kernel: a lock that can be taken was free. Where others may remove files all the " +
			"same, hold a second lock that has no name of its own to remove: solehold's mark on the data directory.",
		Facts: []Fact{{before, refused}, {after, gets}, {count, "2"}, {guard, refused}},
		run: func(b *bench) {
			holder, second, owner, starter := b.actor(), b.actor(), b.actor(), b.actor()
			dir, lock := b.newDir("data"), b.path("lock")
			holder.must("hold", lock)
			b.try(before, second, "hold", lock)
			b.removeIfOld(lock)
			b.see(count, 1+got(b.try(after, second, "hold", lock)))

			owner.must("acquire", dir)
			b.removeIfOld(b.path("data", ".solehold", "lock"))
			b.try(guard, starter, "acquire", dir)
		},
	}
}

// removeIfOld makes a file six minutes old and does what is said of such files.
func (b *bench) removeIfOld(path string) {
	b.do(func() error {
		old := time.Now().Add(-6 * time.Minute)
		return os.Chtimes(path, old, old)
	})
	b.decisive(func() {
		b.do(func() error {
			if st, err := os.Stat(path); err != nil || time.Since(st.ModTime()) < 5*time.Minute {
				return err
			}
			return os.Remove(path)
		})
	})
}

package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

func exclRename() Experiment {
	const (
		renames   = "8 starters rename: believe to own"
		links     = "8 starters link: believe to own"
		noreplace = "8 starters rename without replacing: believe to own"
	)
	return Experiment{
		Name:     "rename",
		Title:    "O_EXCL and a rename onto the lock path make a lock",
		Believed: "Make a file of one's own with O_EXCL, look that there is no lock, then rename it onto the lock's path: rename is atomic, so one wins.",
		Happens: "O_EXCL was asked of the other name, and rename(2) replaces what is there. Everybody who looked before the first rename succeeds, and " +
			"each one's file is the lock until the next one comes.",
		Advice: "link(2), or renameat2(2) with RENAME_NOREPLACE, fails where the name is taken: one wins. But a file that is a lock by being there " +
			"stays after a crash. A kernel lock on a file that stays does not.",
		Facts: []Fact{{renames, "8 of 8"}, {links, "1 of 8"}, {noreplace, "1 of 8"}},
		run: func(b *bench) {
			all := make([]*actor, 8)
			for i := range all {
				all[i] = b.actor()
			}
			decisive := "noreplace"
			b.decisive(func() { decisive = "rename" })
			b.race(renames, decisive, all)
			b.race(links, "link", all)
			b.race(noreplace, "noreplace", all)
		},
	}
}

// race lets everybody make his file and look for the lock, and then publish his own.
func (b *bench) race(what, how string, all []*actor) {
	lock := b.path("lock of " + what)
	for i, a := range all {
		a.must("open", "own", fmt.Sprint(lock, i), "excl")
	}
	b.do(func() error {
		if _, err := os.Lstat(lock); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is there already: %w", lock, err)
		}
		return nil
	})
	won := 0
	for i, a := range all {
		won += got(b.attempt(a, how, fmt.Sprint(lock, i), lock))
	}
	b.see(what, fmt.Sprintf("%d of %d", won, len(all)))
}

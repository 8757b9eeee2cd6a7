package lab

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

func twoMounts() Experiment {
	const (
		together = "20 keys written to one bbolt file by two owners by turns"
		end      = "how that ended"
	)
	facts := []Fact{}
	kinds := []string{"bbolt", "LevelDB", "SQLite"}
	onBind := func(kind string) string { return kind + ": a second process through a bind mount" }
	onOverlay := func(kind string) string { return kind + ": a second process through another file system's mount" }
	for _, kind := range kinds {
		facts = append(facts, Fact{onBind(kind), refused}, Fact{onOverlay(kind), gets})
	}
	return Experiment{
		Name:     "two-mounts",
		Title:    "one database directory over two mounts",
		Believed: "The database locks its files, so two containers that mount one directory cannot both open it.",
		Happens: "A lock belongs to an inode of one mounted file system. A bind mount shows the same inode: the second is refused. An overlay, a second NFS client, " +
			"a FUSE or VirtioFS share shows another inode of the same data: the lock is not seen, both open the database, and both write.",
		Advice: "One mount of the data for all who may start, and a bind mount for containers. `solehold run` names a file system whose locks may not reach everybody, " +
			"and refuses it with --strict. Over several machines or mounts let an engine decide (package cluster).",
		Facts: append(facts, Fact{together, "lost or damaged"}, Fact{end, ""}),
		needs: []need{needNamespaces(apartMounts)},
		apart: apartMounts,
		run: func(b *bench) {
			disk := b.newDir("disk")
			b.mount("tmpfs", disk, "size=64m")
			first, second := b.actor(), b.actor()
			for _, d := range []string{"lower", "work", "overlay", "bind"} {
				b.newDir("disk", d)
			}
			data, bind, overlay := b.newDir("disk", "data"), b.path("disk", "bind"), b.path("disk", "overlay")
			for _, kind := range kinds {
				first.must("db-open", kind, kind, data)
				first.must("db-close", kind)
			}
			b.bind(data, bind)
			other := bind
			b.decisive(func() {
				other = overlay
				b.mount("overlay", overlay, fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", b.path("disk", "lower"), data, b.path("disk", "work")))
			})
			for _, kind := range kinds {
				first.must("db-open", kind, kind, data)
				b.try(onBind(kind), second, "db-open", kind, kind, bind)
				b.try(onOverlay(kind), second, "db-open", kind, kind, other)
			}
			b.decisive(func() {
				how := b.byTurns(first, second, data)
				b.see(end, how)
				if how != "20 keys are there" {
					how = "lost or damaged"
				}
				b.see(together, how)
			})
		},
	}
}

// bind shows a directory at a second place.
func (b *bench) bind(from, to string) {
	b.do(func() error {
		if err := unix.Mount(from, to, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("bind %s: %w", to, err)
		}
		b.mounts = append(b.mounts, to)
		return nil
	})
}

// byTurns lets two owners write, and a third one look what is left. Any of them may die of what it finds.
func (b *bench) byTurns(first, second *actor, data string) (how string) {
	b.do(func() error {
		for i := range 20 {
			who, name := first, "first"
			if i%2 == 1 {
				who, name = second, "second"
			}
			if _, err := who.send([]string{"db-put", "bbolt", fmt.Sprint(name, i)}); err != nil {
				how = fmt.Sprintf("the %s owner failed at key %d: %s", name, i+1, causeOf(err))
				return nil
			}
		}
		return nil
	})
	if how != "" {
		return how
	}
	first.kill()
	second.kill()
	heir := b.actor()
	heir.must("db-open", "bbolt", "bbolt", data)
	return heir.must("db-keys", "bbolt") + " keys are there"
}

// causeOf says in short why an order has failed.
func causeOf(err error) string {
	var failed *orderError
	if errors.As(err, &failed) {
		return failed.answer.Error
	}
	return "its process ended with a panic"
}

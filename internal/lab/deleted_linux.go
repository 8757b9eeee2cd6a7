package lab

import (
	"fmt"
	"syscall"
)

func deletedSpace() Experiment {
	const (
		there    = "a file of 32 MiB: space in use"
		removed  = "removed while a process has it open: names left"
		open     = "space in use after the removal"
		mapped   = "after its descriptor was closed, the mapping still there"
		unmapped = "after the mapping is gone, too"
	)
	return Experiment{
		Name:     "deleted",
		Title:    "removed files that keep the disk full",
		Believed: "rm frees the space. If it does not, closing the descriptor will; munmap does not drop the reference to the file.",
		Happens: "rm removes a name. The space is freed when names, descriptors and mappings are all gone, in any order, and munmap does drop what the mapping had. " +
			"So df shows a full disk, du and ls show nothing.",
		Advice: "Look for the process: `lsof +L1`, or `ls -l /proc/*/fd /proc/*/map_files | grep deleted`. Let it reopen its files or end; truncating through " +
			"/proc/PID/fd/N frees the space of a log at once. Rotate logs by rename and a signal, not by rm.",
		Facts: []Fact{{there, "32 MiB"}, {removed, "0"}, {open, "32 MiB"}, {mapped, "32 MiB"}, {unmapped, "0 MiB"}},
		needs: []need{needNamespaces(apartMounts)},
		apart: apartMounts,
		run: func(b *bench) {
			a, dir := b.actor(), b.newDir("disk")
			b.mount("tmpfs", dir, "size=64m")
			before := b.used(dir)
			see := func(what string) { b.see(what, fmt.Sprintf("%d MiB", (b.used(dir)-before)>>20)) }
			// The process was there before the mount, and sees it: it has the same namespace.
			a.must("open", "f", b.path("disk", "log"))
			a.must("fill", "f", "32")
			a.must("map", "f")
			see(there)
			b.decisive(func() { a.must("remove", b.path("disk", "log")) })
			b.see(removed, b.names(dir))
			see(open)
			a.must("close", "f")
			see(mapped)
			a.must("unmap", "f")
			see(unmapped)
		},
	}
}

// used gives the bytes in use of a file system.
func (b *bench) used(dir string) (n int64) {
	b.do(func() error {
		var st syscall.Statfs_t
		err := syscall.Statfs(dir, &st)
		n = int64(st.Blocks-st.Bfree) * int64(st.Bsize)
		return err
	})
	return n
}

// Package dataroot gives a service a data directory of its own: one for each
// service and instance, in the place that the platform means for it, locked, and
// closed to every path that leads out of it.
//
//	base, err := dataroot.Base(dataroot.State)
//	root, err := dataroot.Open(ctx, base, "kb", &dataroot.Options{Instance: "blue"})
//	defer root.Close()
//	err = root.WriteFile("index/state.json", data) // all of it or nothing, also over a crash
//
// # What holds
//
//   - Two services, or two instances of one, never share a root: the directory's
//     name is a function of service and instance alone, and whoever opens a root
//     that is open gets a *solehold.HeldError with its owner.
//   - Nothing given to a [Root] or a [Space] leaves it: no path, symlink or rename.
//   - A file written by WriteFile has its old or its new content after a crash.
//   - A root remembers on which disk it was born. Where its place lies on another
//     one, as when the disk is not mounted, it is not born again: [PinnedError].
//   - [GC] removes only roots that were made to be removed (Ephemeral), while it
//     holds their lock: so their owner is gone, and nobody comes in meanwhile.
//
// # What is not promised
//
// Confinement is against mistakes and hostile names, not against a process that
// runs as the same user. Quotas are reported, the disk enforces none. Locks, and
// so Open, work where package solehold does.
package dataroot

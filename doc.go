// Package solehold gives a data directory one live owner, and proof of who it is.
//
// A program that must be alone with its data asks first thing:
//
//	lock := solehold.OnlyOrExit("/srv/kb/data")
//	defer lock.Release()
//
// or, with its own handling, calls [Acquire]. A second starter learns at once
// who the owner is. When the owner ends, however it ends, the kernel frees the
// lock and the next one starts, without any clean-up.
//
// # What holds
//
//   - Exclusion: between a nil error of Acquire and Release, the death of the
//     holder or the loss told by [Lock.Context], nobody else holds the same
//     directory: whatever path, user, process, container or mount leads to the
//     directory's device and inode on this host.
//   - Crash release: the kernel frees the lock when the last process that shares
//     its descriptors is gone. There are no time-outs and no clean-up.
//   - No takeover by opinion: a record, a pid file, an age or a clock never
//     grants, breaks or extends a lock.
//   - Rising tokens: [Lock.Token] is higher than that of every earlier
//     acquisition, also after crashes and power loss.
//   - Bounded answers: taking, asking, writing down and giving back wait no
//     longer than [Options.Timeout] for a file system that hangs.
//   - Loss is told: a holder whose lock can no longer be proven finds its
//     context cancelled with a [*LostError].
//   - Named failures: [ErrHeld] means that somebody else holds the directory and
//     nothing else; every other failure is an [*OpError] with path and errno.
//
// # What is not promised
//
// Programs that do not ask are not kept out. File systems whose locks are not
// real cannot be made safe: they are classified, and refused with
// [Options.Strict]. Other hosts are not excluded. Removing the whole state
// directory while nobody holds it lets tokens start again at 1.
//
// Linux only for now: elsewhere Acquire and Inspect return an error for which
// errors.Is(err, errors.ErrUnsupported) is true.
package solehold

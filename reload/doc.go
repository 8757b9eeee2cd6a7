// Package reload watches a configuration file and hands out its content when that
// has changed, is whole and is right.
//
//	err := reload.Watch(ctx, "/etc/kb/kb.json", reload.Options{Check: valid}, func(v reload.Version) {
//		apply(v.Data) // the bytes that were checked, not a path to read again
//	})
//
// # What holds
//
//   - Each version is handed out once. A touch, a rewrite of the same content or a
//     second name for the same file is none.
//   - Nothing is read while somebody writes: on Linux a read lease shows that
//     nobody has the file open for writing, and keeps writers out for as long as
//     the bytes are read; a writer that holds flock(2) or a record lock on the file
//     is waited for everywhere on Unix. Where a lease cannot be had (another user's file, a
//     network file system) a file counts as written when it has not changed for
//     [Options.Quiet]. Where writers have a lock file ([Options.LockFile]), nothing
//     is read while that is there.
//   - What Check refuses, or does not fit SumFile, is not handed out; the version
//     before stays. So is an empty file, unless that is allowed.
//   - The newest content arrives, whatever happened to the file: written in place,
//     truncated first, replaced by rename, by a symlink (as Kubernetes does with
//     ..data), deleted and made again. Events bring it within milliseconds; a
//     look every [Options.Interval] brings it where events are lost.
//
// # What is not promised
//
// That a writer is never held up: one that opens the file while its bytes are read
// waits for the read to end, and is told EWOULDBLOCK if it opened with O_NONBLOCK.
//
// Every version in between: of several in a row only the last may be seen. A writer
// that closes the file in the middle and goes on later is caught by Check or
// SumFile alone.
package reload

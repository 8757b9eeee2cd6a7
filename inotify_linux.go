package solehold

import (
	"encoding/binary"

	"github.com/solehold/solehold/internal/datadir"
	"golang.org/x/sys/unix"
)

// watchesOf returns the watch descriptors of a buffer of inotify events
// (inotify(7): wd, mask, cookie, length, then that many bytes of name). Of the
// files that were written to only the request to let go counts: every refused
// starter closes the lock and the history.
func watchesOf(events []byte) []int32 {
	var wds []int32
	for len(events) >= unix.SizeofInotifyEvent {
		size := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(events[12:]))
		if size > len(events) {
			break
		}
		name := unix.ByteSliceToString(events[unix.SizeofInotifyEvent:size])
		if mask := binary.NativeEndian.Uint32(events[4:]); mask&unix.IN_CLOSE_WRITE == 0 || name == datadir.ReleaseName {
			wds = append(wds, int32(binary.NativeEndian.Uint32(events)))
		}
		events = events[size:]
	}
	return wds
}

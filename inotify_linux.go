package solehold

import (
	"encoding/binary"
	"encoding/json"

	"golang.org/x/sys/unix"
)

// watchesOf returns the watch descriptors of a buffer of inotify events
// (inotify(7): wd, mask, cookie, length, then that many bytes of name).
func watchesOf(events []byte) []int32 {
	var wds []int32
	for len(events) >= unix.SizeofInotifyEvent {
		wds = append(wds, int32(binary.NativeEndian.Uint32(events)))
		size := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(events[12:]))
		if size > len(events) {
			break
		}
		events = events[size:]
	}
	return wds
}

// request is the content of the file by which a holder is asked to let go.
type request struct {
	// Token is that of the holder who is meant, so that an old request never
	// reaches a later one.
	Token uint64 `json:"token"`
}

func requestFor(text []byte, token uint64) bool {
	var r request
	return json.Unmarshal(text, &r) == nil && r.Token == token
}

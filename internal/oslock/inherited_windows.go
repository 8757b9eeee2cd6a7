package oslock

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

const (
	// objects is where the system keeps what is named in Global\.
	objects = `\BaseNamedObjects\`
	// mostHandles bounds the handles that are looked at. They count in fours, from the
	// lowest, and what a new process is given is low.
	mostHandles = 1 << 12
)

// inherited looks through the handles of this process. Nobody can open the anchor to
// compare it, but who has a handle may ask it for its name.
func inherited(_ uintptr, name string) (Anchor, bool) {
	query := windows.NewLazySystemDLL("ntdll.dll").NewProc("NtQueryObject")
	for h := uintptr(4); h < 4*mostHandles; h += 4 {
		// A name is asked of events alone: the question can block on a pipe.
		if object(query, h, typeOf) == "Event" && object(query, h, nameOf) == objects+name {
			return Anchor{fd: h, placed: true}, true
		}
	}
	return Anchor{}, false
}

// The classes of information of NtQueryObject.
const (
	nameOf = 1 // ObjectNameInformation
	typeOf = 2 // ObjectTypeInformation
)

// object answers a question whose answer begins with a text; "" is no answer.
func object(query *windows.LazyProc, h uintptr, class uintptr) string {
	var answer [256]uintptr // the text lies behind what points at it
	status, _, _ := query.Call(h, class, uintptr(unsafe.Pointer(&answer[0])), unsafe.Sizeof(answer), 0)
	if status != 0 {
		return ""
	}
	return (*windows.NTUnicodeString)(unsafe.Pointer(&answer[0])).String()
}

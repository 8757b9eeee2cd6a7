package oslock

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// Turn is a place in the queue for a lock.
type Turn struct {
	file, event windows.Handle
	waits       *windows.Overlapped // not in Go's memory: the kernel writes to it later
}

// NewTurn asks for a shared lock on the byte b of the file at path and does not
// wait for it: Event is set when nobody has the byte any more. Wine sets it never.
func NewTurn(path string, b Byte) (*Turn, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	const flags = windows.FILE_FLAG_OVERLAPPED | windows.FILE_FLAG_OPEN_REPARSE_POINT
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	t := &Turn{}
	if t.file, err = windows.CreateFile(name, windows.GENERIC_READ, share, nil, windows.OPEN_EXISTING, flags, 0); err != nil {
		return nil, err
	}
	if t.event, err = windows.CreateEvent(nil, 1, 0, nil); err != nil {
		windows.CloseHandle(t.file)
		return nil, err
	}
	memory, err := windows.LocalAlloc(windows.LPTR, uint32(unsafe.Sizeof(windows.Overlapped{})))
	if err != nil {
		t.Close()
		return nil, err
	}
	t.waits = *(**windows.Overlapped)(unsafe.Pointer(&memory)) // it is not Go's, so a number may become a pointer
	*t.waits = *at(b)
	t.waits.HEvent = t.event
	err = windows.LockFileEx(t.file, 0, 0, 1, 0, t.waits)
	if err == nil {
		err = windows.SetEvent(t.event) // granted at once
	}
	if err != nil && err != windows.ERROR_IO_PENDING {
		t.Close()
		return nil, err
	}
	return t, nil
}

// Event is the handle that is set when the lock is had.
func (t *Turn) Event() uintptr { return uintptr(t.event) }

// Close gives the place, and the lock, back.
func (t *Turn) Close() {
	free := true
	if t.waits != nil && windows.CancelIoEx(t.file, t.waits) == nil {
		const long = 1000 // milliseconds; an ended wait is told at once
		event, err := windows.WaitForSingleObject(t.event, long)
		free = err == nil && event == windows.WAIT_OBJECT_0 // or the kernel may write there yet
	}
	windows.CloseHandle(t.file)
	windows.CloseHandle(t.event)
	if t.waits != nil && free {
		windows.LocalFree(windows.Handle(unsafe.Pointer(t.waits)))
	}
}

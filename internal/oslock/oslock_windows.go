package oslock

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// A lock belongs to the handle: the one that has it meets it, too, and a child
// that inherits the handle has no part in it.
func tryLock(fd uintptr, b Byte, exclusive bool) error {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if exclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(fd), flags, 0, 1, 0, at(b))
	if err == windows.ERROR_LOCK_VIOLATION {
		return ErrHeld
	}
	return err
}

func unlock(fd uintptr, b Byte) error {
	err := windows.UnlockFileEx(windows.Handle(fd), 0, 1, 0, at(b))
	if err == windows.ERROR_NOT_LOCKED {
		return nil
	}
	return err
}

// held takes a shared lock for a moment: Windows has no question. A starter that
// meets it sees no anchor, and tries again.
func held(fd uintptr, b Byte) (bool, error) {
	err := tryLock(fd, b, false)
	if err == ErrHeld {
		return true, nil
	}
	if err == nil {
		err = unlock(fd, b)
	}
	return false, err
}

func at(b Byte) *windows.Overlapped {
	return &windows.Overlapped{Offset: uint32(b), OffsetHigh: uint32(uint64(b) >> 32)}
}

// sealed lets nobody open the object, not even its maker: so a question can never
// keep it in being, and who must not ask gets the same answer as who may.
const sealed = "D:"

// tryAnchor makes an event whose name all sessions share. Its existence is the
// hold; that it may not be opened says that it exists, whoever made it.
func tryAnchor(_ uintptr, name string) (Anchor, error) {
	text, err := windows.UTF16PtrFromString(global + name)
	if err != nil {
		return Anchor{}, err
	}
	sd, err := windows.SecurityDescriptorFromString(sealed)
	if err != nil {
		return Anchor{}, err
	}
	attributes := windows.SecurityAttributes{SecurityDescriptor: sd}
	attributes.Length = uint32(unsafe.Sizeof(attributes))
	h, err := windows.CreateEvent(&attributes, 1, 0, text)
	switch err {
	case nil:
		return Anchor{fd: uintptr(h), placed: true}, nil
	case windows.ERROR_ALREADY_EXISTS:
		windows.CloseHandle(h)
		return Anchor{}, ErrHeld
	case windows.ERROR_ACCESS_DENIED, windows.ERROR_INVALID_HANDLE: // the latter is an object of another kind
		return Anchor{}, ErrHeld
	}
	return Anchor{}, err
}

// global is the name space of all sessions; Local\ would let a service and a
// desktop both win.
const global = `Global\`

func anchorHeld(_ uintptr, name string) (bool, error) {
	text, err := windows.UTF16PtrFromString(global + name)
	if err != nil {
		return false, err
	}
	h, err := windows.OpenEvent(windows.SYNCHRONIZE, false, text)
	switch err {
	case nil:
		return true, windows.CloseHandle(h)
	case windows.ERROR_ACCESS_DENIED, windows.ERROR_INVALID_HANDLE:
		return true, nil
	case windows.ERROR_FILE_NOT_FOUND:
		return false, nil
	}
	return false, err
}

func dropAnchor(fd uintptr, _ bool) { windows.CloseHandle(windows.Handle(fd)) }

// checkAnchor: nobody can take a handle's object away.
func checkAnchor(uintptr) error { return nil }

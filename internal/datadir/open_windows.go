package datadir

import (
	"encoding/binary"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// request says how a name is opened.
type request struct{ access, share, disposition, options uint32 }

const (
	// busyTries and busyPause bound how long a file is waited for that somebody
	// keeps for himself, as scanners of viruses do, or that is being removed.
	busyTries = 40
	busyPause = 5 * time.Millisecond
)

// openAt opens a name in an open directory and follows no link in its place. The
// handle is not inherited.
func openAt(dir windows.Handle, name string, r request) (windows.Handle, error) {
	text, err := windows.NewNTUnicodeString(name)
	if err != nil {
		return windows.InvalidHandle, err
	}
	attributes := windows.OBJECT_ATTRIBUTES{RootDirectory: dir, ObjectName: text, Attributes: windows.OBJ_CASE_INSENSITIVE}
	attributes.Length = uint32(unsafe.Sizeof(attributes))
	options := r.options | windows.FILE_OPEN_REPARSE_POINT | windows.FILE_SYNCHRONOUS_IO_NONALERT
	for i := 0; ; i++ {
		h := windows.InvalidHandle
		var status windows.IO_STATUS_BLOCK
		err := windows.NtCreateFile(&h, r.access|windows.SYNCHRONIZE, &attributes, &status, nil, windows.FILE_ATTRIBUTE_NORMAL, r.share, r.disposition, options, 0, 0)
		busy := err == windows.STATUS_SHARING_VIOLATION || err == windows.STATUS_DELETE_PENDING
		if !busy || i == busyTries {
			if err != nil {
				return windows.InvalidHandle, errnoOf(err)
			}
			return h, nil
		}
		time.Sleep(busyPause)
	}
}

// errnoOf turns what the kernel says into what everybody else says.
func errnoOf(err error) error {
	switch status, ok := err.(windows.NTStatus); {
	case err == nil:
		return nil
	case !ok:
		return err
	case status == windows.STATUS_NOT_A_DIRECTORY:
		return windows.ERROR_DIRECTORY
	default:
		return status.Errno()
	}
}

// rename moves a file within the directory. With over it takes the place of what
// has the name, also of what others have open.
func (s *State) rename(from, to string, over bool) error {
	h, err := openAt(s.h, from, request{access: windows.DELETE, share: shareAll, disposition: windows.FILE_OPEN})
	if err != nil {
		return err
	}
	defer closeHandle(h)
	flags := uint32(windows.FILE_RENAME_POSIX_SEMANTICS)
	if over {
		flags |= windows.FILE_RENAME_REPLACE_IF_EXISTS
	}
	err = s.setName(h, to, flags, fileRenameInformationEx)
	if err != nil && !isAnswer(err) { // a file system or a Windows without that
		err = s.setName(h, to, flags&windows.FILE_RENAME_REPLACE_IF_EXISTS, windows.FileRenameInformation)
	}
	return errnoOf(err)
}

// isAnswer tells what is an answer from what is not understood.
func isAnswer(err error) bool {
	return err == windows.STATUS_OBJECT_NAME_COLLISION || err == windows.STATUS_OBJECT_NAME_NOT_FOUND
}

// fileRenameInformationEx is FileRenameInformationEx of wdm.h, since Windows 10 1709.
const fileRenameInformationEx = 65

// setName is FILE_RENAME_INFORMATION of ntifs.h.
func (s *State) setName(h windows.Handle, to string, flags, class uint32) error {
	name, err := windows.UTF16FromString(to)
	if err != nil {
		return err
	}
	name = name[:len(name)-1]
	const root, length, text = unsafe.Sizeof(uintptr(0)), 2 * unsafe.Sizeof(uintptr(0)), 2*unsafe.Sizeof(uintptr(0)) + 4
	buf := make([]byte, int(text)+2*len(name)+8) // no shorter than the structure, which is padded
	binary.LittleEndian.PutUint32(buf, flags)
	*(*windows.Handle)(unsafe.Pointer(&buf[root])) = s.h
	binary.LittleEndian.PutUint32(buf[length:], uint32(2*len(name)))
	for i, c := range name {
		binary.LittleEndian.PutUint16(buf[int(text)+2*i:], c)
	}
	for i := 0; ; i++ {
		var status windows.IO_STATUS_BLOCK
		err := windows.NtSetInformationFile(h, &status, &buf[0], uint32(len(buf)), class)
		if busy := err == windows.STATUS_SHARING_VIOLATION || err == windows.STATUS_ACCESS_DENIED; !busy || i == busyTries {
			return err
		}
		time.Sleep(busyPause)
	}
}

// unlink removes a file, whose name is free at once where the file system can do that.
func (s *State) unlink(name string) error {
	h, err := openAt(s.h, name, request{access: windows.DELETE, share: shareAll, disposition: windows.FILE_OPEN, options: windows.FILE_NON_DIRECTORY_FILE})
	if err != nil {
		return err
	}
	defer closeHandle(h)
	var status windows.IO_STATUS_BLOCK
	how := uint32(windows.FILE_DISPOSITION_DELETE | windows.FILE_DISPOSITION_POSIX_SEMANTICS)
	err = windows.NtSetInformationFile(h, &status, (*byte)(unsafe.Pointer(&how)), 4, windows.FileDispositionInformationEx)
	if err != nil {
		yes := byte(1)
		err = windows.NtSetInformationFile(h, &status, &yes, 1, windows.FileDispositionInformation)
	}
	return errnoOf(err)
}

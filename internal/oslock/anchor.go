package oslock

// Anchor is the second hold of a directory on systems without marks: what keeps
// others out while the lock file is missing or out of reach. It is a lock on the
// state directory (flock), or a named object of the whole computer (Windows), whose
// existence is the hold: no thread owns it, and it is gone with its last handle.
type Anchor struct {
	fd     uintptr
	placed bool
}

// TryAnchor places the anchor of a directory: fd is that of its state directory,
// name is made of its identity. ErrHeld says that somebody else has it.
func TryAnchor(fd uintptr, name string) (Anchor, error) { return tryAnchor(fd, name) }

// AnchorHeld reports whether somebody has the anchor, which must not be this
// description itself.
func AnchorHeld(fd uintptr, name string) (bool, error) { return anchorHeld(fd, name) }

// Inherited finds the anchor that whoever started this process had and handed down:
// a descriptor of the same description as the one it was placed by, or a handle of
// the same object. It is not found where nobody did.
func Inherited(fd uintptr, name string) (a Anchor, found bool) { return inherited(fd, name) }

// FD returns the anchor's descriptor or handle. A child that inherits it keeps
// the directory.
func (a Anchor) FD() uintptr { return a.fd }

// Check proves the anchor, and takes it again where a process that shares the
// descriptor gave it up and nobody else has it. ErrHeld says that somebody has.
func (a Anchor) Check() error {
	if !a.placed {
		return ErrHeld
	}
	return checkAnchor(a.fd)
}

// Drop gives the anchor up. With shared it stays with a child that has it.
func (a *Anchor) Drop(shared bool) {
	if a.placed {
		dropAnchor(a.fd, shared)
	}
	*a = Anchor{}
}

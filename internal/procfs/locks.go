package procfs

import (
	"math"
	"strings"
)

// Lock is one row of /proc/locks, or of the "lock:" lines in fdinfo. See proc_locks(5).
type Lock struct {
	// ID is the row's number. Waiters have that of the lock they wait for; it means nothing beyond one reading.
	ID int
	// Waiting says that the lock is asked for, not held (the "->" rows).
	Waiting bool
	// Depth is 0 for a held lock, 1 for one that waits for it, 2 for one that waits behind that one, and so on.
	Depth int
	// Type is FLOCK, POSIX, OFDLCK, LEASE, DELEG or ACCESS.
	Type string
	// Mode is ADVISORY for locks, MANDATORY for those of old kernels; ACTIVE, BREAKING or BREAKER for leases.
	Mode string
	// Advisory says that Mode is ADVISORY: only programs that ask for the lock are kept out.
	Advisory bool
	// Access is READ (shared), WRITE (exclusive) or UNLCK (a lease being given up).
	Access string
	// Write says that Access is WRITE.
	Write bool
	// PID is who took the lock, which is not who holds it: the process may have ended and left the descriptor to a child.
	// It is -1 for OFDLCK, and 0 for a process outside of the pid namespace. [FS.LockHolders] finds who holds it.
	PID int
	// Major is the device of the file's superblock, which may differ from what stat(2) tells (btrfs, overlayfs).
	Major uint32
	// Minor belongs to Major.
	Minor uint32
	// Inode is the file; 0 if the kernel had none to print.
	Inode uint64
	// Start is the first byte locked; 0 unless POSIX or OFDLCK.
	Start uint64
	// End is the last byte locked, [math.MaxUint64] for the end of the file however far it grows ("EOF").
	End uint64
}

// Locks reads /proc/locks, waiters behind the lock they wait for. Outside of the initial pid namespace the kernel leaves
// out each flock or POSIX lock, with its waiters, whose taker ended or is not in the namespace: in a container absence
// here proves nothing.
func (f FS) Locks() ([]Lock, error) {
	return load(f, "locks", listLimit, parseLocks)
}

// LockList reads the text of /proc/locks into buf's memory, where it fits. For somebody who reads it each second: most of
// what [FS.Locks] costs is the parsing of what is as it was. [ParseLocks] reads rows of it.
func (f FS) LockList(buf []byte) ([]byte, error) { return f.read("locks", listLimit, buf) }

// ParseLocks reads rows of the list of locks, one a line. The error is a [*ParseError].
func ParseLocks(text string) ([]Lock, error) {
	locks, err := parseLocks(text)
	return locks, inFile("locks", err)
}

func parseLocks(text string) ([]Lock, error) {
	var locks []Lock
	for line := range strings.Lines(text) {
		lock, err := parseLock(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, err
		}
		locks = append(locks, lock)
	}
	return locks, nil
}

// lockColumns is what follows the number: type, mode, access, pid, file, start, end.
const lockColumns = 7

// parseLock reads one row such as "3:  -> FLOCK  ADVISORY  WRITE 123 08:02:1234 0 EOF".
func parseLock(line string) (Lock, error) {
	id, rest, found := strings.Cut(line, ":")
	if !found {
		return Lock{}, malformed(line, errColumns)
	}
	rest, depth := cutArrow(rest)
	cols := strings.Fields(rest)
	if len(cols) != lockColumns {
		return Lock{}, malformed(line, errColumns)
	}
	var c columns
	lock := Lock{
		ID:      c.int(strings.TrimSpace(id)),
		Waiting: depth > 0, Depth: depth,
		Type: cols[0],
		Mode: cols[1], Advisory: cols[1] == "ADVISORY",
		Access: cols[2], Write: cols[2] == "WRITE",
		PID:   c.int(cols[3]),
		Start: c.uint(cols[5], 10),
		End:   c.offset(cols[6]),
	}
	c.file(&lock, cols[4])
	return lock, c.in(line)
}

// cutArrow takes the "->" of a waiter off and tells how deep it is: one blank before the arrow, and one more per level.
func cutArrow(row string) (rest string, depth int) {
	trimmed := strings.TrimLeft(row, " ")
	after, waiting := strings.CutPrefix(trimmed, "->")
	if !waiting {
		return row, 0
	}
	return after, max(1, len(row)-len(trimmed))
}

// offset reads the end of a range.
func (c *columns) offset(s string) uint64 {
	if s == "EOF" {
		return math.MaxUint64
	}
	return c.uint(s, 10)
}

// file reads "major:minor:inode", of which only the inode is decimal, or "<none>:0".
func (c *columns) file(lock *Lock, s string) {
	if s == "<none>:0" {
		return
	}
	major, rest, _ := strings.Cut(s, ":")
	minor, inode, _ := strings.Cut(rest, ":")
	lock.Major, lock.Minor = c.uint32(major, 16), c.uint32(minor, 16)
	lock.Inode = c.uint(inode, 10)
}

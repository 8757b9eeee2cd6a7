// Package record is the codec of the holder's self-description in the lock
// file. A record is a label for people and for `status`; it never decides
// whether a lock is held.
//
// The file has two slots of SlotSize bytes. Each is one line: a JSON object,
// spaces, a CRC-32C of everything before it in eight hexadecimal digits, and a
// newline, so `head -c 8192 lock` shows it to a human. A writer overwrites the
// slot that is not the newest, so a write that is torn by a crash loses
// nothing that was valid before. Readers ignore fields they do not know.
package record

import (
	"encoding/json"
	"errors"
	"time"
)

const (
	// SlotSize is the size of one slot in bytes.
	SlotSize = 4096
	// FileSize is the size of a lock file: two slots.
	FileSize = 2 * SlotSize
	// Format is the version of this layout, of the lock and of the mark.
	Format = 1
)

var (
	// ErrEmpty says that the file was never written: it has no bytes, or only
	// spaces, newlines and NULs.
	ErrEmpty = errors.New("the record is empty")
	// ErrTorn says that no slot is a whole record: torn by a crash, cut, or
	// written by somebody else.
	ErrTorn = errors.New("the record is damaged")
)

// State is where the holder stands in its life.
type State string

// The states of a record, in order.
const (
	Starting  State = "starting"
	Ready     State = "ready"
	Releasing State = "releasing"
	Released  State = "released"
)

// Record is one holder's description of itself.
type Record struct {
	// Format is the version of the layout; this package writes Format.
	Format int `json:"format"`
	// Seq rises with every write of the file and orders the two slots.
	Seq uint64 `json:"seq"`
	// Token is the fencing token: it rises with every acquisition.
	Token uint64 `json:"token"`
	// State is where the holder stands.
	State State `json:"state"`
	// Nonce tells this acquisition from every other one of any host.
	Nonce string `json:"nonce"`
	// Acquired is the wall clock time of the acquisition, UTC.
	Acquired time.Time `json:"acquired"`
	// AcquiredBoottime is the same instant in nanoseconds since boot,
	// suspended time included.
	AcquiredBoottime int64 `json:"acquired_boottime_ns"`
	// Lock is the identity of the file this was written to.
	Lock FileID `json:"lock"`
	// Mount tells where the data directory was mounted from.
	Mount Mount `json:"mount"`
	// Name is the name the holder was given, by default that of its command.
	Name string `json:"name,omitempty"`
	// Child is the process the holder runs, nil where the holder is the service itself.
	Child *Process `json:"child,omitempty"`
	// Cluster is the lock that the holder has at a cluster engine, nil without one.
	Cluster *Cluster `json:"cluster,omitempty"`
	// Holder is the process that took the lock.
	Holder Holder `json:"holder"`
}

// Cluster is a lock over several machines. It has no secrets.
type Cluster struct {
	// Engine is its name: "etcd".
	Engine string `json:"engine"`
	// Key is where the claim lies in the engine.
	Key string `json:"key"`
	// Token is the engine's fencing token.
	Token uint64 `json:"token"`
	// Sticky says that the claim has no lease.
	Sticky bool `json:"sticky,omitempty"`
}

// FileID names a file on one host.
type FileID struct {
	// Dev is the device number as stat gives it.
	Dev uint64 `json:"dev"`
	// Ino is the inode number.
	Ino uint64 `json:"ino"`
}

// Mount is where a directory comes from.
type Mount struct {
	// Type is the file system type, e.g. ext4.
	Type string `json:"type,omitempty"`
	// Source is the device or server.
	Source string `json:"source,omitempty"`
}

// Process names one process so that a recycled pid cannot stand in for it.
type Process struct {
	// PID is the number in the pid namespace of the writer.
	PID int `json:"pid"`
	// StartTicks is the start time in clock ticks since boot, and in units of their
	// own on other systems than Linux.
	StartTicks uint64 `json:"start_ticks"`
	// BootID is the kernel's random id of this boot.
	BootID string `json:"boot_id,omitempty"`
	// PIDNS is the inode of the pid namespace.
	PIDNS uint64 `json:"pid_ns,omitempty"`
	// TimeNS is the inode of the time namespace that StartTicks was read in.
	TimeNS uint64 `json:"time_ns,omitempty"`
	// PidfsID is the inode of the process' pidfd, which is never used twice in
	// one boot; 0 on kernels before 6.9.
	PidfsID uint64 `json:"pidfs_id,omitempty"`
	// Session is the number of the Windows session the process is in.
	Session int `json:"session,omitempty"`
	// Exe is the path of the executable.
	Exe string `json:"exe,omitempty"`
	// Command is the command line, cut where it is long.
	Command []string `json:"command,omitempty"`
	// Cgroup is the path of the cgroup made for this process, if one was.
	Cgroup string `json:"cgroup,omitempty"`
}

// Holder is the process that took the lock and how it came to run.
type Holder struct {
	Process
	// MachineID is the stable id of the machine or container image.
	MachineID string `json:"machine_id,omitempty"`
	// Host is the host name: a label only.
	Host string `json:"host,omitempty"`
	// UID is the real user id, -1 on Windows, which has none.
	UID int `json:"uid"`
	// User is the name of the account where that has no number.
	User string `json:"user,omitempty"`
	// Origin is how the process was started.
	Origin Origin `json:"origin"`
}

// Origin tells how a process came to run.
type Origin struct {
	// By is the short form for people: a unit, a container, a terminal, or the
	// nearest parent that says something.
	By string `json:"by,omitempty"`
	// Unit is the systemd unit.
	Unit string `json:"unit,omitempty"`
	// Invocation is systemd's id of this one start.
	Invocation string `json:"invocation,omitempty"`
	// Container is the id of the container.
	Container string `json:"container,omitempty"`
	// TTY is the terminal's device number, 0 without one.
	TTY int `json:"tty,omitempty"`
	// Parents is the chain of parents, nearest first, as "pid name".
	Parents []string `json:"parents,omitempty"`
}

// Valid reports whether the fields that others build on have sane values.
func (r *Record) Valid() bool {
	return r.Format > 0 && r.Holder.PID > 0 && (r.Child == nil || r.Child.PID > 0)
}

// Head is the part of a record that a successor needs at once.
type Head struct {
	// Seq, Token and State are those of Record.
	Seq   uint64
	Token uint64
	State State
	// Slot is the index of the slot that carries it, 0 or 1.
	Slot int
	// Damaged says that the other slot is neither a record nor as it was made,
	// so that a higher token may have been there.
	Damaged bool
}

// Newest returns the head of the valid slot with the highest token, the later
// write of two with the same token. data is the whole file or as much of it as
// could be read. The error is ErrEmpty or ErrTorn.
func Newest(data []byte) (Head, error) {
	best, found, damaged := Head{}, false, false
	for i := range 2 {
		line, ok := slot(data, i)
		if !ok {
			damaged = damaged || !untouched(data, i)
			continue
		}
		h, ok := head(line)
		if !ok {
			damaged = true
			continue
		}
		h.Slot = i
		if !found || h.newer(best) {
			best, found = h, true
		}
	}
	switch {
	case found:
		best.Damaged = damaged
		return best, nil
	case blank(data):
		return Head{}, ErrEmpty
	}
	return Head{}, ErrTorn
}

func (h Head) newer(than Head) bool {
	if h.Token != than.Token {
		return h.Token > than.Token
	}
	return h.Seq > than.Seq
}

// Decode returns the newest valid record of a lock file. The error is ErrEmpty
// or ErrTorn.
func Decode(data []byte) (*Record, error) {
	h, err := Newest(data)
	if err != nil {
		return nil, err
	}
	line, _ := slot(data, h.Slot)
	var r Record
	if json.Unmarshal(line, &r) != nil || !r.Valid() {
		return nil, ErrTorn
	}
	return &r, nil
}

func blank(data []byte) bool {
	for _, c := range data {
		if c != 0 && c != ' ' && c != '\n' {
			return false
		}
	}
	return true
}

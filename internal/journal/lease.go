package journal

import (
	"io"
	"io/fs"
	"time"
)

// LeaseName is the small file that says how the lock at a cluster's engine is. It is
// written over at each renewal.
const LeaseName = "lease"

// Lease is how a lock at an engine was when that last said something.
type Lease struct {
	// Token is the fencing token of the directory's owner.
	Token uint64 `json:"token"`
	// Boot is the kernel's boot id: Until counts within one boot.
	Boot string `json:"boot"`
	// Until is when the owner must stop unless it hears more: nanoseconds since boot.
	Until time.Duration `json:"until"`
	// TTL is the time to live in nanoseconds.
	TTL time.Duration `json:"ttl"`
	// Renewals counts those that the engine has acknowledged.
	Renewals uint64 `json:"renewals"`
	// Errors counts requests that it failed, or did not answer in time.
	Errors uint64 `json:"errors"`
}

// Page makes the text of the file.
func (l Lease) Page() ([]byte, error) { return Page(l) }

// ReadLease reads the file of a state directory.
func ReadLease(fsys fs.FS) (l Lease, err error) {
	f, err := fsys.Open(LeaseName)
	if err != nil {
		return l, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, PageSize))
	if err != nil {
		return l, err
	}
	return l, ReadPage(text, &l)
}

package cluster

import (
	"context"
	"time"
)

// Examiner is an engine that can be asked how it is.
type Examiner interface {
	// Examine asks each server that the client knows of, until ctx ends at the latest. It takes and writes nothing. What is
	// not said stays empty.
	Examine(ctx context.Context) Health
}

// Health is what an engine says of itself.
type Health struct {
	// Servers are those that were asked.
	Servers []Server `json:"servers"`
	// Members is how many servers there are by the engine's own word.
	Members int `json:"members,omitempty"`
	// Leases is how many leases it has, of whomever.
	Leases int `json:"leases,omitempty"`
	// Latency is what a read with its full word took, the fastest of some.
	Latency time.Duration `json:"latency_ns,omitempty"`
	// Blocked says why no lock can be claimed, one sentence each.
	Blocked []string `json:"blocked,omitempty"`
	// Forgets says by what claims or tokens may be lost, one sentence each.
	Forgets []string `json:"forgets,omitempty"`
	// Unread is what could not be asked, and why.
	Unread []string `json:"unread,omitempty"`
}

// Server is what one server says of itself.
type Server struct {
	// Address is host:port.
	Address string `json:"address"`
	// Err is why it has not answered.
	Err string `json:"error,omitempty"`
	// Version is its own.
	Version string `json:"version,omitempty"`
	// Faults is what is known to be wrong with leases in this version.
	Faults string `json:"faults,omitempty"`
	// Role is what it is for the others: leader, follower, master.
	Role string `json:"role,omitempty"`
	// Alone says that it knows of no leader.
	Alone bool `json:"alone,omitempty"`
	// Changes is how often it has seen the leader change in the time Up.
	Changes int           `json:"leader_changes,omitempty"`
	Up      time.Duration `json:"up_ns,omitempty"`
	// Skew is its clock less the one here, as far as it says the time.
	Skew time.Duration `json:"skew_ns,omitempty"`
	// Used is the space that it uses, of Limit. 0 is unknown, or without limit.
	Used  int64 `json:"used,omitempty"`
	Limit int64 `json:"limit,omitempty"`
}

// Fastest gives the shortest time of three goes. It fails with the first that does.
func Fastest(ask func() error) (time.Duration, error) {
	best := time.Duration(0)
	for range 3 {
		begin := time.Now()
		if err := ask(); err != nil {
			return 0, err
		}
		if took := time.Since(begin); best == 0 || took < best {
			best = took
		}
	}
	return best, nil
}

package supervise

import (
	"fmt"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/agent/wire"
)

// AgentVerb is the word by which a run starts the companion that keeps its lock at
// a cluster engine.
const AgentVerb = "agent"

// Cluster is a lock over several machines that a run takes after that of its
// directory, and gives back before it.
type Cluster struct {
	// Agent is the program that speaks with the engine: solehold-cluster.
	Agent string
	// Socket is where the agent of this host listens, which is used instead; "" is for one of its own.
	Socket string
	// URL says where the engine is. It has no secrets.
	URL string
	// Name is the lock: the same on every machine.
	Name string
	// Sticky asks for a sticky claim; Place tells the engine and its prefix apart, for what the directory keeps of it.
	Sticky bool
	Place  string
	// Secrets are environment variables for the agent alone. A run removes them from its own environment.
	Secrets []string
}

// keeper names the agent for people.
func (c Cluster) keeper() string {
	if c.Socket != "" {
		return "the agent at " + c.Socket
	}
	return c.Agent
}

// ClusterHeldError says that another machine has the lock.
type ClusterHeldError struct {
	// Name is the lock.
	Name string
	// Info is what the holder says of itself.
	Info string
	// Token is the holder's.
	Token uint64
	// Since is when a sticky claim was made, which nobody gets by waiting; "" for one with a lease.
	Since string
}

// Error names the lock and the holder.
func (e *ClusterHeldError) Error() string {
	by := e.Info
	if by == "" {
		by = "somebody who did not say who it is"
	}
	if e.Since != "" {
		return fmt.Sprintf("lock %q of the cluster has a sticky claim since %.40s: %.300s (token %d). If that host is surely dead or fenced: "+
			"solehold cluster break --cluster URL %q --token %d --reason TEXT", e.Name, solehold.Printable(e.Since), solehold.Printable(by), e.Token, e.Name, e.Token)
	}
	return fmt.Sprintf("lock %q of the cluster already has its owner: %.300s (token %d)", e.Name, solehold.Printable(by), e.Token)
}

// NoClusterError says that a directory is guarded by the lock of a cluster, and
// that a run was to go without.
type NoClusterError struct {
	// Dir is the data directory.
	Dir string
	// Token is the last one of the cluster here; 0 where that cannot be read.
	Token uint64
}

// Error names the directory, and the way back.
func (e *NoClusterError) Error() string {
	return fmt.Sprintf("%s is for runs with the lock of a cluster (last token %d): another machine may be its owner now; nothing was started", e.Dir, e.Token)
}

// ClusterError says why the lock of the cluster cannot be had. Nothing was started.
type ClusterError struct {
	// Fault is what kind of failure it is.
	Fault wire.Fault
	// Text says what was seen.
	Text string
}

// Error says that nothing was started, and why.
func (e *ClusterError) Error() string { return "nothing was started: " + solehold.Printable(e.Text) }

// ClusterLostError says that the lock of the cluster is lost.
type ClusterLostError struct {
	// Name is the lock.
	Name string
	// Token is the one that is void from now on.
	Token uint64
	// Why says what was seen.
	Why string
}

// Error names the lock and what was seen.
func (e *ClusterLostError) Error() string {
	return fmt.Sprintf("lock %q of the cluster (token %d) is lost: %s", e.Name, e.Token, solehold.Printable(e.Why))
}

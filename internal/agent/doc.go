// Package agent keeps a lock at a cluster engine for `solehold run`, which starts it as a process of its own: the engine's
// client is not linked into the wrapper that stands before every service, and a frozen wrapper is stopped by somebody who
// is not.
//
//	run -> agent    the name; then what to stop; then that all has ended
//	agent -> run    granted, each acknowledgement, told at 0.60 of the time to live, kill at 0.80
//	agent -> tree   SIGKILL at 0.80, whatever the run does; at 0.90 the run as well
//
// When the run dies the agent stops what it has left, and gives the lock back once nothing of it is left. When the agent
// dies the run stops its command by the same deadlines, which it knows from the acknowledgements. If both are stopped at
// once nobody is left but the resource: the command's token is void then, see package fence.
//
// The agent of a host is the same for many runs: they share a client, and so a lease, for each engine, and nothing else.
package agent

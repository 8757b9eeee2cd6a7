// Package helper runs a peer in another process: the benchmark starts itself
// again as a helper, which takes and drops a lock when told to and says when
// that was, by the clock that all processes of a machine share.
//
// The conversation is one line each way. "try" and "wait" take the lock and
// answer "ok TIME" when they have it; "drop" answers "ok TIME" with the time just
// before it gives the lock back. Any failure is "error TEXT". The helper ends
// when its input does.
package helper

// Package redis puts the locks of package cluster on Redis: one server, a Sentinel group or a Cluster.
//
// # What is promised, and what is not
//
// One atomic script claims, one renews and one releases; each compares the nonce, so that a late or repeated request never
// touches the claim of somebody else. The fencing token is a counter beside the lock that no script deletes.
//
// The lock is as durable as the server's data. Redis replicates after it has answered: a failover of Sentinel or Cluster,
// a restart without appendfsync=always, FLUSHALL or an eviction policy can lose a claim that was confirmed, and the counter
// with it. Then there can be two owners, and tokens can repeat: fencing does not survive the loss of data. Use this
// engine where two owners cost work and not data; [cluster.AcquireOptions.Floor] refuses tokens that have been seen, and who
// waits refuses one that is not above that of the owner it waited for.
//
// # What is written
//
//	PREFIX:{NAME}:claim   the record; it expires with the lease (PX on the server's clock, never a time of ours)
//	PREFIX:{NAME}:last    what the last claim leaves for its successor
//	PREFIX:{NAME}:token   the counter
//
// The braces keep the three keys of a lock on one node of a Cluster. A lease is not a thing of Redis: a renewal renews each
// claim of the session, so it also finds those that are gone. A freed lock is published on PREFIX:{NAME}:free.
package redis

// Package etcd puts the locks of package cluster on etcd v3.
//
// # What is written
//
// For a lock there are two keys below the prefix, each with a [cluster.Record] as its value, and one for each waiter:
//
//	PREFIX/claim/NAME   the claim. It hangs on the holder's lease. Its revision is the fencing token.
//	PREFIX/last/NAME    what the last claim leaves for its successor. It hangs on nothing and stays.
//	PREFIX/queue/NAME/  the places of those who wait, empty, in the order of their creation. They hang on their leases.
//
// A claim is one transaction: if there is no claim, write both and read what the predecessor left; else read the claim and
// write nothing. A refusal costs one entry of the log that changes nothing, and from then on, as long as the lock is seen
// to be held, a read. A release is one transaction too: if the claim still has our value and revision, delete it and, when
// the work had ended, say so for the successor. What is asked for at the same time goes together, up to a hundred
// transactions in one, each with its own condition.
//
// Who waits takes a place, and watches the one before it; the first one watches the claim. An owner that has waited keeps its
// place until it releases, so one waiter is woken, not all of them. Places grant nothing, and one that stands still is passed.
//
// # What is promised
//
// Tokens are revisions of etcd: they rise over clean release, expiry, crash and change of leader. They do not survive a
// restore from a snapshot, unless it was restored with --bump-revision; [cluster.AcquireOptions.Floor] refuses those.
// etcd counts a lease from when its leader has handled the grant or renewal, and renews all leases when the leader
// changes, so a dead holder may be succeeded late (2 T and an election), never early. Versions before 3.4.38, 3.5.23 and
// 3.6.5 have bugs that end leases early or confirm renewals of leases that were revoked: they are warned of, and refused
// with strict=1.
//
// etcd grants whole seconds, and not less than one and a half election times-out: 2 s by default.
package etcd

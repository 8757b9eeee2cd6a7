// Package fence refuses late writers at the resource. A lock alone cannot: a holder that was stopped between its last look
// at the lock and its write writes late, whatever the lock says. So the holder sends its fencing token along, and the
// resource remembers the highest one that it has seen and refuses lower ones.
//
// What is promised: once a write with token t was taken, none with a lower token is. What is not: that a late write is
// refused before the next owner has written for the first time. An owner that must exclude even that begins with a
// write, if only of its token ([SQL.Raise], or any request to a [Guard]).
//
// Tokens are compared within one lock. Give each lock its own resource name.
//
// etcd needs nothing of this package: see Backend.Owner in cluster/etcd.
package fence

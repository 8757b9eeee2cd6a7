// Package zookeeper puts the locks of package cluster on ZooKeeper.
//
// # What is written
//
//	PREFIX/NAME/claim   an ephemeral node of the holder's session, with the record. Its zxid is the fencing token.
//	PREFIX/NAME/last    what the last claim leaves for its successor. Each claim writes it in the same transaction, so its
//	                    version tells claims apart, which the versions of nodes that come and go do not.
//
// There is one claim and no queue of sequential nodes: with a queue even who is refused writes twice. Waiters watch the
// claim, and are woken together.
//
// # What is promised, and what is not
//
// The lease is the session. Its clock starts when the server handles a request, so it ends no earlier than T after the
// last answered one was sent; a server may take longer. Renewals are requests of their own: the client's pings do not say
// when they were sent. The time to live is what the server grants in its answer to the connection (2 to 20 ticks), which
// the client library does not show and this package reads from the wire.
//
// When a session has expired the library would go on with a new one and send what was queued in it. That is prevented: a
// session that has ended is never connected again.
//
// Tokens are zxids: they rise over everything but the loss of the servers' data. A new epoch of the leader makes them jump.
package zookeeper

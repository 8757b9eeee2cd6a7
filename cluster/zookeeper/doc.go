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
// The lease is the session. Its clock starts when the leader hears of a request. Renewals are transactions of their own: the
// client's pings do not say when they were sent, and pings and reads are answered for a while by a follower that has lost
// its leader, which then ends the session. A follower passes on who was there with each of the leader's pings, every half
// tick. So a session ends no earlier than T after the last answered renewal was sent; where the follower loses its leader
// before it has passed that renewal on, T after the one before, which is behind 0.80 T, when what works is killed. The time to live is what the server grants in its answer to the connection (2 to 20 ticks), which
// the client library does not show and this package reads from the wire.
//
// When a session has expired the library would go on with a new one and send what was queued in it. That is prevented: a
// session that has ended is never connected again.
//
// Tokens are zxids: they rise over everything but the loss of the servers' data. A new epoch of the leader makes them jump.
package zookeeper

// Package postgres puts the locks of package cluster on PostgreSQL: a row for each lock, and no session state, so that it
// works through poolers; it is tried with PgBouncer in transaction mode. (An advisory lock has neither a time nor a token,
// and is stranded in a pool.)
//
// # What is promised, and what is not
//
// Each request is one statement, atomic by the lock of its row. Times are those of the server's clock_timestamp(), so
// clients' clocks do not matter. It is a time of day: when somebody sets the server's clock ahead by more than 0.10 T,
// leases end early. Let it be slewed.
//
// The token is a count in the row, which is never deleted: it rises over clean release, expiry and crash. It is as durable
// as the row: a failover to a replica that was behind (asynchronous replication), or a restore, may lose a claim that was
// confirmed, and its token. With synchronous replication to the replica that takes over they survive.
//
// # Waiting
//
// A release notifies whoever waits. All who wait with one client hear of it by one connection, which is not of the pool and
// stays until the client is closed. LISTEN does not work through a pooler in transaction mode; there, and for leases that run
// out, waiters look again every tenth of the time to live.
//
// The schema ("solehold" by default) is made when it is missing; with create=0 it is not, and has to be made by [Schema].
package postgres

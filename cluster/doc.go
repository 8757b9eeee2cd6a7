// Package cluster is one lock over several machines: a [Client] on a [Backend], which is an engine such as etcd. The engines
// exist; what this package adds is a holder that is told before its engine gives the lock away, and never two owners when
// the engine is away.
//
// A program that needs many locks takes them with one call, [Client.AcquireEach].
//
// # What is promised
//
// Let T be the time to live that the engine granted, and s the time at which the last acknowledged renewal was sent, on
// CLOCK_BOOTTIME. Renewals are sent every T/5, and every T/10 while none is acknowledged.
//
//	s + 0.60 T   the context of the lease is cancelled with a *LostError as its cause; Check fails
//	s + 0.80 T   Killed is closed: what still works must be killed
//	s + 0.90 T   FailStop is called for what was not released
//	s + 1.00 T   the engine may give the lock to somebody else, not before
//
// So work that ends when it is told, or is killed when Killed is closed, has ended before anybody else can own the lock, as
// long as clocks agree to 10 % and the engine keeps its word. The grace between being told and being killed is 0.20 T: a
// grace that is longer is refused with the sum.
//
// When the engine does not answer nothing is started; what is held is stopped in time. A lock is never taken over because
// the engine is away, and never falls back to this host alone.
//
// # What is not promised
//
// A process that is stopped (SIGSTOP, a debugger, a page fault that hangs) together with the goroutines of this package
// does not see its deadlines. A guard in another process has to kill it, and the resource has to refuse old tokens: that is
// what package fence is for. An engine that loses its data (a restore from backup, a store without durable writes) may
// grant a lock twice and count tokens anew; a token that is not above [AcquireOptions.Floor] is refused. The packages of the
// engines say which of this applies to them. Locks are not fair: who does not
// wait may come between. On etcd waiters stand in a queue; elsewhere they are woken together and one wins.
package cluster

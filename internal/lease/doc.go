// Package lease decides about one lease at a cluster engine and the claims that hang on it: when to renew, when an answer
// makes an owner, when the owner must be told, killed or ended. It is a pure state machine: a state, an input and a time go
// in, a state and commands come out. It has no clock, goroutine or I/O, so all orders of answers, losses and delays can be
// searched; a shell carries the commands out and tells what came of them.
//
//	lease      idle -> granting -> live -> over -> ended
//	claim      claiming -> delayed -> owned -> told -> leaving -> (gone)
//	                    \-> owned                 \-> withdrawing after a cancel, a late grant or a token that does not rise
//
// Let T be the granted time to live and s the time at which the last acknowledged renewal (or the grant) was sent. The
// engine's own clock for the lease starts when it handles the request, so it gives nothing away before s + T:
//
//	s            s+T/5      s+0.60 T       s+0.80 T   s+0.90 T      s+T
//	sent, acked  renew      tell (TERM)    kill       fail-stop     the engine may give the lock away
//	             then every T/10 until one is acknowledged
//
// The 0.10 T behind the fail-stop are for clocks that do not run alike: up to one tenth. The times are offsets on a clock
// that counts suspended time (CLOCK_BOOTTIME).
//
// What holds while the engine keeps its word (a lease lives for T, and a claim as long as its lease), the shell carries out
// each command when it gets it, and clocks agree to within 10 %; each is the subject of a test:
//
//   - An owner's work has ended, or the fail-stop was ordered, before the engine gives its claim to anybody else.
//   - Loss is final: no answer makes an owner of who has been told. A new claim gets a new token.
//   - Only an answer to a claim that still has time makes an owner, and its token is above the floor that the caller gave.
//   - A claim is given back only after its work was seen to end. As long as it is not known whether the engine has it, it is
//     asked for again or withdrawn: no lock stays jammed by who gave up.
//   - The owner is told in the same step in which it is known that the lease or the claim is gone.
//
// Where the engine does not keep its word (an old server revokes early, an operator breaks a claim, a store loses its data)
// two things are left: the next owner waits out the lock-delay of a predecessor that did not release cleanly, in which this
// machine has its work killed if it hears of the loss at once; and the token. Nothing here protects from a process that is
// stopped together with its shell: that takes a guard in another process, and a token at the resource.
//
// A [Sticky] is a claim without a lease, which nobody gets without an operator's break. Its owner works on while the engine
// is silent, so these hold instead, and are searched in the same way:
//
//   - An owner whose requests are answered is told of a break, and dead, before its successor's lock-delay is over.
//   - [Kept.Judge] lets a start go on without the engine only where the one before is dead: this boot and this directory, or
//     a boot of this machine that is over. Copies of a disk are refused, or, where a machine cannot be told from its copy,
//     all but one are told as soon as they reach the engine: the claim is at one place, and a start at another one waits.
//   - When all have reached the engine there is one owner at most, whatever was broken or copied before.
package lease

// Package policy decides what `solehold run` and `solehold watch` do about health, ends and restarts. It is a pure state
// machine: a state, an input and a time go in, a state and commands come out. It has no clock, goroutine or I/O, so all
// orders of inputs can be searched; a shell carries the commands out and tells what came of them.
//
//	state      run                                     watch
//	idle       awaits Begin                            awaits Begin
//	probing    -                                       a round is running or due
//	waiting    the delay before a start                the same; then one more round
//	starting   Start given, not ready                  a launch is on its way
//	ready      serves, as far as is known              -
//	unhealthy  alive and failing                       held and failing
//	stopping   StopTree given, tree not seen dead      the holder's tree not seen dead
//	given-up   final but for Reset                     final but for Reset
//	ended      final                                   final
//
// From where to where:
//
//	run    idle -> starting -> ready <-> unhealthy -> stopping -> waiting -> starting ...
//	       any end of the whole tree -> waiting, ended or given-up; a stop request -> stopping -> ended
//	watch  idle -> probing -> waiting -> probing (free: backoff)    probing -> starting -> probing (free)
//	       probing <-> unhealthy -> stopping -> probing (held)
//
// What holds, each the subject of a test:
//
//   - Nothing is started before the whole tree of the life before is seen dead, and a watch starts nothing but what a look
//     in the same round found free.
//   - A tree is stopped for being unhealthy only at a failing round after its evidence is done, when FailureThreshold
//     rounds have failed since the last good one and since the last clock gap, and failing rounds that follow each other
//     span MinFailing. There is always one more look between evidence and kill: the service may have recovered.
//   - An unknown round is neither good nor failing, and an answer to anything but the question asked last is dropped.
//   - Each non-final state has a [Wake] out or awaits an answer that the shell owes.
//   - The same inputs at the same times give the same commands.
//
// What is not promised: that a shell that swallows an answer is noticed. A prober is (its round becomes unknown), but an
// [EvidenceDone] or [Exited] that never comes is waited for without end, because guessing could stop a tree without
// evidence or start a second one. A child that never says that it is ready is waited for likewise.
package policy

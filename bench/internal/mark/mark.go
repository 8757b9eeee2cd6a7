// Package mark finds and ends processes by a mark in the environment they were
// started with. A name can be shared and a pid reused, and a supervisor's own word
// of what it runs is what is being tested; the mark is seen from outside, and only
// who was started with it has it.
package mark

// Var is the variable that a mark is in.
const Var = "SOLEHOLD_BENCH_MARK"

// Package clustertest is the contract of package cluster as tests: [Run] gives every clause to an engine, and a [History]
// tells whether what clients did was one owner after another.
//
// A history is judged twice. Linearizability (porcupine, with a model of a lock whose tokens rise) says whether the engine
// answered as one lock would. It cannot see two processes that act at the same time, each with a right answer from its own
// time; for that the intervals from being an owner to the last act are laid beside each other on one clock.
package clustertest

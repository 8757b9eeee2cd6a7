// Package locks knows what the analyzers have in common: which calls take a lock, which file a lock lies on, which
// variable carries it, and when two expressions mean one path.
//
// It reads one package at a time and follows values inside that package only: through assignments, fields, and two
// levels of functions that lock what they are given or return what they have locked. What it cannot follow it does not
// know, and an analyzer says nothing about it: a missed mistake costs less than a reader's trust.
package locks

// Package model is docs/protocol.md as a model that is searched in every order of its steps: how a directory is acquired,
// marked, written down, released, how an owner crashes, is put back in its place, or loses its locks, and who comes next.
//
// It has tests only, and knows nothing of the code. Each mistake that somebody could make in the protocol is a switch,
// and the search must find what goes wrong with it: testdata/schedules.txt has the shortest way there.
package model

// Package lab shows mistaken claims about locks, and classic failures, as live experiments on this machine.
//
// Each experiment says what is believed, what happens and what to do, runs real processes on real files in a directory of
// its own, and compares what it measures with what its text says. Mounts and pid numbers are tried in namespaces that end
// with the experiment; nothing of the machine is changed. What an experiment needs and does not find is named.
//
// The same texts are the pages of docs/lab, and a test runs every experiment twice: as it is, and without the act that
// makes the difference, which must come out otherwise.
package lab

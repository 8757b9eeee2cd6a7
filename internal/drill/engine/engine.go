// Package engine is a real etcd of one member, for drills between hosts that are made for it. It is a program's whole life,
// keeps its data for one drill, and promises nothing after a crash: what is drilled is who owns, not how etcd stores.
package engine

import "io"

// Serve serves clients at an address, with the data below dir, until the process is ended. Once it can answer it writes a
// line to ready. It returns only an error.
func Serve(dir, address string, ready io.Writer) error { return serve(dir, address, ready) }

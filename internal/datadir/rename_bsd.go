//go:build dragonfly || freebsd || netbsd || openbsd

package datadir

// renameNew renames where nothing has the name yet.
func renameNew(dir int, from, to string) error { return renameAsking(dir, from, to) }

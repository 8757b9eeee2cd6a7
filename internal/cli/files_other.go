//go:build !unix

package cli

import "io/fs"

func enoughFiles() error { return nil }

func errnoName(error) string { return "" }

func ownerOf(fs.FileInfo) string { return "" }

// oursOrRoots is false where it is not known whose a file is: no run joins a cluster there.
func oursOrRoots(fs.FileInfo) bool { return false }

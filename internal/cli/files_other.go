//go:build !unix

package cli

import "io/fs"

func enoughFiles() error { return nil }

func errnoName(error) string { return "" }

func ownerOf(fs.FileInfo) string { return "" }

//go:build !linux

package doctor

import "os"

// openToRead is not reached where there is no /proc.
func openToRead(path string) (*os.File, error) { return os.Open(path) }

// openFolder is as little reached.
func openFolder(path string) (*os.File, error) { return os.Open(path) }

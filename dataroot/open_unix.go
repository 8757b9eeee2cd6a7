//go:build unix

package dataroot

import "io/fs"

// open reports whether every user may write to a directory.
func open(st fs.FileInfo) bool { return st.Mode().Perm()&0o002 != 0 }

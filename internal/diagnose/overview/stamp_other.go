//go:build !linux

package overview

import "os"

// stampOf asks for a file.
func stampOf(path string) stamp {
	st, err := os.Lstat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{true, st.Size(), st.ModTime().UnixNano()}
}

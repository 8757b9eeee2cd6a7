//go:build !unix

package reload

import (
	"io/fs"
	"os"
	"time"
)

// stillness is not known on this system: only that the file has not changed for
// some time.
type stillness struct{ proven bool }

func openToRead(path string) (*os.File, error) { return os.Open(path) }

func keepStill(*os.File) (stillness, error) { return stillness{}, nil }

func (s stillness) end() {}

// broken: there is no lease.
func (s stillness) broken() bool { return false }

func changed(st fs.FileInfo) time.Time { return st.ModTime() }

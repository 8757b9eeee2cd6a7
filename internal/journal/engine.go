package journal

import (
	"io"
	"io/fs"
)

// EngineName is the small file that says at which engine the lock of the cluster was
// asked for last, for those who look at the directory. It decides nothing.
const EngineName = "engine"

// Engine is where a lock of a cluster is.
type Engine struct {
	// URL is the engine's. It has no secrets, but may name files that have.
	URL string `json:"url"`
	// Name is the lock.
	Name string `json:"name"`
}

// ReadEngine reads the file of a state directory, and what the system says of it: who
// may trust it depends on whose it is.
func ReadEngine(fsys fs.FS) (e Engine, st fs.FileInfo, err error) {
	f, err := fsys.Open(EngineName)
	if err != nil {
		return e, nil, err
	}
	defer f.Close()
	if st, err = f.Stat(); err != nil {
		return e, nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, PageSize))
	if err != nil {
		return e, st, err
	}
	return e, st, ReadPage(text, &e)
}

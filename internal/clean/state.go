package clean

import (
	"path/filepath"

	"github.com/solehold/solehold/internal/datadir"
)

// openState opens the directory of solehold's files, checked as every command
// checks it.
func openState(dir, stateDir string) (place, error) {
	s, err := datadir.StateOf(dir, stateDir)
	if err != nil {
		return place{}, err
	}
	defer s.Close()
	root, err := s.Root()
	if err != nil {
		return place{}, err
	}
	path, err := filepath.Abs(s.Path())
	if err != nil {
		path = s.Path()
	}
	return place{root, path}, nil
}

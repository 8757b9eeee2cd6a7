package datadir

import (
	"errors"
	"io/fs"
	"os"
)

// Root opens the state directory once more for those who make folders in it, as
// incidents are. It is the very directory that was checked: through /proc no
// name is followed, and where there is none, or it shows something else, the
// path is, but only if it still leads there. The caller closes it.
func (s *State) Root() (*os.Root, error) {
	var errs []error
	for _, path := range s.paths() {
		root, err := os.OpenRoot(path)
		if err == nil {
			if err = s.is(root); err == nil {
				return root, nil
			}
			root.Close()
		}
		errs = append(errs, err)
	}
	return nil, s.error("open", ".", cause(errs[len(errs)-1]))
}

// cause is the errno of an error that names a path of its own.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

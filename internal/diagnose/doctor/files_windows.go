package doctor

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/solehold/solehold/internal/datadir"
)

// mostFiles is how many files of a directory are asked about.
const mostFiles = 1000

// filesAt lists a file, or the files below a directory that are not solehold's own.
func filesAt(ctx context.Context, path string) (files []string, err error) {
	err = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && p == path:
			return err
		case err != nil, len(files) == mostFiles:
			return fs.SkipDir
		case d.IsDir() && strings.EqualFold(d.Name(), datadir.StateName):
			return fs.SkipDir
		case d.Type().IsRegular():
			files = append(files, p)
		}
		return nil
	})
	return files, err
}

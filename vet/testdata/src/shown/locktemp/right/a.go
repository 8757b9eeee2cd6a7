package right

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/gofrs/flock"
	"github.com/solehold/solehold"
)

func f(ctx context.Context, dataDir string) error {
	fl := flock.New(filepath.Join(dataDir, "kb.lock"))
	lock, err := solehold.Acquire(ctx, dataDir, nil)
	if err != nil {
		return err
	}
	return errors.Join(fl.Lock(), lock.Release())
}

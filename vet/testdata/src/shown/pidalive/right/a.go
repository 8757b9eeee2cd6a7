package right

import (
	"context"

	"github.com/solehold/solehold"
)

func f(ctx context.Context, dir string) error {
	lock, err := solehold.Acquire(ctx, dir, nil)
	if err != nil {
		return err
	}
	defer lock.Release()
	return nil
}

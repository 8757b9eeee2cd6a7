//go:build !linux

package engine

import (
	"errors"
	"fmt"
	"io"
)

func serve(_, address string, _ io.Writer) error {
	return fmt.Errorf("etcd at %s: drills need Linux: %w", address, errors.ErrUnsupported)
}

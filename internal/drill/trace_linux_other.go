//go:build linux && !amd64

package drill

import "errors"

const canTrace = false

// bear needs amd64.
func bear(int, ...string) (int, error) { return 0, errors.ErrUnsupported }

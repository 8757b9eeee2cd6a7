//go:build !unix

package solehold

import "errors"

// canExec is false: no process turns into another program here.
const canExec = false

func keepOverExec(uintptr) error { return errors.ErrUnsupported }

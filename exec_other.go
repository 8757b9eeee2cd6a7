//go:build !unix

package solehold

import "errors"

// keepOverExec is for systems on which a process can turn into another program.
func keepOverExec(uintptr) error { return errors.ErrUnsupported }

//go:build !windows

package supervise

// serve runs under whatever has started this process.
func (r *runner) serve(work func() (End, error)) (End, error) { return work() }

//go:build !solehold_portable

package supervise

import (
	"context"
	"os"
	"syscall"

	"github.com/solehold/solehold/health"
	"golang.org/x/sys/unix"
)

// filter runs a command line with an input. Its process is reaped with the others.
func (r *runner) filter(ctx context.Context, line string, data []byte) (health.Exit, error) {
	input, err := inMemory(data)
	if err != nil {
		return health.Exit{}, err
	}
	defer input.Close()
	return r.probes.run(ctx, []string{"/bin/sh", "-c", line}, os.Environ(), input)
}

// inMemory is a file that nobody can change meanwhile.
func inMemory(data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("solehold-reload", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "memfd")
	_, err = f.WriteAt(data, 0)
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// hears reports whether the command handles a signal; where that cannot be told it
// is taken to.
func (r *runner) hears(sig syscall.Signal) bool {
	st, err := r.tree.proc.Status(r.child.pid)
	return err != nil || st.Catches(int(sig))
}

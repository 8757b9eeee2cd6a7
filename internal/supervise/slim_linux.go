//go:build !solehold_portable

package supervise

import (
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/solehold/solehold/internal/procfs"
	"golang.org/x/sys/unix"
)

const (
	// slimAfter spares commands that end at once the work of slim.
	slimAfter = time.Second
	// slimAgain is the time between two more: a look at the lock now and then
	// brings code back.
	slimAgain = 2 * time.Minute
)

// slimProbing is the shortest period of a probe after each of which code is
// dropped.
const slimProbing = 5 * time.Second

// keepSlim gives memory back for as long as the loop runs.
func (r *runner) keepSlim() {
	// Go lets a heap grow to 4 MB before it looks for garbage, times this percentage.
	// A wrapper has some hundred kilobytes, and makes few more.
	debug.SetGCPercent(20)
	next := time.NewTimer(slimAfter)
	defer next.Stop()
	for {
		select {
		case <-next.C:
			slim(r.tree.proc)
			next.Reset(slimAgain)
		case <-r.done:
			return
		}
	}
}

// probed drops the code that a probe needed, where there is time until the next one.
func (r *runner) probed() {
	if r.c.Health != nil && r.c.Health.Schedule.Period >= slimProbing {
		go dropCode(r.tree.proc)
	}
}

// relieve gives back what taking evidence needed.
func (r *runner) relieve() { time.AfterFunc(slimAfter, func() { slim(r.tree.proc) }) }

// slim gives back what only the start needed. A wrapper waits for months beside
// its service: the heap that the flags and the record took, and the pages of
// code that ran once, are not worth keeping. Code that is needed again is read
// back from the page cache.
func slim(proc procfs.FS) {
	debug.FreeOSMemory()
	dropCode(proc)
}

// dropCode drops pages of code. A probe brings some two megabytes back, for a few
// milliseconds of every ten seconds.
func dropCode(proc procfs.FS) {
	exe, err := proc.Exe(0)
	if err != nil {
		return
	}
	maps, err := proc.Text(0, "maps")
	if err != nil {
		return
	}
	for line := range strings.Lines(maps) {
		f := strings.Fields(line)
		if len(f) == 6 && f[5] == exe && f[1][1] == '-' { // read-only: nothing of ours is in it
			forget(f[0])
		}
	}
}

// forget drops the pages of a range "start-end" of a file that is mapped
// read-only. What the kernel refuses stays as it is.
func forget(span string) {
	from, to, _ := strings.Cut(span, "-")
	start, startErr := strconv.ParseUint(from, 16, 64)
	end, endErr := strconv.ParseUint(to, 16, 64)
	if startErr == nil && endErr == nil && start < end {
		unix.Syscall(unix.SYS_MADVISE, uintptr(start), uintptr(end-start), unix.MADV_DONTNEED)
	}
}

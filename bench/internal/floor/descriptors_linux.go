package floor

import (
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Descriptors lists the descriptors of every process and asks of each which file
// it leads to, on as many threads as solehold's doctor uses. Whoever wants to know
// about inherited descriptors, or about removed files, must ask that at least. It
// returns how many there were.
func Descriptors() (int64, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	var next, total atomic.Int64
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(entries); i = next.Add(1) - 1 {
				if _, err := strconv.Atoi(entries[i].Name()); err == nil {
					total.Add(ofProcess(entries[i].Name()))
				}
			}
		})
	}
	all.Wait()
	return total.Load(), nil
}

func ofProcess(pid string) int64 {
	folder, err := unix.Open("/proc/"+pid+"/fd", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0 // it has ended
	}
	defer unix.Close(folder)
	var buf [4096]byte
	var total int64
	for {
		n, err := unix.Getdents(folder, buf[:])
		if err != nil || n == 0 {
			return total
		}
		_, _, names := unix.ParseDirent(buf[:n], -1, nil)
		total += int64(len(names))
		for _, name := range names {
			var st unix.Statx_t
			_ = unix.Statx(folder, name, unix.AT_STATX_DONT_SYNC|unix.AT_NO_AUTOMOUNT, unix.STATX_BASIC_STATS, &st) // it may be closed by now
		}
	}
}

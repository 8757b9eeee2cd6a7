package solehold_test

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The tests by force scale with SOLEHOLD_SOAK, a percentage of their full number
// of rounds: 10 by default, which takes seconds; 100 takes minutes. Their random
// choices follow from a seed that each prints; SOLEHOLD_SEED replays it.
const (
	soakVar     = "SOLEHOLD_SOAK"
	seedVar     = "SOLEHOLD_SEED"
	soakPercent = 10
)

// soak scales the full number of rounds.
func soak(full int) int {
	percent, err := strconv.Atoi(os.Getenv(soakVar))
	if err != nil || percent < 1 {
		percent = soakPercent
	}
	return max(1, full*percent/100)
}

func seeded(t testing.TB) *rand.Rand {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv(seedVar), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	t.Logf("%s=%d replays this", seedVar, seed)
	return rand.New(rand.NewPCG(seed, seed))
}

// board is memory that the processes of a test share.
type board struct {
	inside   atomic.Int64  // processes that believe to be the owner
	overlaps atomic.Int64  // times that there were two
	wins     atomic.Int64  // acquisitions
	refused  atomic.Int64  // ErrHeld
	failed   atomic.Int64  // any other end
	last     atomic.Uint64 // the newest token
	holding  atomic.Uint64 // the token held for certain now, 0 for none
}

// newBoard makes a board and returns the path by which others find it.
func newBoard(t testing.TB) (*board, string) {
	t.Helper()
	path := t.TempDir() + "/board"
	must(t, os.WriteFile(path, make([]byte, unsafe.Sizeof(board{})), 0o600))
	b, err := openBoard(path)
	must(t, err)
	t.Cleanup(func() { unix.MunmapPtr(unsafe.Pointer(b), unsafe.Sizeof(*b)) })
	return b, path
}

func openBoard(path string) (*board, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := unix.MmapPtr(int(f.Fd()), 0, nil, unsafe.Sizeof(board{}), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	return (*board)(p), err
}

// enter counts the caller in. Two at once are an overlap.
func (b *board) enter() {
	b.wins.Add(1)
	if b.inside.Add(1) != 1 {
		b.overlaps.Add(1)
	}
}

func (b *board) leave() { b.inside.Add(-1) }

// background starts a process for the length of the test, which ends earlier
// when the returned function closes its input.
func background(t testing.TB, cmd *exec.Cmd) (end func()) {
	t.Helper()
	in, err := cmd.StdinPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return func() {
		in.Close()
		must(t, cmd.Wait())
	}
}

func command(name string, args ...string) error { return exec.Command(name, args...).Run() }

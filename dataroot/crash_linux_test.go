package dataroot_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold/dataroot"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

// deaths scales with SOLEHOLD_SOAK as rounds does, but processes take their time.
func deaths() int {
	if all := rounds(10_000); all > 100 {
		return all
	}
	return 20
}

// dice are repeatable: the seed is in the log.
func dice(t *testing.T) *rand.Rand {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// A process is killed at any moment in which it makes, uses or gives back an
// ephemeral root, beside a collector that is killed at any moment too: nothing is
// taken from a live owner, and one GC afterwards finds everything that was left.
func TestKilledOwnersAndCollectors(t *testing.T) {
	t.Parallel()
	base, pins := at(t)
	bystander := open(t, base, "live", &dataroot.Options{Ephemeral: true, Pins: pins})
	random, all := dice(t), deaths()
	for i := range all {
		owner, steps := actor(t, "churn", nil, base, pins, fmt.Sprintf("e%d-", i%5))
		collector, sweeps := actor(t, "collect", nil, base, pins, "")
		heard := make([]byte, random.IntN(40))
		if _, err := io.ReadFull(steps, heard); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(sweeps, make([]byte, random.IntN(4))); err != nil {
			t.Fatal(err)
		}
		kill(owner, collector)
		rest, _ := io.ReadAll(steps)
		if said := string(heard) + string(rest); strings.Trim(said, ".") != "" {
			t.Fatalf("round %d: %s", i, said)
		}
	}
	if _, err := dataroot.GC(t.Context(), base, false, nil); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(base); err != nil || len(left) != 1 || left[0].Name() != "live" {
		t.Errorf("left: %v, %v", left, err)
	}
	if err := bystander.WriteFile("x", nil); err != nil {
		t.Error(err)
	}
	t.Logf("%d rounds, nothing taken from a live owner", all)
}

func kill(all ...*exec.Cmd) {
	for _, c := range all {
		c.Process.Signal(syscall.SIGKILL)
	}
	for _, c := range all {
		c.Process.Wait()
	}
}

// A writer that is killed in the middle leaves the old or the new content, at least
// the last one that it was told is there, and the next owner finds no remains.
func TestKilledWriter(t *testing.T) {
	t.Parallel()
	base, pins := at(t)
	random, last := dice(t), 0
	file := filepath.Join(base, "kb", "a", "b", "x")
	remains, all := 0, deaths()
	for range all {
		cmd, out := actor(t, "write", nil, base, pins, fmt.Sprint(last+1))
		for range 1 + random.IntN(10) {
			last = number(t, out)
		}
		kill(cmd)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if n := unsealed(t, text); n < last {
			t.Fatalf("%d is there, and %d was", n, last)
		} else {
			last = n
		}
		remains += len(temps(t, base))
	}
	open(t, base, "kb", &dataroot.Options{Pins: pins})
	if left := temps(t, base); len(left) > 0 {
		t.Errorf("the next owner leaves %v", left)
	}
	t.Logf("%d kills, %d of them in the middle of a file", all, remains)
}

func number(t *testing.T, from *bufio.Reader) (n int) {
	t.Helper()
	if _, err := fmt.Fscanln(from, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

func temps(t *testing.T, base string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(base, "kb", "a", "b", ".new-*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// What an owner left that died while it wrote is removed by the next, and nothing
// that only looks like it. The twin: after a clean end nobody looks.
func TestRemains(t *testing.T) {
	t.Parallel()
	base, pins := at(t)
	owner := holder(t, base, pins, "kb")
	dir := filepath.Join(base, "kb")
	torn, like := filepath.Join(dir, ".new-ABCDEFGHIJKLMNOPQRSTUVWXYZ"), filepath.Join(dir, ".new-york")
	if err := errors.Join(os.WriteFile(torn, []byte("ha"), 0o600), os.WriteFile(like, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	kill(owner)
	r := open(t, base, "kb", &dataroot.Options{Ephemeral: true, Pins: pins})
	if _, err := os.Stat(torn); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("remains: %v", err)
	}
	if _, err := os.Stat(like); err != nil {
		t.Error(err)
	}
	if err := r.WriteFile(filepath.Base(torn), nil); err == nil {
		t.Error("a name that would be cleaned up was written")
	}
}

// A birth that was killed is cleaned up; one that goes on is left, and so is
// everything whose name only looks like ours.
func TestBirthsAndStrangers(t *testing.T) {
	t.Parallel()
	base, _ := at(t)
	dir := func(name string, files ...string) {
		must(t, os.MkdirAll(filepath.Join(base, name), 0o700))
		for _, f := range files {
			must(t, os.WriteFile(filepath.Join(base, name, f), []byte("theirs"), 0o600))
		}
	}
	tail := "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	dir(".born-"+tail, ".root.json", ".new-"+tail)
	dir(".born-A"+tail[1:][:24]+"2", "precious")
	dir(".born-again")
	live := ".born-" + tail[:25] + "7"
	dir(live)
	maker, err := os.Open(filepath.Join(base, live))
	must(t, err, unix.Flock(int(maker.Fd()), unix.LOCK_EX))
	defer maker.Close()
	dir(".gone-with", "the wind")
	dir(".gone-"+tail, "precious")
	dir(".gone-"+tail[:25]+"2", ".root.json", "precious")
	dir(".gone-" + tail[:25] + "3")
	must(t, os.WriteFile(filepath.Join(base, ".gone-"+tail[:25]+"4"), []byte("a file"), 0o600))
	dataroot.GC(t.Context(), base, false, nil)
	want := []string{
		".born-A" + tail[1:][:24] + "2", live, ".born-again",
		".gone-" + tail[:25] + "2", ".gone-" + tail[:25] + "4", ".gone-" + tail, ".gone-with",
	}
	left := map[string]bool{}
	entries, err := os.ReadDir(base)
	must(t, err)
	for _, e := range entries {
		left[e.Name()] = true
	}
	for _, name := range want {
		if !left[name] {
			t.Errorf("removed: %s", name)
		}
		delete(left, name)
	}
	if len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	maker.Close()
	dataroot.GC(t.Context(), base, false, nil)
	if _, err := os.Stat(filepath.Join(base, live)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its maker is gone: %v", err)
	}
}

// A sweep that was killed is gone on with, unless somebody works there.
func TestInterruptedSweep(t *testing.T) {
	t.Parallel()
	base, pins := at(t)
	owner := holder(t, base, pins, "kb")
	goneTo := filepath.Join(base, ".gone-ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	must(t, os.Rename(filepath.Join(base, "kb"), goneTo), os.MkdirAll(filepath.Join(goneTo, "a/b"), 0o700))
	dataroot.GC(t.Context(), base, false, nil)
	if _, err := os.Stat(filepath.Join(goneTo, "a/b")); err != nil {
		t.Fatalf("its owner lives: %v", err)
	}
	kill(owner)
	if _, err := dataroot.GC(t.Context(), base, false, nil); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(base); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// An owner in another pid namespace, whom GC cannot see, is an owner.
func TestGCForeignOwner(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	base, pins := at(t)
	owner := holderAs(t, apart, base, pins, "kb")
	for range 20 {
		did, err := dataroot.GC(t.Context(), base, false, nil)
		if err != nil || len(did) != 1 || did[0].Removed || did[0].Kept == "" {
			t.Fatalf("%+v, %v", did, err)
		}
	}
	kill(owner)
	if did, err := dataroot.GC(t.Context(), base, false, nil); err != nil || removed(did) != "[kb]" {
		t.Errorf("%+v, %v", did, err)
	}
}

// apart puts an actor into a pid namespace of its own.
func apart(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID} }

// GC by round: beside an owner that lives, one that nobody sees from here, and one
// that makes, uses and gives back roots until it is killed, after every tenth round.
// Nothing is taken from any of them, and nothing is left of the dead.
func TestGCRounds(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	base, pins := at(t)
	open(t, base, "live", &dataroot.Options{Ephemeral: true, Pins: pins})
	holderAs(t, apart, base, pins, "foreign")
	before := identities(t, base)
	random, all, taken := dice(t), rounds(10_000), 0
	for i := 0; i < all; i += 10 {
		dying, steps := actor(t, "churn", nil, base, pins, fmt.Sprintf("e%d-", i%5))
		said := make([]byte, 0, 40)
		for range 10 {
			heard := make([]byte, 1+random.IntN(3))
			_, err := io.ReadFull(steps, heard)
			must(t, err)
			said = append(said, heard...)
			did, err := dataroot.GC(t.Context(), base, false, nil)
			must(t, err)
			for _, l := range did {
				if l.Removed {
					taken++
				}
				if _, theirs := before[l.Name]; theirs && l.Removed {
					t.Fatalf("round %d: the root of an owner that lives was removed: %+v", i, l)
				}
			}
		}
		kill(dying)
		rest, _ := io.ReadAll(steps)
		if said = append(said, rest...); strings.Trim(string(said), ".") != "" {
			t.Fatalf("round %d: %s", i, said)
		}
	}
	_, err := dataroot.GC(t.Context(), base, false, nil)
	must(t, err)
	if after := identities(t, base); !maps.Equal(after, before) {
		t.Errorf("before %v, after %v", before, after)
	}
	t.Logf("%d rounds, %d deaths, %d roots removed, none of an owner that lived", all, all/10, taken)
}

// identities gives the UUID of each directory below base that is a root, "" for
// what is none.
func identities(t *testing.T, base string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(base)
	must(t, err)
	for _, e := range entries {
		all[e.Name()] = ""
	}
	roots, err := dataroot.List(base)
	must(t, err)
	for _, r := range roots {
		all[filepath.Base(r.Path)] = r.UUID
	}
	return all
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

package dataroot_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/solehold/solehold/dataroot"
)

// rounds scales a count: a hundredth in CI, all with SOLEHOLD_SOAK=100.
func rounds(all int) int {
	percent, err := strconv.Atoi(os.Getenv("SOLEHOLD_SOAK"))
	if err != nil || percent <= 0 {
		percent = 1
	}
	return max(all*percent/100, 20)
}

// GC removes what nobody has and was made to be removed, and nothing else.
func TestGC(t *testing.T) {
	t.Parallel()
	base, pins := at(t)
	o := &dataroot.Options{Ephemeral: true, Pins: pins}
	holder(t, base, pins, "live")
	dead := holder(t, base, pins, "dead")
	dead.Process.Kill()
	dead.Wait()
	open(t, base, "closed", o).Close()
	open(t, base, "stays", &dataroot.Options{Pins: pins}).Close()
	foreign := filepath.Join(base, "foreign")
	if err := errors.Join(os.Mkdir(foreign, 0o700), os.WriteFile(filepath.Join(foreign, "x"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	planned, err := dataroot.GC(t.Context(), base, true, nil)
	if err != nil || removed(planned) != "[closed dead]" {
		t.Fatalf("a dry run: %v, %v", planned, err)
	}
	if entries, _ := os.ReadDir(base); len(entries) != 5 {
		t.Fatalf("a dry run removed something: %v", entries)
	}
	did, err := dataroot.GC(t.Context(), base, false, nil)
	if err != nil || removed(did) != "[closed dead]" {
		t.Fatalf("%v, %v", did, err)
	}
	var left []string
	entries, _ := os.ReadDir(base)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if fmt.Sprint(left) != "[foreign live stays]" {
		t.Errorf("left: %v", left)
	}
}

func removed(all []dataroot.Listed) string {
	names := []string{}
	for _, l := range all {
		if l.Removed {
			names = append(names, l.Name)
		}
	}
	return fmt.Sprint(names)
}

// A name that says "ephemeral" is not enough: the description inside decides, and
// one that belongs to another name does not count.
func TestGCIsNotMisled(t *testing.T) {
	t.Parallel()
	base, pins := at(t)
	r := open(t, base, "kb", &dataroot.Options{Ephemeral: true, Pins: pins})
	r.Close()
	if err := os.Rename(r.Dir(), filepath.Join(base, "precious")); err != nil {
		t.Fatal(err)
	}
	if did, err := dataroot.GC(t.Context(), base, false, nil); err != nil || len(did) != 0 {
		t.Errorf("%v, %v", did, err)
	}
	if _, err := os.Stat(filepath.Join(base, "precious")); err != nil {
		t.Error(err)
	}
}

// A root whose description is damaged is neither removed nor passed over in silence.
func TestGCDamaged(t *testing.T) {
	t.Parallel()
	base, pins := at(t)
	for name, text := range map[string]string{
		"torn": `{"format":1,"ephemeral":tr`, "empty": "", "newer": `{"format":2,"name":"newer","ephemeral":true}`,
		"long": `{"format":1,"name":"long","ephemeral":true,"uuid":"` + strings.Repeat("1", 20<<10) + `"}`,
	} {
		r := open(t, base, name, &dataroot.Options{Ephemeral: true, Pins: pins})
		must(t, r.Close(), os.WriteFile(filepath.Join(r.Dir(), ".root.json"), []byte(text), 0o600))
	}
	fifo := open(t, base, "fifo", &dataroot.Options{Ephemeral: true, Pins: pins})
	meta := filepath.Join(fifo.Dir(), ".root.json")
	must(t, fifo.Close(), os.Remove(meta), syscall.Mkfifo(meta, 0o600))
	for _, dry := range []bool{true, false} {
		did, err := dataroot.GC(t.Context(), base, dry, nil)
		if err != nil || len(did) != 5 || removed(did) != "[]" {
			t.Errorf("dry %t: %+v, %v", dry, did, err)
		}
		for _, l := range did {
			if !strings.Contains(l.Kept, ".root.json") {
				t.Errorf("%s is kept because of %q", l.Name, l.Kept)
			}
		}
	}
}

// Roots that are opened, written and closed beside GC are never removed under
// their owner: what was written while a root was open is there until it is closed.
func TestGCBesideOwners(t *testing.T) {
	t.Parallel()
	base, pins := at(t)
	stop := make(chan struct{})
	var collectors sync.WaitGroup
	for range 2 {
		collectors.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					if _, err := dataroot.GC(t.Context(), base, false, nil); err != nil && !errors.Is(err, fs.ErrNotExist) {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	for i := range rounds(10_000) {
		r, err := dataroot.Open(t.Context(), base, fmt.Sprintf("e%d", i%3), &dataroot.Options{Ephemeral: true, Pins: pins})
		if err != nil {
			continue // a collector has it just now
		}
		text := strconv.Itoa(i)
		if err := r.WriteFile("x", []byte(text)); err != nil {
			t.Errorf("round %d: %v", i, err)
		}
		got, err := fs.ReadFile(r, "x")
		if _, there := os.Stat(filepath.Join(r.Dir(), "x")); err != nil || string(got) != text || there != nil {
			t.Errorf("round %d: %q, %v, %v", i, got, err, there)
		}
		r.Close()
	}
	close(stop)
	collectors.Wait()
	if _, err := dataroot.GC(t.Context(), base, false, nil); err != nil {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(base); len(entries) > 0 {
		t.Errorf("left: %v", entries)
	}
}

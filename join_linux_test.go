package solehold_test

import (
	"testing"

	"github.com/solehold/solehold"
	"golang.org/x/sys/unix"
)

// wrapped makes a holder with a child that has its token, with or without the
// lock's descriptors.
func wrapped(t *testing.T, dir string, descriptors int) (wrapper *agent, token uint64, child int) {
	t.Helper()
	wrapper = start(t)
	got := wrapper.acquire(t, dir)
	wantFree(t, got)
	child = wrapper.must(t, order{Do: "share", N: descriptors}).N
	killAtEnd(t, child)
	return wrapper, got.Token, child
}

func (a *agent) childAcquires(t *testing.T, dir string) answer {
	t.Helper()
	return a.do(t, order{Do: "child", Child: &order{Do: "acquire", Dir: dir}})
}

// One process below a holder may guard itself with the same directory.
func TestJoin(t *testing.T) {
	t.Parallel()
	for name, descriptors := range map[string]int{"by ancestry": 0, "by descriptor": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := dataDir(t)
			wrapper, token, child := wrapped(t, dir, descriptors)
			got := wrapper.childAcquires(t, dir)
			if !got.ok() || got.Token != token {
				t.Fatalf("the child may not join: %+v", got)
			}
			other := start(t)
			wantHeld(t, other.acquire(t, dir))

			killAtEnd(t, wrapper.must(t, order{Do: "share", N: descriptors}).N)
			wantHeld(t, wrapper.childAcquires(t, dir)) // a second one: the seat is taken

			wrapper.kill()
			got = other.acquire(t, dir)
			wantHeld(t, got)
			if s := state(t, dir); s.State == solehold.Free {
				t.Errorf("without its wrapper: %+v", s)
			}
			must(t, unix.Kill(child, unix.SIGKILL))
			awaitEnd(t, child)
			if descriptors == 0 { // the second child has the descriptors otherwise
				wantFree(t, other.acquire(t, dir))
			}
		})
	}
}

// The seat is free again when its process lets go, and the wrapper keeps the lock.
func TestJoinAndRelease(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	wrapper, token, _ := wrapped(t, dir, 1)
	for range 3 {
		wantJoined(t, wrapper, false)
		if got := wrapper.childAcquires(t, dir); !got.ok() || got.Token != token {
			t.Fatalf("the child may not join: %+v", got)
		}
		wantJoined(t, wrapper, true)
		if got := wrapper.must(t, order{Do: "child", Child: &order{Do: "joined"}}); got.Joined {
			t.Error("the child says that somebody has joined it")
		}
		wrapper.must(t, order{Do: "child", Child: &order{Do: "release"}})
		wantHeld(t, start(t).acquire(t, dir))
	}
	if r := recordOf(t, dir); r.Token != token || r.Holder.PID != wrapper.pid || r.State == "released" {
		t.Errorf("the wrapper's record is now %+v", r)
	}
}

// Knowing the token is not being the holder's child.
func TestStrangerMayNotJoin(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	_, token, _ := wrapped(t, dir, 0)
	wantHeld(t, start(t, joining(dir, token)).acquire(t, dir))
}

// The token of one directory is not that of another, which an ancestor may well
// hold for itself with the same number.
func TestTokenOfAnotherDirectoryDoesNotJoin(t *testing.T) {
	t.Parallel()
	wrappers, mine := dataDir(t), dataDir(t)
	a := start(t, joining(wrappers, hold(t, mine).Token()))
	wantHeld(t, a.acquire(t, mine))
}

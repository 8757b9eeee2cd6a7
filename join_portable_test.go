//go:build !linux || solehold_portable

package solehold_test

import (
	"os"
	"strings"
	"testing"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/testneed"
)

// child starts a child of a holder, which has its directory and token in its
// environment, and what holds the directory if handed says so.
func child(t *testing.T, holder *agent, handed bool) *os.Process {
	t.Helper()
	n := 0
	if handed {
		n = 1
	}
	p, err := os.FindProcess(holder.must(t, order{Do: "share", N: n}).N)
	must(t, err)
	t.Cleanup(func() { p.Kill() })
	return p
}

func below(t *testing.T, holder *agent, o order) answer {
	t.Helper()
	return holder.do(t, order{Do: "child", Child: &o})
}

// One process below a holder that handed its hold down may guard itself with the same
// directory, and keeps it when the holder is killed.
func TestSeatBelowAHolder(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	holder, other := start(t), start(t)
	got := holder.acquire(t, dir)
	wantFree(t, got)
	token := got.Token
	first := child(t, holder, true)
	if got := below(t, holder, order{Do: "acquire", Dir: dir}); !got.ok() || got.Token != token {
		t.Fatalf("the child may not sit: %+v", got)
	}
	wantHeld(t, other.acquire(t, dir))
	second := child(t, holder, true)
	wantHeld(t, below(t, holder, order{Do: "acquire", Dir: dir})) // the seat is taken
	must(t, second.Kill())

	holder.kill()
	wantHeld(t, other.acquire(t, dir))
	if s := state(t, dir); s.State == solehold.Free {
		t.Errorf("without the holder: %+v", s)
	}
	must(t, first.Kill())
	testneed.Until(t, "it is free", func() bool { return other.acquire(t, dir).ok() })
}

// The seat is free again when its process lets go, and the holder keeps the directory.
func TestSeatIsGivenBack(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	holder, other := start(t), start(t)
	got := holder.acquire(t, dir)
	wantFree(t, got)
	token := got.Token
	child(t, holder, true)
	for range 3 {
		wantJoined(t, holder, false)
		if got := below(t, holder, order{Do: "acquire", Dir: dir}); !got.ok() || got.Token != token {
			t.Fatalf("the child may not sit: %+v", got)
		}
		wantJoined(t, holder, true)
		if got := below(t, holder, order{Do: "release"}); !got.ok() {
			t.Fatal(got.Text)
		}
		wantHeld(t, other.acquire(t, dir))
	}
	if r := recordOf(t, dir); r.Token != token || r.Holder.PID != holder.pid || r.State == "released" {
		t.Errorf("the holder's record is now %+v", r)
	}
	holder.must(t, order{Do: "release"})
}

// Directory and token in the environment are no proof. Told of an owner the program
// would leave, as if another copy were at work.
func TestSeatNeedsTheHold(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	holder := start(t)
	got := holder.acquire(t, dir)
	wantFree(t, got)
	token := got.Token
	child(t, holder, false)
	stranger := start(t, joining(dir, token))
	for who, got := range map[string]answer{
		"a child": below(t, holder, order{Do: "acquire", Dir: dir}), "a stranger": stranger.acquire(t, dir),
	} {
		if got.ok() || got.Held || got.Code != 64 || got.Reason != solehold.Unsupported || !strings.Contains(got.Text, "did not hand it down") {
			t.Errorf("%s: %+v", who, got)
		}
	}
}

// The token of one directory is not that of another one.
func TestSeatOfAnotherDirectory(t *testing.T) {
	t.Parallel()
	dir, another := dataDir(t), dataDir(t)
	holder, other := start(t), start(t)
	wantFree(t, holder.acquire(t, dir))
	wantFree(t, other.acquire(t, another))
	child(t, holder, true)
	wantHeld(t, below(t, holder, order{Do: "acquire", Dir: another}))
}

package solehold_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/record"
	"golang.org/x/sys/unix"
)

// edits are what people and disks do to a record.
func edits() map[string]func(*testing.T, string) {
	write := func(text string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { overwrite(t, lockFile(dir), []byte(text)) }
	}
	change := func(f func(*record.Record)) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			r := *recordOf(t, dir)
			f(&r)
			forge(t, dir, r)
		}
	}
	return map[string]func(*testing.T, string){
		"empty": write(""), "newline": write("\n"), "zero": write("0"), "minus one": write("-1"), "letters": write("12a"),
		"NULs": write(string(make([]byte, 1<<20))), "cut": write(`{"format":1,"seq":9,"tok`),
		"released":     change(func(r *record.Record) { r.State = record.Released; r.Seq++ }),
		"dead":         change(func(r *record.Record) { r.Holder.PID = 1 << 22; r.Seq++ }),
		"reused":       change(func(r *record.Record) { r.Holder.StartTicks++; r.Seq++ }),
		"other boot":   change(func(r *record.Record) { r.Holder.BootID = "00000000-0000-0000-0000-000000000000"; r.Seq++ }),
		"other host":   change(func(r *record.Record) { r.Holder.MachineID = "0123456789abcdef"; r.Seq++ }),
		"other holder": change(func(r *record.Record) { r.Nonce, r.Token = "00", r.Token+7 }),
		"init":         change(func(r *record.Record) { r.Holder.PID, r.Seq = 1, r.Seq+1 }),
		"old":          change(func(r *record.Record) { r.AcquiredBoottime, r.Acquired = 0, r.Acquired.AddDate(-30, 0, 0) }),
	}
}

// Whatever the record says while the lock is held: nobody else gets in, and the
// holder stays.
func TestG3NoTakeoverByOpinion(t *testing.T) {
	t.Parallel()
	for name, edit := range edits() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := dataDir(t)
			lock := hold(t, dir)
			edit(t, dir)
			other := start(t)
			wantHeld(t, other.acquire(t, dir))
			wantState(t, dir, "HELD")
			checked(t, dir)
			wantKept(t, lock)
			wantHeld(t, other.acquire(t, dir))
			must(t, lock.Release())
			wantFree(t, other.acquire(t, dir))
		})
	}
}

// A free directory is free, also where the record swears that its holder lives.
func TestG3RecordExtendsNothing(t *testing.T) {
	t.Parallel()
	for name, edit := range edits() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := dataDir(t)
			a := start(t)
			wantFree(t, a.acquire(t, dir))
			edit(t, dir)
			a.kill()
			once(t, dir)
		})
	}
	t.Run("live", func(t *testing.T) {
		t.Parallel()
		dir := dataDir(t)
		lock := hold(t, dir)
		alive := *recordOf(t, dir) // of this process, which goes on living
		must(t, lock.Release())
		alive.Seq += 2
		forge(t, dir, alive)
		wantState(t, dir, "UNGUARDED")
		wantFree(t, start(t).acquire(t, dir))
	})
}

// rising checks that every token is higher than those before.
type rising struct {
	t    *testing.T
	last uint64
}

func (r *rising) next(token uint64, after string) {
	r.t.Helper()
	if token <= r.last {
		r.t.Errorf("token %d after %s, the last was %d", token, after, r.last)
	}
	r.last = max(r.last, token)
}

func TestG4RisingTokens(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	r := rising{t: t}
	crash := func() {
		a := start(t)
		got := a.acquire(t, dir)
		wantFree(t, got)
		r.next(got.Token, "start")
		a.kill()
	}
	damage := func(what string, do func()) {
		for range 3 {
			crash()
			do()
			r.next(once(t, dir), "kill and "+what)
			do()
			r.next(once(t, dir), "release and "+what)
		}
	}
	r.next(once(t, dir), "nothing")
	r.next(once(t, dir), "release")
	damage("nothing", func() {})
	damage("a torn slot", func() { tearNewest(t, dir) })
	damage("a slot of NULs", func() { fillNewest(t, dir, 0) })
	damage("a cut file", func() { must(t, os.Truncate(lockFile(dir), record.SlotSize)) })
	damage("an empty file", func() { must(t, os.Truncate(lockFile(dir), 0)) })
	damage("garbage", func() { overwrite(t, lockFile(dir), bytes.Repeat([]byte("x"), 9000)) })
	damage("a removed lock file", func() { must(t, os.Remove(lockFile(dir))) })
}

func tearNewest(t *testing.T, dir string) { fillNewest(t, dir, 'x') }

// fillNewest overwrites the end of the newest slot.
func fillNewest(t *testing.T, dir string, c byte) {
	t.Helper()
	data, err := os.ReadFile(lockFile(dir))
	must(t, err)
	head, err := record.Newest(data)
	must(t, err)
	slot := data[head.Slot*record.SlotSize:][:record.SlotSize]
	copy(slot[1000:], bytes.Repeat([]byte{c}, len(slot)))
	overwrite(t, lockFile(dir), data)
}

// The highest number there is must not wrap to the lowest.
func TestG4TokensDoNotWrap(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	once(t, dir)
	r := *recordOf(t, dir)
	r.Token = math.MaxUint64
	forge(t, dir, r)
	lock, err := solehold.Acquire(context.Background(), dir, nil)
	if err == nil {
		lock.Release()
		t.Fatalf("token %d after %d", lock.Token(), r.Token)
	}
	wantFailure(t, failure(err), wanted{reason: solehold.Refused, path: lockFile(dir), code: 78})
}

// Damage at random places between holds never stops a start nor lowers a token.
func TestG4TokensOverRandomDamage(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	random := seeded(t)
	r := rising{t: t}
	for i := range soak(2000) {
		r.next(once(t, dir), fmt.Sprintf("damage %d", i))
		data, err := os.ReadFile(lockFile(dir))
		must(t, err)
		overwrite(t, lockFile(dir), damaged(random, data))
	}
}

// damaged cuts data or changes a run of its bytes.
func damaged(random *rand.Rand, data []byte) []byte {
	if random.IntN(3) == 0 {
		return data[:random.IntN(len(data)+1)]
	}
	from := random.IntN(len(data))
	for i := range min(random.IntN(100)+1, len(data)-from) {
		data[from+i] ^= byte(random.IntN(256))
	}
	return data
}

// A starter that is refused while the owner has the lock and not yet its own
// record there names that owner, not what the predecessor left.
func TestOwnerThatHasJustComeIsNamed(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	read := func() []byte {
		data, err := os.ReadFile(lockFile(dir))
		must(t, err)
		return data
	}
	first := start(t)
	first.acquire(t, dir)
	crashed := read()
	first.kill()
	must(t, hold(t, dir).Release())
	released := read()
	second := start(t)
	second.acquire(t, dir)
	for name, before := range map[string][]byte{"born": nil, "crashed": crashed, "released": released} {
		o, err := solehold.NamedAfter(dir, before)
		must(t, err)
		if o.PID != second.cmd.Process.Pid || o.StartedBy == "" || o.Since.IsZero() || len(o.Notes) > 0 || o.Leftover {
			t.Errorf("%s: %s %q", name, o, o.Notes)
		}
	}
	must(t, unix.Kill(second.pid, unix.SIGSTOP)) // or it would repair its record
	own := read()
	for name, before := range map[string][]byte{"born": nil, "crashed": crashed, "released": released} {
		must(t, os.WriteFile(lockFile(dir), before, 0o600))
		time.AfterFunc(20*time.Millisecond, func() { os.WriteFile(lockFile(dir), own, 0o600) })
		s, err := solehold.InspectNamed(t.Context(), dir, nil)
		must(t, err)
		if s.State != solehold.Held || s.Record.Class != "live" || s.Owner.PID != second.cmd.Process.Pid || s.Owner.Since.IsZero() || len(s.Owner.Notes) > 0 {
			t.Errorf("%s, asked for: %+v", name, s)
		}
	}
}

package evidence_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/evidence"
)

// dump is what two goroutines print that wait for each other, cut to what counts.
const dump = `log line before
SIGQUIT: quit

goroutine 11 gp=0x3a88ac60a5a0 m=nil [sync.Mutex.Lock, 2 minutes]:
runtime.gopark(0x8000000000000?, 0x7f4f8ab1e9a8?, 0x0?, 0x80?, 0x60?)
	/usr/local/go/src/runtime/proc.go:462 +0xce
runtime.semacquire1(0x3a88ac5bc0cc, 0x0, 0x3, 0x2, 0x16)
	/usr/local/go/src/runtime/sema.go:192 +0x232
internal/sync.runtime_SemacquireMutex(0x0?, 0x0?, 0x0?)
	/usr/local/go/src/runtime/sema.go:95 +0x25
internal/sync.(*Mutex).lockSlow(0x3a88ac5bc0c8)
	/usr/local/go/src/internal/sync/mutex.go:149 +0x15d
internal/sync.(*Mutex).Lock(...)
	/usr/local/go/src/internal/sync/mutex.go:70
sync.(*Mutex).Lock(...)
	/usr/local/go/src/sync/mutex.go:46
main.transfer(0x1)
	/src/bank/main.go:17 +0x9d

goroutine 12 gp=0x3a88ac60a780 m=nil [sync.Mutex.Lock]:
runtime.gopark(0x0?, 0x0?, 0x0?, 0x0?, 0x0?)
	/usr/local/go/src/runtime/proc.go:462 +0xce
sync.(*Mutex).Lock(...)
	/usr/local/go/src/sync/mutex.go:46
main.refund(0x2)
	/src/bank/main.go:31 +0x9d
`

// taken is an incident about this process.
func taken(t *testing.T) (*os.Root, evidence.Incident) {
	t.Helper()
	state := root(t)
	in, err := evidence.Take(t.Context(), state, evidence.Request{Subject: "/data", Reason: "no answer", PIDs: []int{os.Getpid()}})
	if err != nil {
		t.Fatal(err)
	}
	return state, in
}

// What a service prints when it is stopped becomes part of its incident, and of the
// finding where it shows who waits.
func TestAmend(t *testing.T) {
	t.Parallel()
	state, in := taken(t)
	finding, err := evidence.Amend(state, in.ID, []byte(dump))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{in.Finding, "2 goroutines wait in sync.Mutex.Lock", "main.transfer (/src/bank/main.go:17)", "main.refund (/src/bank/main.go:31)"} {
		if !strings.Contains(finding, want) {
			t.Errorf("the finding lacks %q: %s", want, finding)
		}
	}
	again, err := evidence.Load(state, in.ID)
	if err != nil || again.Finding != finding || again.Reason != in.Reason || !again.Time.Equal(in.Time) {
		t.Errorf("%+v, %v", again, err)
	}
	page, _, err := evidence.Part(state, in.ID, "summary.md")
	if err != nil || !strings.HasPrefix(string(page), finding+"\n") || !strings.Contains(string(page), "last-output.txt") {
		t.Errorf("%.300s, %v", page, err)
	}
	words, _, err := evidence.Part(state, in.ID, "last-output.txt")
	if err != nil || string(words) != dump {
		t.Errorf("%q, %v", words, err)
	}
}

// Output without a dump is kept, and changes no finding.
func TestAmendWithoutDump(t *testing.T) {
	t.Parallel()
	state, in := taken(t)
	before, _, err := evidence.Part(state, in.ID, "summary.md")
	if err != nil {
		t.Fatal(err)
	}
	finding, err := evidence.Amend(state, in.ID, []byte("bye\n"))
	if err != nil || finding != in.Finding {
		t.Errorf("%q, %v", finding, err)
	}
	after, _, err := evidence.Part(state, in.ID, "summary.md")
	if err != nil || string(after) != string(before) {
		t.Errorf("the summary changed: %v", err)
	}
}

func TestAmendOfNothing(t *testing.T) {
	t.Parallel()
	state, in := taken(t)
	if _, err := evidence.Amend(state, "20200101T000000Z-1", nil); !errors.Is(err, evidence.ErrNoIncident) {
		t.Errorf("%v", err)
	}
	if _, err := evidence.Amend(state, "../"+in.ID, nil); !errors.Is(err, evidence.ErrNoIncident) {
		t.Errorf("a name that leads elsewhere: %v", err)
	}
	// Twice: what is there already is not written over.
	if _, err := evidence.Amend(state, in.ID, []byte("first")); err != nil {
		t.Fatal(err)
	}
	if _, err := evidence.Amend(state, in.ID, []byte("second")); err == nil {
		t.Error("written over")
	}
}

// A link in the place of the output is not followed.
func TestAmendFollowsNothing(t *testing.T) {
	t.Parallel()
	state, in := taken(t)
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(state.Name(), evidence.Folder, in.ID, "last-output.txt")); err != nil {
		t.Fatal(err)
	}
	if _, err := evidence.Amend(state, in.ID, []byte(dump)); err == nil {
		t.Error("it was written through a link")
	}
	if text, err := os.ReadFile(victim); err != nil || string(text) != "mine" {
		t.Errorf("%q, %v", text, err)
	}
}

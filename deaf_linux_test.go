package solehold_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold"
)

// deaf runs a process whose user has no inotify instances left, in a user namespace
// with a limit of its own.
func deaf(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	cmd.Env = append(cmd.Env, partVar+"=deaf")
}

func serveDeaf() {
	if err := os.WriteFile("/proc/sys/user/max_inotify_instances", []byte("0"), 0); err != nil {
		panic(err)
	}
	serve(false)
}

// Inotify instances are few, 128 for a user by default. Who gets none waits and is
// waited for all the same, a little later.
func TestWithoutInotify(t *testing.T) {
	t.Parallel()
	t.Run("a waiter", func(t *testing.T) {
		t.Parallel()
		dir := dataDir(t)
		lock := hold(t, dir)
		waiter := start(t, deaf)
		waiter.waits(t, dir)
		must(t, lock.Release())
		if got := waiter.gets(t); !got.ok() || got.Took > time.Minute {
			t.Fatalf("after a release: %+v", got)
		}
		waiter.must(t, order{Do: "release"})

		holder := start(t)
		wantFree(t, holder.acquire(t, dir))
		waiter.waits(t, dir)
		holder.kill()
		if got := waiter.gets(t); !got.ok() {
			t.Fatalf("after a kill: %+v", got)
		}
	})
	t.Run("a holder that is asked", func(t *testing.T) {
		t.Parallel()
		dir := dataDir(t)
		holder := start(t, deaf)
		got := holder.acquire(t, dir)
		wantFree(t, got)
		p, err := solehold.RequestRelease(t.Context(), dir, solehold.ReleaseRequest{Token: got.Token, Why: "a test"}, patient())
		must(t, err)
		defer p.Withdraw()
		began := time.Now()
		if got := holder.do(t, order{Do: "asked", N: int(patience / time.Millisecond)}); !got.ok() {
			t.Error(got.Text)
		}
		// The check of those who hear is every 30 s.
		if took := time.Since(began); took > 25*time.Second {
			t.Errorf("it was asked for %s before it knew", took)
		}
	})
	t.Run("one who asks", func(t *testing.T) {
		t.Parallel()
		dir := dataDir(t)
		holder, asker := start(t), start(t, deaf)
		got := holder.acquire(t, dir)
		wantFree(t, got)
		asker.tell(t, order{Do: "request", Dir: dir, N: int(got.Token)})
		holder.must(t, order{Do: "asked", N: int(patience / time.Millisecond)})
		holder.must(t, order{Do: "release"})
		if got := asker.hear(t); !got.ok() {
			t.Error(got.Text)
		}
	})
}

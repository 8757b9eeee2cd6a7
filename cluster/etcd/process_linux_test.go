package etcd_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/cluster/etcd"
)

const (
	hostsVar = "SOLEHOLD_ETCD_TEST_HOSTS" // makes this binary a holder
	held     = "held by a process"
	ttl      = 3 * time.Second
)

func TestMain(m *testing.M) {
	if hosts := os.Getenv(hostsVar); hosts != "" {
		os.Exit(hold(hosts))
	}
	if dir := os.Getenv(serverVar); dir != "" {
		os.Exit(serve(dir))
	}
	os.Exit(m.Run())
}

// hold is the holder: it acts, in a line with the time since boot, for as long as Check lets it, and says why it ends.
func hold(hosts string) int {
	target, err := cluster.ParseURL("etcd://"+hosts+"/test/dir", cluster.Sources{})
	if err != nil {
		return 2
	}
	config, err := etcd.ConfigOf(target)
	if err != nil {
		return 2
	}
	b, err := etcd.New(config)
	if err != nil {
		return 2
	}
	c, err := cluster.New(b, cluster.Options{TTL: ttl, Delay: ttl / 10})
	if err != nil {
		return 2
	}
	l, err := c.Acquire(context.Background(), held, cluster.AcquireOptions{})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	fmt.Println("token", l.Token())
	tick := time.NewTicker(time.Millisecond)
	for range tick.C {
		if err := l.Check(); err != nil {
			fmt.Println("lost", err)
			return 0
		}
		fmt.Println("act", int64(cluster.SystemClock().Now()))
	}
	return 0
}

// holder is a process that holds.
type holder struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
	token uint64
	acts  []time.Duration
	lost  string
}

func startHolder(t *testing.T, hosts string) *holder {
	t.Helper()
	h := &holder{cmd: exec.Command(os.Args[0])}
	h.cmd.Env = append(os.Environ(), hostsVar+"="+hosts)
	h.cmd.Stderr = os.Stderr
	out, err := h.cmd.StdoutPipe()
	if err == nil {
		err = h.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.cmd.Process.Kill()
		h.cmd.Wait()
	})
	h.lines = bufio.NewScanner(out)
	for h.token == 0 {
		if !h.next() {
			t.Fatalf("the holder ended: %s", h.lines.Text())
		}
	}
	for len(h.acts) < 10 && h.next() {
	}
	return h
}

// next reads one line.
func (h *holder) next() bool {
	if !h.lines.Scan() {
		return false
	}
	what, value, _ := strings.Cut(h.lines.Text(), " ")
	switch n, err := strconv.ParseUint(value, 10, 64); {
	case what == "token":
		h.token = n
	case what == "act" && err == nil:
		h.acts = append(h.acts, time.Duration(n))
	case what == "lost":
		h.lost = value
	}
	return true
}

// successor takes the lock and gives when it owned it.
func successor(t *testing.T, hosts string) (cluster.Lease, time.Duration) {
	t.Helper()
	c, err := cluster.New(backend(t, hosts), cluster.Options{TTL: ttl, Delay: ttl / 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), ttl)
		defer cancel()
		c.Close(ctx)
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	begin := time.Now()
	l, err := c.Acquire(ctx, held, cluster.AcquireOptions{Wait: true})
	if err != nil {
		t.Fatal(err)
	}
	owned := cluster.SystemClock().Now()
	t.Logf("succeeded after %v", time.Since(begin).Round(time.Millisecond))
	return l, owned
}

// TestStoppedProcess stops a holder beyond its time and lets it go on: its first look at the lock ends it, and a write
// that is fenced is refused.
func TestStoppedProcess(t *testing.T) {
	t.Parallel()
	host := addr(start(t, 1)[0])
	h := startHolder(t, host)
	if err := h.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	l, owned := successor(t, host)
	if l.Token() <= h.token {
		t.Errorf("token %d after %d", l.Token(), h.token)
	}
	if err := h.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for h.next() {
	}
	late := 0
	for _, at := range h.acts {
		if at > owned {
			late++
		}
	}
	// Between its last look and the act it may have been stopped: no client can close that, only the fence.
	if late > 1 || h.lost == "" {
		t.Errorf("%d late acts, ended by %q", late, h.lost)
	}
	t.Logf("%d acts, %d late, then: %s", len(h.acts), late, h.lost)
	fenced(t, host, h.token, l.Token())
	if err := l.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// fenced writes with the void token and with the present one.
func fenced(t *testing.T, host string, void, present uint64) {
	t.Helper()
	b, c := backend(t, host), raw(t, host)
	defer b.Close()
	for token, want := range map[uint64]bool{void: false, present: true} {
		answer, err := c.Txn(t.Context()).If(b.Owner(held, token)).Then(put("/data", fmt.Sprint(token))).Commit()
		if err != nil || answer.Succeeded != want {
			t.Errorf("a write with token %d: %v, %v", token, answer.Succeeded, err)
		}
	}
}

// TestKilledProcess kills a holder: the lock is free when its lease has run out, not before, and the next token is higher.
func TestKilledProcess(t *testing.T) {
	t.Parallel()
	host := addr(start(t, 1)[0])
	h := startHolder(t, host)
	if err := h.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for h.next() {
	}
	l, owned := successor(t, host)
	if last := h.acts[len(h.acts)-1]; owned < last || l.Token() <= h.token {
		t.Errorf("owned at %v, last act at %v; token %d after %d", owned, last, l.Token(), h.token)
	}
	if err := l.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestLeaderKilled stops the leader of three members: a holder keeps its lock, and the others can be asked.
func TestLeaderKilled(t *testing.T) {
	t.Parallel()
	all := start(t, 3)
	c, err := cluster.New(backend(t, addrs(all)...), cluster.Options{TTL: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	l, err := c.Acquire(t.Context(), held, cluster.AcquireOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var rest []string
	for _, e := range all {
		if e.Server.Leader() == e.Server.MemberID() {
			e.Server.HardStop() // without handing its office over
		} else {
			rest = append(rest, addr(e))
		}
	}
	if len(rest) != 2 {
		t.Fatalf("%d members are left", len(rest))
	}
	begin := time.Now()
	other, err := cluster.New(backend(t, rest...), cluster.Options{TTL: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(t.Context())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for err = nil; !errors.Is(err, cluster.ErrHeld); {
		if _, err = other.Acquire(ctx, held, cluster.AcquireOptions{}); ctx.Err() != nil || err == nil {
			t.Fatal(err)
		}
	}
	t.Logf("the others answer after %v", time.Since(begin).Round(time.Millisecond))
	if err := l.Check(); err != nil {
		t.Errorf("the holder lost its lock: %v", err)
	}
	if err := l.Release(ctx); err != nil {
		t.Error(err)
	}
	next, err := other.Acquire(ctx, held, cluster.AcquireOptions{Wait: true})
	if err != nil || next.Token() <= l.Token() {
		t.Fatal(next, err)
	}
	if err := next.Release(ctx); err != nil {
		t.Error(err)
	}
}

// TestTwoMembersGone stops two of three members: no quorum can give a lock away, nor confirm one. The holder is told, and
// killed, within the time to live, and nobody starts.
func TestTwoMembersGone(t *testing.T) {
	t.Parallel()
	all := start(t, 3)
	const ttl = 5 * time.Second
	client := func() *cluster.Client {
		t.Helper()
		c, err := cluster.New(backend(t, addrs(all)...), cluster.Options{TTL: ttl, Delay: 500 * time.Millisecond, Grace: 500 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			c.Close(ctx)
		})
		return c
	}
	l, err := client().Acquire(t.Context(), held, cluster.AcquireOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all[:2] {
		e.Close()
	}
	begin := time.Now() // an acknowledgement may be as young as this
	started := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), 3*ttl)
		defer cancel()
		_, err := client().Acquire(ctx, held, cluster.AcquireOptions{Wait: true})
		started <- err
	}()
	late := time.After(patience)
	for what, done := range map[string]<-chan struct{}{"told": l.Context().Done(), "killed": l.Killed()} {
		select {
		case <-done:
		case err := <-started:
			t.Fatalf("before the holder was %s: %v", what, err)
		case <-late:
			t.Fatalf("the holder was never %s", what)
		}
	}
	took := time.Since(begin)
	if t.Logf("told and killed %v after the members had gone, of a ttl of %v", took.Round(time.Millisecond), ttl); took >= ttl || l.Check() == nil {
		t.Errorf("after %v of %v: %v", took, ttl, l.Check())
	}
	if err := <-started; err == nil {
		t.Error("somebody has started")
	}
}

package agent_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/cluster"
)

// A watch at etcd hears of changes as they happen, and tells of each tenure, however short: this one would look again by
// itself only after an hour.
func TestWatchAsItHappens(t *testing.T) {
	t.Parallel()
	url := "etcd://" + engine(t) + "/test/dir"
	c, err := cluster.New(direct(t, url), cluster.Options{Info: "holder"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	pass := func() uint64 {
		l, err := c.Acquire(t.Context(), "x", cluster.AcquireOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Release(t.Context())
		return l.Token()
	}
	pass()
	cmd := exec.Command(filepath.Join(filepath.Dir(tool), clusterProgram), "watch", "--cluster", url, "--every", "1h", "--json")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer late.Stop()
	lines := bufio.NewScanner(out)
	next := func() (told struct {
		State string
		Token uint64
	},
	) {
		t.Helper()
		if !lines.Scan() {
			t.Fatal("the watch has ended")
		}
		if err := json.Unmarshal(lines.Bytes(), &told); err != nil {
			t.Fatalf("%s: %v", lines.Bytes(), err)
		}
		return told
	}
	if first := next(); first.State != "FREE" {
		t.Errorf("at first %+v", first)
	}
	var want []uint64
	for range 10 {
		want = append(want, pass())
	}
	l, err := c.Acquire(t.Context(), "x", cluster.AcquireOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release(t.Context())
	times, free := map[uint64]int{}, 0
	for told := next(); told.Token != l.Token(); told = next() {
		if told.State == "FREE" {
			free++
		} else {
			times[told.Token]++
		}
	}
	for _, token := range want {
		if times[token] == 0 { // then a free lock told of it
			free--
		}
	}
	if t.Logf("of %d tenures these were told of so often: %v", len(want), times); free < 0 {
		t.Errorf("%d tenures were not told of", -free)
	}
}

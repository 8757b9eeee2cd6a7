package remote_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/remote"
)

// patience bounds every wait for something that has to happen.
const patience = 60 * time.Second

// TestMain makes this test binary the program that is asked, by its arguments: the name
// of the engine's host says how it behaves.
func TestMain(m *testing.M) {
	if len(os.Args) < 4 || os.Args[1] != "status" {
		os.Exit(m.Run())
	}
	host, _, _ := strings.Cut(strings.TrimPrefix(os.Args[3], "etcd://"), ":")
	switch host {
	case "two":
		fmt.Println(`{"state":"HELD","name":"kb","key":"/p/claim/kb","held":true,"token":7,"info":"kb on host db1, pid 12, /srv/kb","since":"yesterday","left":9.5}`)
		fmt.Println(`{"state":"FREE","name":"a","key":"/p/claim/a","info":"a on host db2, pid 4, /srv/a","since":"2026-01-02T03:04:05Z","ended":true}`)
	case "many":
		for i := range 1000 {
			fmt.Printf(`{"state":"FREE","name":"n%04d"}`+"\n", i)
		}
	case "endless":
		for {
			if _, err := fmt.Println(strings.Repeat("x", 1<<16)); err != nil {
				os.Exit(1)
			}
		}
	case "odd":
		fmt.Println(`{"state":"HELD"}`)
	case "down":
		fmt.Fprintln(os.Stderr, "solehold-cluster: etcd at [down:1]: connection refused\n  next: check that")
		os.Exit(74)
	case "silent":
		<-time.After(time.Hour)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// asked asks until the answer is as wanted.
func asked(t *testing.T, w *remote.Watcher, fits func(remote.Cluster) bool) remote.Cluster {
	t.Helper()
	news := make(chan struct{}, 1)
	w.OnNews(func() {
		select {
		case news <- struct{}{}:
		default:
		}
	})
	late := time.After(patience)
	for {
		w.Want(t.Context())
		all, _ := w.Last()
		if fits(all[0]) {
			return all[0]
		}
		select {
		case <-news:
		case <-time.After(time.Second):
		case <-late:
			t.Fatalf("%+v", all)
		}
	}
}

func watch(t *testing.T, url string, timeout time.Duration) *remote.Watcher {
	t.Helper()
	w, err := remote.New(os.Args[0], []string{url}, timeout)
	must(t, err)
	return w
}

// What the program says of each lock is there, with the machine of its holder.
func TestLocks(t *testing.T) {
	t.Parallel()
	w := watch(t, "etcd://two:1/p?user=u", patience)
	if all, n := w.Last(); n != 0 || !all[0].Answered.IsZero() || all[0].Engine != "etcd://two:1/p" {
		t.Errorf("before: %+v %d", all, n)
	}
	c := asked(t, w, func(c remote.Cluster) bool { return !c.Answered.IsZero() })
	if len(c.Locks) != 2 || c.Trouble != "" || c.LeftOut != 0 {
		t.Fatalf("%+v", c)
	}
	kb := c.Locks[1]
	left := kb.Until.Sub(c.Answered)
	if kb.Name != "kb" || !kb.Held() || kb.Token != 7 || kb.Host != "db1" || !kb.Since.Equal(c.Answered) || left < 8*time.Second || left > 10*time.Second {
		t.Errorf("%+v", kb)
	}
	if a := c.Locks[0]; a.Held() || a.Host != "db2" || !a.Since.IsZero() || !a.Until.IsZero() {
		t.Errorf("%+v", a)
	}
	if _, n := w.Last(); n != 1 {
		t.Errorf("revision %d", n)
	}
}

// Nothing of an engine, or of the program, holds up who wants to know, nor takes much
// room; it is said instead.
func TestTrouble(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"silent":  "did not answer within 100ms",
		"down":    "etcd at [down:1]: connection refused",
		"endless": "its answer cannot be read",
		"odd":     "a line that is no lock",
	} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			limit := patience
			if host == "silent" {
				limit = 100 * time.Millisecond
			}
			c := asked(t, watch(t, "etcd://"+host+":1/p", limit), func(c remote.Cluster) bool { return c.Trouble != "" })
			if !strings.Contains(c.Trouble, want) || len(c.Locks) > 0 || len(c.Trouble) > 500 {
				t.Errorf("%+v", c)
			}
		})
	}
	c := asked(t, watch(t, "etcd://many:1/p", patience), func(c remote.Cluster) bool { return !c.Answered.IsZero() })
	if len(c.Locks) != remote.MostLocks || c.LeftOut != 1000-remote.MostLocks {
		t.Errorf("%d locks, %d left out", len(c.Locks), c.LeftOut)
	}
	w, err := remote.New("/no/such/program", []string{"etcd://two:1/p"}, patience)
	must(t, err)
	if c := asked(t, w, func(c remote.Cluster) bool { return c.Trouble != "" }); !strings.Contains(c.Trouble, "no such file") {
		t.Errorf("%+v", c)
	}
}

// Who asks often makes no more questions, and nobody is asked without an address.
func TestPace(t *testing.T) {
	t.Parallel()
	var none *remote.Watcher
	none.Want(t.Context())
	if all, n := none.Last(); all != nil || n != 0 {
		t.Errorf("%+v", all)
	}
	w := watch(t, "etcd://two:1/p", patience)
	first := asked(t, w, func(c remote.Cluster) bool { return !c.Answered.IsZero() })
	for range 100 {
		w.Want(t.Context())
	}
	if all, _ := w.Last(); !all[0].Answered.Equal(first.Answered) {
		t.Error("it was asked again at once")
	}
}

// An address that cannot be is refused, and nothing that may be a secret is shown.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"etcd://u:hunter2@h:1/p", "etcd://"} {
		if _, err := remote.New("x", []string{url}, patience); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// Where the context ends nothing goes on.
func TestStops(t *testing.T) {
	t.Parallel()
	w := watch(t, "etcd://silent:1/p", patience)
	ctx, stop := context.WithCancel(t.Context())
	news := make(chan struct{})
	w.OnNews(func() { close(news) })
	w.Want(ctx)
	stop()
	select {
	case <-news:
	case <-time.After(patience):
		t.Fatal("it goes on")
	}
	if all, _ := w.Last(); !slices.ContainsFunc(all, func(c remote.Cluster) bool { return c.Trouble != "" }) {
		t.Errorf("%+v", all)
	}
}

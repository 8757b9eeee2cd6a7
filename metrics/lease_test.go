package metrics_test

import (
	"testing"
	"time"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/metrics"
)

// client makes a client of an engine in memory that tells c.
func client(t *testing.T, c *metrics.Collector, faults string, o cluster.Options) *cluster.Client {
	t.Helper()
	f, err := cluster.ParseFaults(faults)
	must(t, err)
	o.TTL = 2 * time.Second
	made, err := cluster.New(c.Cluster("/srv/kb", cluster.NewMemory().Client(f), o))
	must(t, err)
	t.Cleanup(func() { made.Close(t.Context()) })
	return made
}

// The margin is renewed with the lease, and gone with it.
func TestLease(t *testing.T) {
	t.Parallel()
	c := metrics.NewCollector(metrics.Options{})
	acks := make(chan time.Duration, 100)
	cl := client(t, c, "", cluster.Options{OnAcked: func(_, ttl time.Duration) { acks <- ttl }})
	l, err := cl.Acquire(t.Context(), "a", cluster.AcquireOptions{})
	must(t, err)
	for range 3 {
		<-acks
	}
	got := scrape(t, c, "/srv/kb")
	if got["solehold_lease_ttl_seconds"] != 2 || got["solehold_lease_margin_seconds"] > 1.2 || got["solehold_lease_renewals_total"] < 2 || got["solehold_engine_errors_total"] != 0 {
		t.Errorf("%v", got)
	}
	if _, ok := got["solehold_lease_margin_seconds"]; !ok {
		t.Error("no margin")
	}
	must(t, l.Release(t.Context()))
	must(t, cl.Close(t.Context()))
	got = scrape(t, c, "/srv/kb")
	if _, ok := got["solehold_lease_margin_seconds"]; ok {
		t.Errorf("the lease was given back: %v", got)
	}
	if got["solehold_lease_renewals_total"] < 2 {
		t.Errorf("counters fell: %v", got)
	}
}

// An engine that falls silent is seen before the owner must stop, and its errors
// are counted. What comes of the lock is not the Collector's.
func TestSilentEngine(t *testing.T) {
	t.Parallel()
	c := metrics.NewCollector(metrics.Options{})
	cl := client(t, c, "renew.request lost 3-1000", cluster.Options{})
	l, err := cl.Acquire(t.Context(), "a", cluster.AcquireOptions{})
	must(t, err)
	least, tick := 2.0, time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for told := false; !told; {
		select {
		case <-l.Context().Done():
			told = true
		case <-tick.C:
			if m, ok := scrape(t, c, "/srv/kb")["solehold_lease_margin_seconds"]; ok {
				least = min(least, m)
			}
		case <-late:
			t.Fatal("the owner was not told")
		}
	}
	if least > 0.5 { // a quarter of the time to live: the alert's limit
		t.Errorf("the margin was never below %v", least)
	}
	until(t, c, "/srv/kb", "solehold_lease_renewals_total", 2)
	for scrape(t, c, "/srv/kb")["solehold_engine_errors_total"] == 0 {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("no errors are counted")
		}
	}
	l.Release(t.Context())
}

package etcd_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/solehold/solehold/cluster"
	"go.etcd.io/etcd/server/v3/embed"
)

// meter forwards connections, and counts what passes in both directions.
type meter struct {
	bytes atomic.Int64
	host  string
}

func newMeter(t testing.TB, target string) *meter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	m := &meter{host: l.Addr().String()}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", target)
			if err != nil {
				client.Close()
				continue
			}
			go m.copy(client, server)
			go m.copy(server, client)
		}
	}()
	return m
}

func (m *meter) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	io.Copy(to, io.TeeReader(from, m))
}

// Write counts.
func (m *meter) Write(p []byte) (int, error) {
	m.bytes.Add(int64(len(p)))
	return len(p), nil
}

// of gives the bytes of one of n times.
func (m *meter) of(n int, do func()) float64 {
	before := m.bytes.Load()
	for range n {
		do()
	}
	return float64(m.bytes.Load()-before) / float64(n)
}

// host is one machine of the page docs/scale.md: a lease with many locks.
type host struct {
	testing.TB
	etcd  *embed.Etcd
	meter *meter
	s     cluster.Session
	locks []cluster.Claim
}

func newHost(t testing.TB) *host {
	t.Helper()
	e := start(t, 1)[0]
	m := newMeter(t, addr(e))
	b := backend(t, m.host)
	t.Cleanup(func() { b.Close() })
	s, err := b.Grant(t.Context(), 60*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	h := &host{TB: t, etcd: e, meter: m, s: s}
	h.renew() // its stream is made
	return h
}

func (h *host) renew() {
	if _, err := h.s.Renew(h.Context()); err != nil {
		h.Fatal(err)
	}
}

func (h *host) verify() {
	if gone, err := h.s.Verify(h.Context(), h.locks); err != nil || len(gone) > 0 {
		h.Fatal(gone, err)
	}
}

// claim takes n more locks at once. What a holder says of itself is as long as that of a run.
func (h *host) claim(n int) {
	var all []cluster.Request
	for i := range n {
		name := fmt.Sprintf("srv/data-%06d", len(h.locks)+i)
		all = append(all, cluster.Request{Name: name, Nonce: fmt.Sprintf("%026d", i) + name, Delay: 3 * time.Second, Info: strings.Repeat("i", 80), Since: cluster.Moment(time.Now())})
	}
	var answers []cluster.Answer
	if n == 1 {
		g, err := h.s.Claim(h.Context(), all[0])
		answers = []cluster.Answer{{Grant: g, Err: err}}
	} else {
		answers = h.s.(cluster.Batcher).ClaimEach(h.Context(), all)
	}
	for i, a := range answers {
		if a.Err != nil {
			h.Error(a.Err)
		}
		h.locks = append(h.locks, cluster.Claim{Name: all[i].Name, Nonce: all[i].Nonce, Token: a.Grant.Token})
	}
}

func (h *host) release() {
	var all sync.WaitGroup
	for _, c := range h.locks {
		all.Go(func() { h.s.Release(h.Context(), c, true) })
	}
	all.Wait()
	h.locks = nil
}

// heap is what this process, which has the server in it, uses after a collection.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// costs measures what docs/scale.md counts with.
func costs(t testing.TB) map[string]float64 {
	t.Helper()
	h, got := newHost(t), map[string]float64{}
	got["bytes of a renewal"] = h.meter.of(50, h.renew)
	got["bytes of a claim alone"] = h.meter.of(20, func() { h.claim(1) })
	h.release()
	const many = 1000
	got["bytes of a claim among 100"] = h.meter.of(many/100, func() { h.claim(100) }) / 100
	got["bytes of a verification of a lock"] = h.meter.of(10, h.verify) / many
	got["bytes of a release among 100"] = h.meter.of(1, h.release) / many
	return got
}

// room measures what locks need at the server, and what it does in a second. Memory is that of server and client together.
func room(t testing.TB) map[string]float64 {
	t.Helper()
	const many = 5000
	h := newHost(t)
	h.claim(100)
	memory, disk, begin := heap(), h.etcd.Server.Backend().SizeInUse(), time.Now()
	for range many / 100 {
		h.claim(100)
	}
	took := time.Since(begin)
	h.etcd.Server.Backend().ForceCommit()
	got := map[string]float64{
		"claims a second":         many / took.Seconds(),
		"bytes of disk of a lock": float64(h.etcd.Server.Backend().SizeInUse()-disk) / many,
	}
	begin = time.Now()
	h.verify()
	got["comparisons a second"] = float64(len(h.locks)) / time.Since(begin).Seconds()
	<-time.After(time.Second) // the watches are there
	got["bytes of memory of a lock"] = (heap() - memory) / many
	disk = h.etcd.Server.Backend().SizeInUse()
	lives := float64(len(h.locks))
	h.release()
	h.etcd.Server.Backend().ForceCommit()
	got["bytes of disk of a release"] = float64(h.etcd.Server.Backend().SizeInUse()-disk) / lives
	return got
}

// written reads the table of docs/scale.md.
func written(t testing.TB) map[string]float64 {
	t.Helper()
	f, err := os.Open("../../docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	row, all := regexp.MustCompile(`^\| ([a-z0-9 ]+) \| ([\d,]+) \|`), map[string]float64{}
	for s := bufio.NewScanner(f); s.Scan(); {
		if m := row.FindStringSubmatch(s.Text()); m != nil {
			if all[m[1]], err = strconv.ParseFloat(strings.ReplaceAll(m[2], ",", ""), 64); err != nil {
				t.Fatal(err)
			}
		}
	}
	return all
}

// The constants of docs/scale.md are those that are measured, within a factor of two. Those of room, which the other tests
// of this process disturb, are there at all.
func TestScalePage(t *testing.T) {
	t.Parallel()
	page := written(t)
	for what, got := range costs(t) {
		t.Logf("%-35s %8.0f, written %.0f", what, got, page[what])
		if want := page[what]; got > 2*want || got < want/2 {
			t.Errorf("%s: measured %.0f, written %.0f", what, got, want)
		}
	}
	for what, got := range room(t) {
		t.Logf("%-35s %8.0f, written %.0f", what, got, page[what])
		if page[what] <= 0 && strings.HasPrefix(what, "bytes of ") { // the others are of one machine, and all are moved by tests beside this one
			t.Errorf("%s is not on the page", what)
		}
	}
}

// Ten thousand locks on one lease are renewed with the traffic of one.
func TestTenThousandLocks(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.claim(1)
	one := h.meter.of(100, h.renew)
	for range 100 {
		h.claim(100)
	}
	h.verify()
	all := 2 * one
	for begin := time.Now(); all > one*1.2 && time.Since(begin) < patience; {
		all = h.meter.of(100, h.renew) // watches of the claims may begin meanwhile
	}
	t.Logf("%d locks on one lease: %.0f bytes for a renewal, %.0f with one lock", len(h.locks), all, one)
	if all > one*1.2 {
		t.Error("a renewal grows with the locks")
	}
}

// BenchmarkScale prints the constants of docs/scale.md.
func BenchmarkScale(b *testing.B) {
	for range b.N {
		for _, measured := range []map[string]float64{costs(b), room(b)} {
			for what, got := range measured {
				b.ReportMetric(got, strings.ReplaceAll(what, " ", "-"))
			}
		}
	}
}

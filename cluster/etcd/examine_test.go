package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/cluster/clustertest"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/server/v3/embed"
)

// examine looks at servers from outside.
func examine(t *testing.T, limit time.Duration, hosts ...string) cluster.Health {
	t.Helper()
	b := backend(t, hosts...)
	defer b.Close()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	return b.Examine(ctx)
}

// oneServer gives the only server of a look that read everything.
func oneServer(t *testing.T, h cluster.Health) cluster.Server {
	t.Helper()
	if len(h.Servers) != 1 || len(h.Unread) > 0 || h.Servers[0].Err != "" {
		t.Fatalf("%+v", h)
	}
	return h.Servers[0]
}

func TestExamineOne(t *testing.T) {
	t.Parallel()
	l := newLine(t, addr(start(t, 1)[0]), 20*time.Second)
	l.own()
	h := examine(t, patience, l.host)
	s := oneServer(t, h)
	if s.Role != "leader" || s.Alone || !strings.HasPrefix(s.Version, "3.") || s.Faults != "" || s.Used <= 0 || s.Limit <= s.Used || s.Up <= 0 || s.Skew.Abs() > patience {
		t.Errorf("%+v", s)
	}
	if h.Members != 1 || h.Leases != 1 || h.Latency <= 0 || len(h.Blocked)+len(h.Forgets) > 0 {
		t.Errorf("%+v", h)
	}
}

// A database that is full takes no writes, and says so.
func TestExamineNoSpace(t *testing.T) {
	t.Parallel()
	e := startWith(t, 1, func(c *embed.Config) { c.QuotaBackendBytes = 256 << 10 })[0]
	keys := raw(t, addr(e))
	for n := 0; ; n++ {
		_, err := keys.Put(t.Context(), fmt.Sprint("fill/", n), strings.Repeat("x", 32<<10))
		if errors.Is(err, rpctypes.ErrNoSpace) {
			break
		}
		if err != nil || n > 1000 {
			t.Fatal(n, err)
		}
	}
	for { // the alarm goes through the log
		h := examine(t, patience, addr(e))
		if len(h.Blocked) == 0 && t.Context().Err() == nil {
			continue
		}
		if s := oneServer(t, h); !strings.Contains(h.Blocked[0], "NOSPACE") || s.Limit != 256<<10 || float64(s.Used) < 0.8*float64(s.Limit) {
			t.Errorf("%+v", h)
		}
		return
	}
}

// Members that end are named within the time, and without most of them there is no leader. Before that the leader moves.
func TestExamineThree(t *testing.T) {
	t.Parallel()
	all := start(t, 3)
	hosts := addrs(all)
	if h := examine(t, patience, hosts[0]); h.Members != 3 || len(h.Servers) != 1 {
		t.Errorf("by one of three: %+v", h)
	}
	before := examine(t, patience, hosts...)
	roles := map[string]int{}
	for _, s := range before.Servers {
		roles[s.Role]++
	}
	if roles["leader"] != 1 || roles["follower"] != 2 {
		t.Errorf("%+v", before)
	}
	move(t, all)
	if after := examine(t, patience, hosts...); after.Servers[0].Changes <= before.Servers[0].Changes {
		t.Errorf("the leader has moved: before %+v, after %+v", before.Servers[0], after.Servers[0])
	}
	all[2].Close()
	h := examine(t, 4*time.Second, hosts...)
	if h.Servers[2].Err == "" || h.Servers[0].Err != "" || h.Servers[1].Err != "" {
		t.Errorf("with one gone: %+v", h)
	}
	all[1].Close()
	for h = examine(t, 4*time.Second, hosts...); !h.Servers[0].Alone && t.Context().Err() == nil; { // it still believes in the leader for a moment
		h = examine(t, 4*time.Second, hosts...)
	}
	if h.Servers[1].Err == "" || h.Members != 0 {
		t.Errorf("with two gone: %+v", h)
	}
}

// move gives the lead to another member.
func move(t *testing.T, all []*embed.Etcd) {
	t.Helper()
	leader := all[0].Server.Leader()
	for _, e := range all {
		if e.Server.MemberID() != leader {
			continue
		}
		for _, to := range all {
			if to != e {
				if err := e.Server.MoveLeader(t.Context(), uint64(leader), uint64(to.Server.MemberID())); err != nil {
					t.Fatal(err)
				}
				return
			}
		}
	}
	t.Fatal("no leader")
}

// A server that takes connections and is silent costs no more than the time that was given.
func TestExamineSilent(t *testing.T) {
	t.Parallel()
	p := clustertest.NewProxy(t, addr(start(t, 1)[0]))
	p.Cut()
	begin := time.Now()
	h := examine(t, time.Second, p.Addr())
	if took := time.Since(begin); h.Servers[0].Err == "" || took > patience/2 {
		t.Errorf("after %v: %+v", took, h)
	}
	p.Heal()
}

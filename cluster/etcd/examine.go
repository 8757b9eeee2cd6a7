package etcd

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/solehold/solehold/cluster"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Examine asks each endpoint for its status and its metrics, and any of them for what the cluster knows.
func (b *Backend) Examine(ctx context.Context) cluster.Health {
	h := cluster.Health{Servers: make([]cluster.Server, len(b.c.Endpoints))}
	// A server that is silent must leave time for what is asked of the others.
	each, cancel := context.WithTimeout(ctx, part(ctx))
	defer cancel()
	gaps := make([]string, len(b.c.Endpoints))
	var all sync.WaitGroup
	for i, endpoint := range b.c.Endpoints {
		all.Go(func() {
			s := &h.Servers[i]
			s.Address = endpoint
			if b.status(each, s); s.Err == "" {
				if err := b.metrics(each, s); err != nil {
					gaps[i] = fmt.Sprintf("the metrics of %s, with the changes of its leader and its clock: %v", endpoint, err)
				}
			}
		})
	}
	all.Wait()
	for _, gap := range gaps {
		if gap != "" {
			h.Unread = append(h.Unread, gap)
		}
	}
	b.whole(ctx, &h)
	return h
}

// part is half of the time that is left.
func part(ctx context.Context) time.Duration {
	if at, ok := ctx.Deadline(); ok {
		return time.Until(at) / 2
	}
	return 5 * time.Second
}

func (b *Backend) status(ctx context.Context, s *cluster.Server) {
	answer, err := b.client.Status(ctx, s.Address)
	if err != nil {
		err, _ = cluster.WhySilent(err, s.Address)
		s.Err = err.Error()
		return
	}
	s.Version, s.Used, s.Limit = answer.Version, answer.DbSize, answer.DbSizeQuota
	if err := CheckVersion(answer.Version); err != nil {
		s.Faults = err.Error()
	}
	switch answer.Leader {
	case 0:
		s.Alone = true
	case answer.Header.MemberId:
		s.Role = "leader"
	default:
		s.Role = "follower"
	}
}

// metrics reads the changes of the leader, and the time of the server from the date of its answer.
func (b *Backend) metrics(ctx context.Context, s *cluster.Server) error {
	scheme := "http://"
	if b.c.TLS != nil {
		scheme = "https://"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+s.Address+"/metrics", nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{TLSClientConfig: b.c.TLS.Clone(), DisableKeepAlives: true}
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if at, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		s.Skew = time.Until(at).Round(time.Second)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", answer.Status)
	}
	const most = 8 << 20
	lines := bufio.NewScanner(io.LimitReader(answer.Body, most))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		n, err := strconv.ParseFloat(value, 64)
		switch {
		case err != nil:
		case name == "etcd_server_leader_changes_seen_total":
			s.Changes = int(n)
		case name == "process_start_time_seconds":
			s.Up = time.Since(time.UnixMilli(int64(n * 1000))) // by the clock here
		}
	}
	return lines.Err()
}

// whole asks what the cluster knows. Where no server answers there is nothing to add.
func (b *Backend) whole(ctx context.Context, h *cluster.Health) {
	unread := func(what string, err error) {
		if err != nil {
			h.Unread = append(h.Unread, fmt.Sprintf("%s: %v", what, plain(err)))
		}
	}
	there := false
	for _, s := range h.Servers {
		there = there || s.Err == "" && !s.Alone
	}
	if !there {
		return
	}
	var err error
	h.Latency, err = cluster.Fastest(func() error {
		_, err := b.client.Get(ctx, b.c.Prefix, clientv3.WithCountOnly())
		return err
	})
	unread("how fast it is", err)
	alarms, err := b.client.AlarmList(ctx)
	unread("its alarms", err)
	if err == nil {
		for _, a := range alarms.Alarms {
			h.Blocked = append(h.Blocked, alarm(a))
		}
	}
	members, err := b.client.MemberList(ctx)
	unread("its members", err)
	if err == nil {
		h.Members = len(members.Members)
	}
	leases, err := b.client.Leases(ctx)
	unread("its leases", err)
	if err == nil {
		h.Leases = len(leases.Leases)
	}
}

func alarm(a *pb.AlarmMember) string {
	switch a.Alarm {
	case pb.AlarmType_NOSPACE:
		return fmt.Sprintf("member %x has the alarm NOSPACE: its quota is used up and it takes no writes; compact, defragment, then etcdctl alarm disarm", a.MemberID)
	case pb.AlarmType_CORRUPT:
		return fmt.Sprintf("member %x has the alarm CORRUPT: its data differ from the others'; replace the member", a.MemberID)
	}
	return fmt.Sprintf("member %x has the alarm %v", a.MemberID, a.Alarm)
}

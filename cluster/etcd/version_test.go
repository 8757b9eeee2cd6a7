package etcd_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/solehold/solehold/cluster/clustertest"
	"github.com/solehold/solehold/cluster/etcd"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
)

// oldEtcd says that it is of a version with known faults, and nothing else.
type oldEtcd struct {
	pb.UnimplementedMaintenanceServer
}

func (oldEtcd) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	return &pb.StatusResponse{Version: "3.4.23"}, nil
}

// TestVersionGate has an old member beside a good one and behind a silent one: it is refused, or warned of; and one that
// was silent at first is asked again.
func TestVersionGate(t *testing.T) {
	t.Parallel()
	good := addr(start(t, 1)[0])
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	pb.RegisterMaintenanceServer(server, oldEtcd{})
	go server.Serve(l)
	t.Cleanup(server.Stop)
	silent, old := clustertest.NewProxy(t, good), clustertest.NewProxy(t, l.Addr().String())
	silent.Cut()
	grant := func(b *etcd.Backend) error {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, err := b.Grant(ctx, time.Minute)
		return err
	}
	warned := make(chan error, 10)
	open := func(strict bool, endpoints ...string) *etcd.Backend {
		t.Helper()
		b, err := etcd.New(etcd.Config{Endpoints: endpoints, Prefix: "/test", Strict: strict, OnWarning: func(err error) { warned <- err }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		return b
	}
	if err := grant(open(true, silent.Addr(), old.Addr(), good)); !errors.Is(err, etcd.ErrVersion) {
		t.Errorf("behind a silent member: %v", err)
	}
	grant(open(false, silent.Addr(), good, old.Addr())) // of whichever
	if err := <-warned; !errors.Is(err, etcd.ErrVersion) {
		t.Errorf("not strict: %v", err)
	}
	old.Cut()
	late := open(true, good, old.Addr())
	if err := grant(late); err != nil {
		t.Errorf("beside a silent member: %v", err)
	}
	old.Heal()
	for begin := time.Now(); ; {
		err := grant(late)
		if errors.Is(err, etcd.ErrVersion) {
			break
		}
		if time.Since(begin) > patience {
			t.Fatalf("a member that was silent at first is let in: %v", err)
		}
	}
}

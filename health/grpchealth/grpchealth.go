// Package grpchealth asks a service over gRPC's health protocol, grpc.health.v1. It is apart from package health because
// grpc's own client, which it uses, is larger than most programs that link probes.
package grpchealth

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/solehold/solehold/health"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// answerLimit bounds what a server may answer, in bytes; an answer has two.
const answerLimit = 4096

type probe struct{ address, service string }

// New gives a probe that calls Health/Check at HOST:PORT or HOST:PORT/SERVICE, without TLS and without a proxy, as
// Kubernetes does. SERVING is OK. Every other status and every error of the call is [health.Fail], also a service that
// the server does not know or a server without the health protocol; [health.Unknown] is what only the prober suffers
// from. The error is about the target.
func New(target string) (health.Probe, error) {
	address, service, err := health.ParseGRPC(target)
	if err != nil {
		return nil, err
	}
	return &probe{address, service}, nil
}

// String gives for example "grpc 127.0.0.1:50051/kb".
func (p *probe) String() string {
	if p.service == "" {
		return "grpc " + p.address
	}
	return health.Line("grpc " + p.address + "/" + p.service)
}

// Check asks once, over a connection of its own.
func (p *probe) Check(ctx context.Context) health.Result {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, health.DefaultTimeout)
		defer cancel()
	}
	start := time.Now()
	r := p.ask(ctx)
	r.Detail, r.Took = health.Line(r.Detail), time.Since(start)
	return r
}

func (p *probe) ask(ctx context.Context) health.Result {
	d := &dialer{}
	conn, err := grpc.NewClient("passthrough:///"+p.address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(d.dial),
		grpc.WithUserAgent("solehold-probe"),
		grpc.WithNoProxy(), grpc.WithDisableRetry(), grpc.WithDisableServiceConfig(),
		grpc.WithMaxHeaderListSize(64<<10))
	if err != nil {
		return health.Result{Detail: err.Error()}
	}
	var from peer.Peer
	answer, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{Service: p.service},
		grpc.Peer(&from), grpc.MaxCallRecvMsgSize(answerLimit))
	conn.Close()
	d.wait()
	r := judge(answer.GetStatus(), err, d.err)
	r.Peer = health.Peer{Local: addrPort(from.LocalAddr), Remote: addrPort(from.Addr)}
	return r
}

// judge makes the result of an answer, the error of the call and that of connecting.
func judge(s healthpb.HealthCheckResponse_ServingStatus, call, connect error) health.Result {
	code := status.Code(call)
	var lookup *net.DNSError
	switch {
	case call == nil && s == healthpb.HealthCheckResponse_SERVING:
		return health.Result{Verdict: health.OK, Detail: "grpc SERVING"}
	case call == nil:
		return health.Result{Verdict: health.Fail, Detail: "grpc " + s.String()}
	case code == codes.Canceled:
		return health.Result{Detail: "the check was cancelled"}
	case errors.As(connect, &lookup):
		return health.Result{Detail: "name lookup: " + lookup.Err + " (" + lookup.Name + ")"}
	case code == codes.DeadlineExceeded:
		return health.Result{Verdict: health.Fail, Detail: "grpc: no answer in time"}
	case connect != nil:
		return health.Result{Verdict: health.VerdictOf(connect), Detail: connect.Error()}
	case code == codes.NotFound:
		return health.Result{Verdict: health.Fail, Detail: "grpc: the server does not know this service"}
	case code == codes.Unimplemented:
		return health.Result{Verdict: health.Fail, Detail: "grpc: the server has no health service"}
	}
	return health.Result{Verdict: health.Fail, Detail: fmt.Sprintf("grpc %s: %s", code, status.Convert(call).Message())}
}

// dialer connects for grpc, keeps the error that grpc makes a text of, and knows when all is closed.
type dialer struct {
	mu   sync.Mutex
	err  error // of the last connection
	over bool
	open sync.WaitGroup // connections, also those under way
}

func (d *dialer) dial(ctx context.Context, address string) (net.Conn, error) {
	if !d.enter() {
		return nil, net.ErrClosed
	}
	conn, err := (&net.Dialer{Resolver: &net.Resolver{PreferGo: true}}).DialContext(ctx, "tcp", address)
	d.mu.Lock()
	d.err = err
	d.mu.Unlock()
	if err != nil {
		d.open.Done()
		return nil, err
	}
	return &counted{Conn: conn, closed: sync.OnceFunc(d.open.Done)}, nil
}

func (d *dialer) enter() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.over {
		d.open.Add(1)
	}
	return !d.over
}

// wait lets nothing new begin and returns when every connection is closed: grpc closes some after its client.
func (d *dialer) wait() {
	d.mu.Lock()
	d.over = true
	d.mu.Unlock()
	d.open.Wait()
}

type counted struct {
	net.Conn
	closed func()
}

func (c *counted) Close() error {
	defer c.closed()
	return c.Conn.Close()
}

func addrPort(a net.Addr) netip.AddrPort {
	if t, ok := a.(*net.TCPAddr); ok {
		return netip.AddrPortFrom(t.AddrPort().Addr().Unmap(), t.AddrPort().Port())
	}
	return netip.AddrPort{}
}

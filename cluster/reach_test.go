package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/solehold/solehold/cluster"
)

// Only who was silent is asked why, and each server is named with its reason.
func TestWhySilent(t *testing.T) {
	t.Parallel()
	open, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	shut, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	shut.Close()
	late := fmt.Errorf("etcd: %w", context.DeadlineExceeded)
	got, silent := cluster.WhySilent(late, open.Addr().String(), shut.Addr().String(), "no port")
	for _, want := range []string{"no answer in time: ", open.Addr().String() + ": it takes connections", shut.Addr().String() + ": connection refused", "no port: "} {
		if !strings.Contains(got.Error(), want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if alone, _ := cluster.WhySilent(late, shut.Addr().String()); alone.Error() != "no answer in time: connection refused" {
		t.Error(alone)
	}
	if !silent || !errors.Is(got, context.DeadlineExceeded) {
		t.Error("it is another error now")
	}
	for _, other := range []error{nil, cluster.ErrLeaseGone} {
		if got, silent := cluster.WhySilent(other, open.Addr().String()); silent || got != other {
			t.Errorf("%v became %v", other, got)
		}
	}
}

package cluster_test

import (
	"fmt"
	"testing"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/cluster/clustertest"
)

// TestMemory gives the engine in memory the contract.
func TestMemory(t *testing.T) {
	m := cluster.NewMemory()
	clustertest.Run(t, clustertest.Engine{
		New: func(testing.TB) cluster.Backend { return m.Client(nil) },
		NewCut: func(testing.TB) (cluster.Backend, func(), func()) {
			c := m.Client(nil)
			return c, func() { c.Cut(true) }, func() { c.Cut(false) }
		},
		Break:  func(_ testing.TB, name string) { m.Break(name) },
		Writes: func(_ testing.TB, name string) string { return fmt.Sprint(m.Writes(name)) },
	})
}

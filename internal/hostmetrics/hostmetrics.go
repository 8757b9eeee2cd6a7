// Package hostmetrics tells Prometheus of every data directory of a host: what a
// look of package overview saw, as /metrics and as a text file for node_exporter.
package hostmetrics

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/solehold/solehold/internal/diagnose/overview"
	"github.com/solehold/solehold/internal/exposition"
	"github.com/solehold/solehold/internal/remote"
)

const (
	// FileName is what WriteFile writes: the textfile collector reads *.prom.
	FileName = "solehold.prom"
	// mostScrapes is how many are answered at once.
	mostScrapes = 4
	// patience bounds one scrape. What did not answer by then is left out.
	patience = 5 * time.Second
)

// Metrics is what is told of one host. It may be used by several goroutines.
type Metrics struct {
	look     func(context.Context) (overview.Host, []remote.Cluster)
	set      exposition.Set
	registry *prometheus.Registry
}

// New tells what look sees each time that it is asked: a host, and engines.
func New(look func(context.Context) (overview.Host, []remote.Cluster)) (*Metrics, error) {
	m := &Metrics{look: look, set: exposition.NewSet(nil), registry: prometheus.NewRegistry()}
	return m, m.registry.Register(m)
}

// Handler answers a scrape.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: mostScrapes, Timeout: 2 * patience})
}

// WriteFile writes what a scrape would answer into a file in dir, whole or not at
// all: a reader never sees half of it.
func (m *Metrics) WriteFile(dir string) error {
	if err := prometheus.WriteToTextfile(filepath.Join(dir, FileName), m.registry); err != nil {
		return fmt.Errorf("write the metrics: %w", err)
	}
	return nil
}

// KeepFile writes the file again and again until ctx ends, and then removes it: old
// figures would look like new ones. What fails is said when it begins to. The error
// is that of the first time.
func (m *Metrics) KeepFile(ctx context.Context, dir string, every time.Duration, say func(error)) error {
	if err := m.WriteFile(dir); err != nil {
		return err
	}
	defer os.Remove(filepath.Join(dir, FileName))
	tick := time.NewTicker(every)
	defer tick.Stop()
	failed := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		err := m.WriteFile(dir)
		if err != nil && !failed {
			say(err)
		}
		failed = err != nil
	}
}

// Describe sends the descriptions of all families.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) { m.set.DescribeServe(ch) }

// Collect sends what there is to be seen now.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	h, clusters := m.look(ctx)
	e := hostOf(ctx, h)
	e.Clusters = clustersOf(clusters)
	m.set.Serve(e, ch)
}

package metrics_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/solehold/solehold/metrics"
	otelprom "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// OpenTelemetry reads the registry through its bridge.
func ExampleCollector_openTelemetry() {
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics.NewCollector(metrics.Options{}))

	bridge := otelprom.NewMetricProducer(otelprom.WithGatherer(registry))
	reader := metric.NewManualReader(metric.WithProducer(bridge)) // NewPeriodicReader with an exporter
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	defer provider.Shutdown(context.Background())

	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		fmt.Println(err)
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			fmt.Println(m.Name)
		}
	}
	// Output:
	// solehold_directories
	// solehold_directories_left_out
}

// Everything comes through the bridge, histograms included.
func TestBridge(t *testing.T) {
	t.Parallel()
	dir, c := dataDir(t), metrics.NewCollector(metrics.Options{})
	lock, err := c.Acquire(t.Context(), dir, nil)
	must(t, err)
	defer lock.Release()
	registry := prometheus.NewRegistry()
	must(t, registry.Register(c))
	all, err := otelprom.NewMetricProducer(otelprom.WithGatherer(registry)).Produce(t.Context())
	must(t, err)
	told := map[string]metricdata.Aggregation{}
	for _, scope := range all {
		for _, m := range scope.Metrics {
			told[m.Name] = m.Data
		}
	}
	for name := range scrape(t, c, dir) {
		if told[name] == nil {
			t.Errorf("%s does not come through", name)
		}
	}
	h, ok := told["solehold_acquire_duration_seconds"].(metricdata.Histogram[float64])
	if !ok || len(h.DataPoints) != 1 || h.DataPoints[0].Count != 1 {
		t.Errorf("%+v", told["solehold_acquire_duration_seconds"])
	}
}

package metrics_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/solehold/solehold"
	"github.com/solehold/solehold/metrics"
)

// holdVar makes this binary the owner of a directory, until its input ends.
const holdVar = "SOLEHOLD_METRICS_TEST_HOLD"

// patience bounds each wait.
const patience = 60 * time.Second

func TestMain(m *testing.M) {
	if dir := os.Getenv(holdVar); dir != "" {
		lock := solehold.OnlyOrExit(dir)
		fmt.Println("held")
		io.Copy(io.Discard, os.Stdin)
		lock.Release()
		return
	}
	os.Exit(m.Run())
}

// owner is another process that has a directory.
type owner struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.Closer
}

func otherOwner(t *testing.T, dir string) *owner {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holdVar+"="+dir)
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatal(line, err)
	}
	return &owner{t, cmd, in}
}

func (o *owner) release() { o.in.Close() }

func (o *owner) kill() {
	must(o.t, o.cmd.Process.Kill())
	o.cmd.Wait()
}

// scrape gives the values of the families that have this directory, by name; of a
// histogram the count.
func scrape(t *testing.T, c prometheus.Collector, dir string) map[string]float64 {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	must(t, r.Register(c))
	families, err := r.Gather()
	must(t, err)
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			if len(m.Label) == 0 || m.Label[0].GetValue() == dir {
				all[f.GetName()] = value(m)
			}
		}
	}
	return all
}

func value(m *dto.Metric) float64 {
	switch {
	case m.Counter != nil:
		return m.Counter.GetValue()
	case m.Histogram != nil:
		return float64(m.Histogram.GetSampleCount())
	}
	return m.Gauge.GetValue()
}

// until waits for a value, as a scrape would see it.
func until(t *testing.T, c *metrics.Collector, dir, name string, want float64) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for {
		got := scrape(t, c, dir)
		if v, ok := got[name]; ok && v == want {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%s is %v, want %v; all: %v", name, got[name], want, got)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

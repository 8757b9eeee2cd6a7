package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/testneed"
)

// checkMetrics is promtool's opinion of an exposition; nothing is none.
func checkMetrics(t *testing.T, text string) string {
	t.Helper()
	cmd := exec.Command(testneed.Program(t, "promtool", "apt-get install prometheus"), "check", "metrics")
	cmd.Stdin = strings.NewReader(strings.TrimPrefix(text, "\n"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out) + err.Error()
	}
	return string(out)
}

// What serve tells is what promtool wants, at /metrics and in the text file, and the
// real node_exporter passes it on. The file goes with serve.
func TestTextFile(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	data, text := h.dir("data"), h.dir("text")
	h.start("solehold", "run", data, "--", "sh", "-c", "echo works; read x").says("works")
	serve := h.start("solehold", "serve", "--listen", h.addr, "--examine", "1s", "--textfile", text, data)
	file := filepath.Join(text, "solehold.prom")
	want := "\nsolehold_held{dir=\"" + data + "\"} 1\n"
	testneed.Until(t, "the file is written", func() bool {
		got, _ := os.ReadFile(file)
		return strings.Contains(string(got), want) && strings.Contains(string(got), "\nsolehold_findings{id=\"SH001\"} 0\n")
	})
	for what, got := range map[string]string{"/metrics": h.metrics(), "the file": read(t, file)} {
		if said := checkMetrics(t, got); said != "" {
			t.Errorf("%s: %s", what, said)
		}
	}
	if said := checkMetrics(t, "solehold_held_seconds_total 1\n"); said == "" {
		t.Error("promtool says nothing of a metric without help and type")
	}
	left, err := os.ReadDir(text)
	must(t, err)
	if info, err := os.Stat(file); len(left) != 1 || err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v, %v: node_exporter is another user", left, info, err)
	}
	nodeExporter(t, text, want)
	h.shell("kill -TERM $(pgrep -f -- --textfile)").wait()
	serve.wait()
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("old figures are left behind: %v", err)
	}
}

func nodeExporter(t *testing.T, text, want string) {
	t.Helper()
	addr := freeAddr(t)
	node := exec.Command(testneed.Program(t, "prometheus-node-exporter", "apt-get install prometheus-node-exporter"),
		"--collector.disable-defaults", "--collector.textfile", "--collector.textfile.directory="+text, "--web.listen-address="+addr)
	must(t, node.Start())
	defer func() { node.Process.Kill(); node.Wait() }()
	var got string
	testneed.Until(t, "node_exporter tells it", func() bool {
		got = get("http://" + addr + "/metrics")
		return strings.Contains(got, want)
	})
	if !strings.Contains(got, "\nnode_textfile_scrape_error 0\n") {
		t.Error("node_exporter has an error")
	}
}

// A directory that is not there is refused, with the next step.
func TestTextFileNowhere(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	p := h.start("solehold", "serve", "--listen", h.addr, "--textfile", filepath.Join(h.base, "missing"))
	p.wait()
	if said := p.text(); !strings.Contains(said, "missing") || !strings.Contains(said, "no such file") || !strings.Contains(said, "--textfile") {
		t.Error(said)
	}
	if code := p.code; code != 73 {
		t.Errorf("code %d", code)
	}
}

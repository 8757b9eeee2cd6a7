package deploy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/solehold/solehold/internal/testneed"
)

// host is a machine with processes of its own: what else runs here is not seen, and
// nothing of it outlives the test.
type host struct {
	t    *testing.T
	base string
	init string // its first process, as others see it
	addr string // of serve
}

func newHost(t *testing.T) *host {
	t.Helper()
	testneed.Root(t)
	h := &host{t: t, base: t.TempDir(), addr: freeAddr(t)}
	must(t, os.Chmod(h.base, 0o755))
	cmd := exec.Command(testneed.Program(t, "unshare", "apt-get install util-linux"), "--pid", "--fork", "--mount-proc", "--kill-child",
		"sh", "-c", "echo; exec cat")
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	_, err = out.Read(make([]byte, 1)) // /proc is its own
	must(t, err)
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", cmd.Process.Pid, cmd.Process.Pid))
	must(t, err)
	h.init = strings.TrimSpace(string(children))
	return h
}

// with is the same host for a part of the test.
func (h *host) with(t *testing.T) *host {
	part := *h
	part.t = t
	return &part
}

// dir makes a data directory.
func (h *host) dir(name string) string {
	h.t.Helper()
	d := filepath.Join(h.base, name)
	must(h.t, os.MkdirAll(d, 0o700))
	return d
}

// process runs on a host. It reads its input, whose end is the test's word to end.
type process struct {
	t    *testing.T
	in   io.WriteCloser
	done chan struct{}
	code int // once it is done
	mu   sync.Mutex
	said bytes.Buffer
}

// Write takes what it says.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.Write(b)
}

func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.String()
}

// start starts a program on the host.
func (h *host) start(args ...string) *process {
	h.t.Helper()
	p := &process{t: h.t, done: make(chan struct{})}
	cmd := exec.Command("nsenter", slices.Concat([]string{"--target", h.init, "--pid", "--mount", "--"}, args)...)
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	cmd.Stdout, cmd.Stderr = p, p
	var err error
	p.in, err = cmd.StdinPipe()
	must(h.t, err)
	must(h.t, cmd.Start())
	go func() { cmd.Wait(); p.code = cmd.ProcessState.ExitCode(); close(p.done) }()
	h.t.Cleanup(func() { p.in.Close() })
	return p
}

// shell starts a script, with words as $1 and so on.
func (h *host) shell(script string, words ...string) *process {
	h.t.Helper()
	return h.start(append([]string{"sh", "-c", script, "sh"}, words...)...)
}

// end tells it to end, and waits for that.
func (p *process) end() {
	p.t.Helper()
	p.in.Close()
	p.wait()
}

func (p *process) wait() {
	p.t.Helper()
	testneed.Until(p.t, "the end of a process", func() bool {
		select {
		case <-p.done:
			return true
		default:
			return false
		}
	})
}

// says waits until it has said something.
func (p *process) says(what string) {
	p.t.Helper()
	testneed.Until(p.t, what, func() bool { return strings.Contains(p.text(), what) })
}

// serve starts the page, which shows these directories also while nobody has them.
func (h *host) serve(more ...string) {
	h.t.Helper()
	p := h.start(append([]string{"solehold", "serve", "--listen", h.addr, "--examine", "1s"}, more...)...)
	testneed.Until(h.t, "serve answers", func() bool {
		select {
		case <-p.done:
			h.t.Fatal(p.text())
		default:
		}
		return h.metrics() != ""
	})
}

func (h *host) metrics() string { return get("http://" + h.addr + "/metrics") }

// status waits for a state.
func (h *host) status(dir, want string) {
	h.t.Helper()
	testneed.Until(h.t, dir+" is "+want, func() bool {
		out, _ := exec.Command("nsenter", "--target", h.init, "--pid", "--mount", "--", filepath.Join(bin, "solehold"), "status", dir).Output()
		return strings.HasPrefix(string(out), want)
	})
}

// prometheus is the real one.
type prometheus struct {
	t    *testing.T
	addr string
}

// faster rewrites limits that are right for a service into ones for a test: the
// same rules, with seconds for minutes.
func faster(rules string) string {
	rules = regexp.MustCompile(`for: \d+[sm]`).ReplaceAllString(rules, "for: 1s")
	for from, to := range map[string]string{
		"> 3600": "> 3", "[10m]": "[30s]", "[1m]": "[10s]", "> 1073741824": "> 2097152", "[15m]": "[60s]",
	} {
		rules = strings.ReplaceAll(rules, from, to)
	}
	return rules
}

// newPrometheus scrapes serve and etcd each second, with the alerts as they are but
// for their durations.
func newPrometheus(t *testing.T, h *host, etcd []string) *prometheus {
	t.Helper()
	p := &prometheus{t, freeAddr(t)}
	base := t.TempDir()
	must(t, os.WriteFile(filepath.Join(base, "alerts.yml"), []byte(faster(read(t, "prometheus/alerts.yml"))), 0o600))
	targets, err := json.Marshal(etcd)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(base, "prometheus.yml"), fmt.Appendf(nil, `
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [alerts.yml]
scrape_configs:
  - {job_name: solehold, static_configs: [{targets: [%q]}]}
  - {job_name: etcd, static_configs: [{targets: %s}]}
`, h.addr, targets), 0o600))
	cmd := exec.Command(testneed.Program(t, "prometheus", "apt-get install prometheus"), "--config.file="+filepath.Join(base, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(base, "data"), "--web.listen-address="+p.addr, "--log.level=warn")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	must(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("prometheus: %.3000s", &said)
		}
	})
	testneed.Until(t, "prometheus answers", func() bool { return get("http://"+p.addr+"/-/ready") != "" })
	return p
}

// alert is one that Prometheus has now.
type alert struct {
	Labels, Annotations map[string]string
	State               string
}

func (p *prometheus) alerts() []alert {
	var answer struct{ Data struct{ Alerts []alert } }
	if json.Unmarshal([]byte(get("http://"+p.addr+"/api/v1/alerts")), &answer) != nil {
		return nil
	}
	return answer.Data.Alerts
}

// firing finds an alert with this value of one of its labels.
func (p *prometheus) firing(name, value string) (alert, bool) {
	for _, a := range p.alerts() {
		if a.State == "firing" && a.Labels["alertname"] == name && (a.Labels["dir"] == value || a.Labels["id"] == value || a.Labels["job"] == value) {
			return a, true
		}
	}
	return alert{}, false
}

// fires waits for it, and looks at what a person is told.
func (p *prometheus) fires(name, value string) {
	p.t.Helper()
	var a alert
	testneed.Until(p.t, name+" fires for "+value, func() bool {
		var ok bool
		a, ok = p.firing(name, value)
		return ok
	})
	for _, text := range []string{a.Annotations["summary"], a.Annotations["description"], a.Annotations["runbook_url"]} {
		if text == "" || strings.Contains(text, "<no value>") || strings.Contains(text, "error") {
			p.t.Errorf("%s: %q", name, text)
		}
	}
	p.t.Logf("%s fires: %s", name, a.Annotations["summary"])
}

// clears waits for its end.
func (p *prometheus) clears(name, value string) {
	p.t.Helper()
	testneed.Until(p.t, name+" clears for "+value, func() bool { _, ok := p.firing(name, value); return !ok })
	p.t.Logf("%s clears", name)
}

// asks gives how many results a query has.
func (p *prometheus) asks(query string) (int, error) {
	r, err := http.Get("http://" + p.addr + "/api/v1/query?query=" + url.QueryEscape(query))
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	var answer struct {
		Status, Error string
		Data          struct{ Result []any }
	}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
		return 0, err
	}
	if answer.Status != "success" {
		return 0, fmt.Errorf("%s: %s", query, answer.Error)
	}
	return len(answer.Data.Result), nil
}

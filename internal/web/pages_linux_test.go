package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/diagnose/overview"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/web"
)

// Each page is there, as HTML and as JSON, without any script.
func TestPages(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	evidence(t, dir, "20261129T132007Z-1", "pid 7 has not answered for 94s.")
	cmd, _ := start(t, []string{"kb", "--addr", ":8080"}, "hold "+dir)
	o := shows(dir)
	o.Overview.Examine = time.Hour
	base := serve(t, o)
	q := "?path=" + url.QueryEscape(dir)
	pid := " pid " + itoa(cmd.Process.Pid) + " "
	for path, wants := range map[string][]string{
		"/":                         {dir, "HELD", "●", strings.TrimSpace(pid), ">1<", `href="/dir` + strings.ReplaceAll(q, "&", "&amp;") + `"`},
		"/?state=HELD&q=" + dir[4:]: {dir},
		"/?q=no-such":               {"Nothing here is like that"},
		"/dir" + q:                  {"HELD", "proven, lock, start time, boot", "20261129T132007Z-1", "acquired", "<svg", "token 1", "has not answered for 94s"},
		"/dir" + q + "&page=7":      {"No events on this page"},
		"/incident" + q:             {"has not answered for 94s", "waits.txt", "&lt;script&gt;"},
		"/incident" + q + "&id=20261129T132007Z-1&file=waits.txt": {"nothing waits"},
		"/waits":             {"Who waits for whom", "<svg"},
		"/findings":          {"Findings", "processes and"},
		"/finding/SH030":     {"two services write to one data directory", "<h2>What was seen</h2>"},
		"/api/overview":      {`"path":"` + dir + `"`, `"state":"HELD"`},
		"/api/directory" + q: {`"token":1`, `"kind":"acquired"`, `"incidents":[{"id":"20261129T132007Z-1"`},
		"/api/findings":      {`"report":{"findings":[`},
		"/api/graph":         {`"nodes":[`},
		"/api/incident" + q:  {`"text":"# pid 7 has not answered`},
	} {
		code, text := get(t, base+path)
		if code != http.StatusOK {
			t.Errorf("%s: %d %s", path, code, text)
		}
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", path, want, text)
			}
		}
		if strings.HasPrefix(path, "/api/") && !json.Valid([]byte(text)) {
			t.Errorf("%s: no JSON", path)
		}
	}
}

// What is not there is a page that says so, never a file of the system.
func TestNotThere(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	evidence(t, dir, "20261129T132007Z-1", "x")
	base := serve(t, shows(dir))
	q := "?path=" + url.QueryEscape(dir)
	for _, path := range []string{
		"/no-such", "/dir", "/dir?path=/etc", "/dir?path=" + url.QueryEscape(dir+"/.."), "/incident?path=/etc", "/finding/SH999", "/finding/..%2f..%2fgo.mod",
		"/incident" + q + "&id=..", "/incident" + q + "&id=20261129T132007Z-1&file=../../lock", "/incident" + q + "&id=20261129T132007Z-1&file=%2fetc%2fpasswd",
		"/incident" + q + "&id=20991129T132007Z-1", "/api/directory?path=/etc", "/api/incident" + q + "&id=x", "/style.css/../../web.go", "/assets/style.css", "/%00",
	} {
		code, text := get(t, base+path)
		if code != http.StatusNotFound || strings.Contains(text, "root:") {
			t.Errorf("%s: %d %.200s", path, code, text)
		}
	}
	for _, text := range []string{"GET /../../../../etc/passwd HTTP/1.1", "GET //etc/passwd HTTP/1.1", "GET /style.css%2f..%2f..%2fweb.go HTTP/1.1"} {
		answer := raw(t, base, text+"\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		if strings.Contains(answer, " 200 ") {
			t.Errorf("%s: %.300s", text, answer)
		}
	}
}

// hostile are texts that others may choose.
func hostile() []string {
	return []string{
		`"><script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, "\u202egnp.exe\u2066", "\x1b]0;owned\x07\x1b[2J", "javascript:alert(1)",
		"{{.Host}}", "\u2028\u2029", "\xff\xfe", strings.Repeat("A", 1<<20), "data: x\n\nevent: evil",
	}
}

// Whatever is in a history, an incident, a path or a command is text, bounded, and
// does not turn the direction of what is beside it.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	at := time.Now().Add(-time.Hour)
	var dirs, paths []string
	for _, bad := range hostile() {
		name := strings.NewReplacer("/", "", "\x00", "").Replace(bad)
		dir := filepath.Join(dataDir(t), "d"+name[:min(len(name), 200)])
		must(t, os.Mkdir(dir, 0o755))
		e := journal.Event{
			Time: at, Seq: 1, Boot: bad[:min(len(bad), 9)], Kind: journal.Acquired, Token: 1, PID: 7, Name: bad, By: bad, Detail: bad, Class: bad[:min(len(bad), 9)],
		}
		released, odd := e, e
		released.Kind, odd.Kind = journal.Vanished, journal.Kind(bad[:min(len(bad), 20)])
		history(t, dir, e, odd, released)
		evidence(t, dir, "20261129T132007Z-1", bad)
		must(t, os.WriteFile(filepath.Join(dir, ".solehold", "incidents", "20261129T132007Z-1", "summary.md"), []byte(bad), 0o600))
		start(t, []string{strings.ReplaceAll(bad[:min(len(bad), 100_000)], "\x00", "")}, "hold "+dir)
		q := "?path=" + url.QueryEscape(dir)
		dirs = append(dirs, dir)
		paths = append(paths, "/dir"+q, "/incident"+q, "/api/directory"+q, "/api/incident"+q, "/dir?path="+url.QueryEscape(bad[:min(len(bad), 2000)]))
	}
	base := serve(t, shows(dirs...))
	obeyed := regexp.MustCompile(`(?i)<script>|<img|href="javascript|\x{202e}|\x{2066}|\x1b|\x07|\x{2028}`)
	for _, path := range append(paths, "/", "/findings", "/api/overview") {
		_, text := get(t, base+path)
		if api := strings.HasPrefix(path, "/api/"); api && (!json.Valid([]byte(text)) || strings.ContainsAny(text, "\u202e\x1b\x07\u2028")) {
			t.Errorf("%s: %.300q", path, text)
		} else if found := obeyed.FindString(text); found != "" && !api {
			t.Errorf("%s: %q in\n%.3000s", path, found, text)
		}
		if len(text) > 300_000 && !strings.Contains(path, "/incident") && !strings.HasPrefix(path, "/api/overview") {
			t.Errorf("%s: %d bytes", path, len(text))
		}
	}
}

// A directory that vanishes while it is shown, and one that is no use, have a row
// that says so; the page answers.
func TestBadDirectories(t *testing.T) {
	t.Parallel()
	dir, foreign := filepath.Join(dataDir(t), "kb"), dataDir(t)
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.Mkdir(filepath.Join(foreign, ".solehold"), 0o700))
	must(t, os.Symlink("/etc/shadow", filepath.Join(foreign, ".solehold", "lock")))
	start(t, nil, "hold "+dir)
	base := serve(t, shows(foreign))
	until(t, base+"/", dir)
	must(t, os.Rename(dir, dir+".away"))
	until(t, base+"/", "<small>vanished</small>")
	if code, text := get(t, base+"/dir?path="+url.QueryEscape(dir)); code != http.StatusOK || !strings.Contains(text, "<b>vanished</b>") {
		t.Errorf("%d %s", code, text)
	}
	if _, text := get(t, base+"/dir?path="+url.QueryEscape(foreign)); !strings.Contains(text, "<b>foreign</b>: "+foreign+"/.solehold/lock: it is a symlink") {
		t.Error(text)
	}
}

// The schema in the docs has each field of the answers.
func TestSchemaIsDocumented(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/serve.md")
	must(t, err)
	dir := dataDir(t)
	evidence(t, dir, "20261129T132007Z-1", "x")
	at := time.Now()
	history(t, dir,
		journal.Event{Time: at, Kind: journal.Acquired, Token: 1, PID: 7, Name: "kb", Boot: "b"}, journal.Event{Time: at, Kind: journal.Ready, Token: 1},
		journal.Event{Time: at, Kind: journal.Restart, Token: 1}, journal.Event{Time: at, Kind: journal.Restart, Token: 1, Detail: "giving up"}, journal.Event{Time: at, Kind: journal.Vanished, Token: 1, Class: "crash", Detail: "x"},
	)
	start(t, nil, "hold "+dir)
	o := shows(dir)
	o.Overview.Examine = time.Hour
	base := serve(t, o)
	q := "?path=" + url.QueryEscape(dir)
	for _, path := range []string{"/api/overview", "/api/directory" + q, "/api/findings", "/api/graph", "/api/incident" + q} {
		_, text := get(t, base+path)
		var answer any
		must(t, json.Unmarshal([]byte(text), &answer))
		for name := range names(answer, map[string]bool{}) {
			if !strings.Contains(string(doc), "`"+name+"`") {
				t.Errorf("%s: docs/serve.md does not tell of %q", path, name)
			}
		}
		if !strings.Contains(string(doc), "`"+strings.TrimSuffix(path, q)) {
			t.Errorf("docs/serve.md does not tell of %s", path)
		}
	}
}

// names collects the names of fields; those of findings' ids are no fields.
func names(v any, all map[string]bool) map[string]bool {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if !strings.HasPrefix(name, "SH0") {
				all[name] = true
			}
			names(value, all)
		}
	case []any:
		for _, value := range v {
			names(value, all)
		}
	}
	return all
}

// A directory is found again under the name by which its holder knows it.
func TestByEitherName(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	link := filepath.Join(dataDir(t), "link")
	must(t, os.Symlink(dir, link))
	w := overview.NewWatcher(overview.Options{Paths: []string{link}, Examine: -1})
	w.Look(t.Context())
	for _, path := range []string{dir, link} {
		if _, err := w.Past(t.Context(), path, 1); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// Ready is called when there is something to show, so that who asks first need not wait
// for a look: here none could be made meanwhile.
func TestReady(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	l, err := web.Listen("127.0.0.1:0")
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	o := shows(dir)
	o.Overview.Timeout, o.Overview.Examine = patience, -1
	o.Ready = func() {
		defer stop()
		if _, text := get(t, "http://"+l.Addr().String()+"/api/overview"); !strings.Contains(text, dir) {
			t.Error(text)
		}
	}
	s, err := web.New(o)
	must(t, err)
	must(t, s.Serve(ctx, l))
	if ctx.Err() == nil {
		t.Error("it was not called")
	}
}

// What engines say is on the page, in JSON and in the metrics; hostile names are text
// there, too. An engine that is silent holds nothing up: its section says so.
func TestClusters(t *testing.T) {
	t.Parallel()
	o := shows(dataDir(t))
	o.Clusters = clusters(t, "etcd://e1:2379/kb", "etcd://silent:1/kb", "etcd://hostile:1/kb")
	base := serve(t, o)
	until(t, base+"/", "srv3")
	page := until(t, base+"/", "srv2")
	for _, want := range []string{"etcd://e1:2379/kb", "4711", "kb --addr :8080, pid 3120, /srv/kb/data", "&lt;script&gt;alert(1)&lt;/script&gt;\\u{202e}", "last: backup, pid 988", "etcd://silent:1/kb", "has not answered yet"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	var answer struct {
		Clusters []struct {
			Engine string
			Locks  []struct {
				Name, State, Host string
				Token             uint64
				Since, Until      time.Time
			}
		}
	}
	_, text := get(t, base+"/api/cluster")
	must(t, json.Unmarshal([]byte(text), &answer))
	if len(answer.Clusters) != 3 || len(answer.Clusters[0].Locks) != 2 || len(answer.Clusters[1].Locks) != 0 {
		t.Fatal(text)
	}
	if l := answer.Clusters[0].Locks[0]; l.Name != "kb" || l.Host != "srv2" || l.Token != 4711 || l.Since.IsZero() || !l.Until.After(l.Since) {
		t.Errorf("%+v", l)
	}
	_, metrics := get(t, base+"/metrics")
	for _, want := range []string{`solehold_cluster_up{cluster="etcd://e1:2379/kb"} 1`, `solehold_cluster_up{cluster="etcd://silent:1/kb"} 0`, `solehold_cluster_token{cluster="etcd://e1:2379/kb",name="kb"} 4711`} {
		if !strings.Contains(metrics, "\n"+want+"\n") {
			t.Errorf("no %s", want)
		}
	}
	if _, text := get(t, serve(t, shows(dataDir(t)))+"/api/cluster"); !strings.Contains(text, `"clusters": []`) && !strings.Contains(text, `"clusters":[]`) {
		t.Error(text)
	}
}

package web

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/solehold/solehold/docs/findings"
	"github.com/solehold/solehold/internal/diagnose"
	"github.com/solehold/solehold/internal/diagnose/doctor"
	"github.com/solehold/solehold/internal/diagnose/overview"
	"github.com/solehold/solehold/internal/remote"
)

//go:embed assets
var assets embed.FS

// pages are the templates by name.
type pages map[string]*template.Template

func parsePages() (pages, error) {
	p := pages{}
	for _, name := range []string{"overview", "directory", "incident", "waits", "findings", "finding", "error"} {
		t, err := template.New("layout.html").Funcs(words()).ParseFS(assets, "assets/layout.html", "assets/"+name+".html")
		if err != nil {
			return nil, err
		}
		p[name] = t
	}
	return p, nil
}

// view is what a page is made of.
type view struct {
	Title string
	Here  string // the path of the page, for the navigation
	Host  overview.Host
	Now   time.Time

	Rows     []overview.Directory
	Filter   string
	State    string
	Sort     string
	Counts   []count
	Alerts   []doctor.Finding
	Row      overview.Directory
	Past     overview.Past
	Chart    chart
	Path     string
	Trouble  string
	Findings []doctor.Finding
	Problems []string

	Clusters  []engine
	Incidents []incident
	Part      diagnose.Part
	Parts     []string
	File      string
	Graph     template.HTML
	Tree      string
	Doc       template.HTML
}

// count is how many directories are in a state.
type count struct {
	State string
	N     int
}

// incident is one line of a list.
type incident struct {
	ID, Reason, Finding string
	Time                time.Time
}

// engine is a cluster's engine with its locks, and by which directory of this host each
// is held, if it is.
type engine struct {
	remote.Cluster
	Rows []clusterRow
}

type clusterRow struct {
	remote.Lock
	Here string
}

// Holder is what the holder says of itself but for its machine, which has a column.
func (r clusterRow) Holder() string { return strings.Replace(r.Info, " on host "+r.Host, "", 1) }

// engines are what the engines said, the locks that somebody has first.
func (s *Server) engines(h overview.Host) (list []engine) {
	type claim struct {
		key   string
		token uint64
	}
	here := map[claim]string{}
	for _, d := range h.Directories {
		if d.Remote != nil {
			here[claim{d.Remote.Key, d.Remote.Token}] = d.Path
		}
	}
	all, _ := s.o.Clusters.Last()
	for _, c := range all {
		e := engine{Cluster: c}
		for _, l := range c.Locks {
			row := clusterRow{Lock: l}
			if l.Held() {
				row.Here = here[claim{l.Key, l.Token}]
			}
			e.Rows = append(e.Rows, row)
		}
		slices.SortStableFunc(e.Rows, func(a, b clusterRow) int { return strings.Compare(order(a.State), order(b.State)) })
		list = append(list, e)
	}
	return list
}

// order is a text by which states are sorted, the one that needs somebody first.
func order(state string) string {
	switch state {
	case "HELD":
		return "1"
	case "FREE":
		return "2"
	}
	return "0"
}

// Handler answers everything. It is for tests and for those who listen themselves.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for path, answer := range map[string]http.HandlerFunc{
		"/{$}": s.overview, "/dir": s.directory, "/incident": s.incident, "/waits": s.waits, "/findings": s.findings, "/finding/{id}": s.finding,
		"/events": s.events, "/style.css": asset("style.css", "text/css"), "/live.js": asset("live.js", "text/javascript"),
		"/favicon.svg":  asset("favicon.svg", "image/svg+xml"),
		"/api/overview": s.apiOverview, "/api/directory": s.apiDirectory, "/api/cluster": s.apiCluster, "/api/findings": s.apiFindings, "/api/graph": s.apiGraph, "/api/incident": s.apiIncident,
		"/": func(w http.ResponseWriter, r *http.Request) {
			s.fail(w, r, "there is no such page", http.StatusNotFound)
		},
	} {
		mux.HandleFunc(path, answer)
	}
	mux.Handle("/metrics", s.metrics.Handler())
	return s.guard(mux)
}

func asset(name, kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		text, err := assets.ReadFile("assets/" + name)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", kind+"; charset=utf-8")
		w.Write(text)
	}
}

// show writes a page. All of it passes the filter of what cannot be printed.
func (s *Server) show(w http.ResponseWriter, name string, v view) { s.write(w, name, v, http.StatusOK) }

func (s *Server) write(w http.ResponseWriter, name string, v view, code int) {
	v.Now = time.Now()
	var b bytes.Buffer
	if err := s.pages[name].Execute(&b, v); err != nil {
		http.Error(w, "the page could not be made: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	w.Write(printable(b.Bytes()))
}

// printable shows what cannot be printed as its number: others chose the texts, and
// some characters turn the direction of writing or are obeyed by a terminal.
func printable(text []byte) []byte {
	odd := func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }
	if !bytes.ContainsFunc(text, odd) {
		return text
	}
	var b bytes.Buffer
	for _, r := range string(text) {
		if odd(r) {
			fmt.Fprintf(&b, "\\u{%x}", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.Bytes()
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, why string, code int) {
	s.write(w, "error", view{Title: "not shown", Trouble: why, Host: s.host(r.Context())}, code)
}

// failed answers a question whose answer could not be read.
func (s *Server) failed(w http.ResponseWriter, r *http.Request, err error) {
	s.fail(w, r, err.Error(), codeOf(err))
}

func codeOf(err error) int {
	switch {
	case overview.Missing(err):
		return http.StatusNotFound
	case errors.Is(err, fs.ErrPermission):
		return http.StatusForbidden
	}
	return http.StatusServiceUnavailable
}

func (s *Server) overview(w http.ResponseWriter, r *http.Request) {
	h := s.host(r.Context())
	q := r.URL.Query()
	v := view{Title: "overview", Here: "/", Host: h, Filter: q.Get("q"), State: q.Get("state"), Sort: q.Get("sort")}
	n := map[string]int{}
	for _, d := range h.Directories {
		n[string(d.State)]++
		if d.Mentions(v.Filter) && (v.State == "" || v.State == string(d.State)) {
			v.Rows = append(v.Rows, d)
		}
	}
	for _, state := range slices.Sorted(maps.Keys(n)) {
		v.Counts = append(v.Counts, count{state, n[state]})
	}
	arrange(v.Rows, v.Sort)
	v.Clusters = s.engines(h)
	for _, f := range h.Doctor.Findings {
		if f.Severity != doctor.Notice {
			v.Alerts = append(v.Alerts, f)
		}
	}
	s.show(w, "overview", v)
}

// arrange sorts rows: the worst first, or as asked.
func arrange(rows []overview.Directory, by string) {
	slices.SortStableFunc(rows, func(a, b overview.Directory) int {
		switch by {
		case "path":
			return strings.Compare(a.Path, b.Path)
		case "since":
			return since(a).Compare(since(b))
		case "refused":
			return b.Refusals - a.Refusals
		case "restarts":
			return b.Restarts - a.Restarts
		}
		return b.Urgency() - a.Urgency()
	})
}

// since is when a directory was taken; one that nobody has comes last.
func since(d overview.Directory) time.Time {
	if d.Owner == nil || d.Owner.Since.IsZero() {
		return time.Unix(1<<40, 0)
	}
	return d.Owner.Since
}

func (s *Server) directory(w http.ResponseWriter, r *http.Request) {
	h := s.host(r.Context())
	path := r.URL.Query().Get("path")
	row, ok := h.Find(path)
	if !ok {
		s.failed(w, r, fmt.Errorf("%s: %w", path, overview.ErrUnknown))
		return
	}
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	v := view{Title: row.Path, Host: h, Row: row, Path: row.Path}
	v.Findings = about(h, row)
	past, err := s.watcher.Past(r.Context(), path, page)
	if err != nil {
		v.Problems = append(v.Problems, "the history could not be read: "+err.Error())
	}
	v.Past, v.Chart = past, draw(past.Lives, time.Now())
	all, err := s.watcher.Incidents(r.Context(), path)
	if err != nil {
		v.Problems = append(v.Problems, "the incidents could not be read: "+err.Error())
	}
	for _, in := range all {
		v.Incidents = append(v.Incidents, incident{in.ID, in.Reason, in.Finding, in.Time})
	}
	s.show(w, "directory", v)
}

// about are the findings that concern a directory.
func about(h overview.Host, d overview.Directory) []doctor.Finding {
	var all []doctor.Finding
	for _, f := range h.Doctor.Findings {
		if row, ok := rowOf(h, f.Path); ok && row.Path == d.Path {
			all = append(all, f)
		}
	}
	return all
}

// rowOf finds the directory that a path is, or lies in.
func rowOf(h overview.Host, path string) (best overview.Directory, found bool) {
	for _, d := range h.Directories {
		for _, name := range []string{d.Dir, d.Path} {
			if (path == name || strings.HasPrefix(path, name+"/")) && name != "" && len(name) > len(best.Dir) {
				best, found = d, true
			}
		}
	}
	return best, found
}

func (s *Server) incident(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	path, name := q.Get("path"), diagnose.PartName{ID: q.Get("id"), File: q.Get("file")}
	h := s.host(r.Context())
	part, names, err := s.watcher.Part(r.Context(), path, name)
	if err != nil {
		s.failed(w, r, err)
		return
	}
	v := view{Title: "incident " + part.Incident.ID, Host: h, Path: path, Part: part, Parts: names, File: name.File}
	if v.File == "" {
		v.File = "summary.md"
	}
	v.Row, _ = h.Find(path)
	s.show(w, "incident", v)
}

func (s *Server) waits(w http.ResponseWriter, r *http.Request) {
	h := s.host(r.Context())
	g := h.Doctor.Graph
	s.show(w, "waits", view{
		Title: "who waits for whom", Here: "/waits", Host: h, Tree: g.Tree(),
		Graph: template.HTML(g.SVG()), // which escapes what others wrote
	})
}

func (s *Server) findings(w http.ResponseWriter, r *http.Request) {
	h := s.host(r.Context())
	s.show(w, "findings", view{Title: "findings", Here: "/findings", Host: h, Findings: h.Doctor.Findings})
}

func (s *Server) finding(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	text, ok := findings.Page(id)
	if !ok {
		s.fail(w, r, "there is no such finding", http.StatusNotFound)
		return
	}
	s.show(w, "finding", view{Title: id + ": " + findings.Title(id), Here: "/findings", Host: s.host(r.Context()), Doc: markdown(text)})
}

// dirURL is the page of a directory.
func dirURL(path string) string { return "/dir?path=" + url.QueryEscape(path) }

package web

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/solehold/solehold/internal/diagnose"
	"github.com/solehold/solehold/internal/diagnose/overview"
	"github.com/solehold/solehold/internal/remote"
)

// answerJSON writes one value.
func answerJSON(w http.ResponseWriter, code int, v any) {
	text, err := diagnose.JSON(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(code)
	w.Write(text)
}

func failJSON(w http.ResponseWriter, err error) {
	answerJSON(w, codeOf(err), map[string]string{"error": err.Error()})
}

// overviewAnswer is the answer of /api/overview.
type overviewAnswer struct {
	Revision    uint64               `json:"revision"`
	At          time.Time            `json:"at"`
	Directories []overview.Directory `json:"directories"`
	LeftOut     int                  `json:"left_out,omitempty"`
	Unseen      int                  `json:"unseen,omitempty"`
	Examined    time.Time            `json:"examined,omitzero"`
	Findings    map[string]int       `json:"findings"`
}

func (s *Server) apiOverview(w http.ResponseWriter, r *http.Request) {
	h := s.host(r.Context())
	n := map[string]int{}
	for _, f := range h.Doctor.Findings {
		n[f.ID]++
	}
	answerJSON(w, http.StatusOK, overviewAnswer{h.Revision, h.At, h.Directories, h.LeftOut, h.Unseen, h.Examined, n})
}

func (s *Server) apiDirectory(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Query().Get("path")
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	row, ok := s.host(r.Context()).Find(path)
	if !ok {
		failJSON(w, fmt.Errorf("%s: %w", path, overview.ErrUnknown))
		return
	}
	answer := map[string]any{"directory": row}
	if past, err := s.watcher.Past(r.Context(), path, page); err == nil {
		answer["history"] = past
	} else {
		answer["history_error"] = err.Error()
	}
	if all, err := s.watcher.Incidents(r.Context(), path); err == nil {
		answer["incidents"] = all
	} else {
		answer["incidents_error"] = err.Error()
	}
	answerJSON(w, http.StatusOK, answer)
}

func (s *Server) apiCluster(w http.ResponseWriter, r *http.Request) {
	h := s.host(r.Context())
	all, _ := s.o.Clusters.Last()
	if all == nil {
		all = []remote.Cluster{}
	}
	answerJSON(w, http.StatusOK, map[string]any{"at": h.At, "clusters": all})
}

func (s *Server) apiFindings(w http.ResponseWriter, r *http.Request) {
	h := s.host(r.Context())
	answerJSON(w, http.StatusOK, map[string]any{"examined": h.Examined, "report": h.Doctor})
}

func (s *Server) apiGraph(w http.ResponseWriter, r *http.Request) {
	h := s.host(r.Context())
	type node struct {
		ID    string `json:"id"`
		Lock  bool   `json:"lock,omitempty"`
		Text  string `json:"text"`
		Stuck bool   `json:"stuck,omitempty"`
	}
	type edge struct {
		From string `json:"from"`
		To   string `json:"to"`
		Kind string `json:"kind"`
	}
	nodes, edges := []node{}, []edge{}
	for _, n := range h.Doctor.Graph.Nodes {
		nodes = append(nodes, node(n))
	}
	for _, e := range h.Doctor.Graph.Edges {
		edges = append(edges, edge(e))
	}
	answerJSON(w, http.StatusOK, map[string]any{"examined": h.Examined, "nodes": nodes, "edges": edges})
}

func (s *Server) apiIncident(w http.ResponseWriter, r *http.Request) {
	s.host(r.Context())
	q := r.URL.Query()
	part, names, err := s.watcher.Part(r.Context(), q.Get("path"), diagnose.PartName{ID: q.Get("id"), File: q.Get("file")})
	if err != nil {
		failJSON(w, err)
		return
	}
	answerJSON(w, http.StatusOK, map[string]any{"incident": part.Incident, "files": names, "text": string(part.Text), "cut": part.Cut})
}

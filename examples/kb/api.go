package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The limits of a request.
const (
	maxBody     = 1 << 20 // bytes
	maxTitle    = 200     // characters
	maxQuery    = 256     // bytes
	maxHits     = 100
	defaultHits = 20
	requestTime = 5 * time.Second
	healthTime  = time.Second
)

// api answers requests from the notes.
type api struct{ notes *store }

// newHandler returns all that the service answers.
func newHandler(notes *store) http.Handler {
	a := api{notes}
	mux := http.NewServeMux()
	for _, route := range []struct {
		method, path string
		do           action
	}{
		{http.MethodGet, "/healthz", a.health},
		{http.MethodPost, "/notes", a.add},
		{http.MethodGet, "/notes/{id}", a.get},
		{http.MethodGet, "/search", a.search},
		{http.MethodGet, "/{$}", a.page},
	} {
		mux.Handle(route.method+" "+route.path, route.do)
		mux.Handle(route.path, only(route.method))
	}
	mux.Handle("/", action(func(_ http.ResponseWriter, r *http.Request) error {
		return &failure{http.StatusNotFound, "there is nothing at " + r.URL.Path}
	}))
	foreign := http.NewCrossOriginProtection() // a page of another site cannot add notes
	foreign.SetDenyHandler(action(func(http.ResponseWriter, *http.Request) error {
		return &failure{http.StatusForbidden, "not from a page of another site"}
	}))
	return foreign.Handler(mux)
}

// action answers a request, or returns the error to answer with.
type action func(http.ResponseWriter, *http.Request) error

// ServeHTTP gives the request its time and its headers.
func (do action) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), requestTime)
	defer cancel()
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if err := do(w, r.WithContext(ctx)); err != nil {
		f := asFailure(r, err)
		answer(w, f.status, map[string]string{"error": f.text})
	}
}

// only is the answer to other methods.
func only(method string) action {
	return func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Allow", method)
		return &failure{http.StatusMethodNotAllowed, "only " + method + " at " + r.URL.Path}
	}
}

// health asks the database. A disk that hangs can hold the question up for ever, so the answer does not wait for it.
func (a api) health(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), healthTime)
	defer cancel()
	asked := make(chan error, 1)
	go func() { asked <- a.notes.fence(ctx, a.notes.db) }()
	var err error
	select {
	case err = <-asked:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return &failure{http.StatusServiceUnavailable, err.Error()}
	}
	w.Header().Set("Content-Type", "text/plain")
	fmt.Fprintln(w, "ok")
	return nil
}

func (a api) add(w http.ResponseWriter, r *http.Request) error {
	n, err := readNote(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return err
	}
	if n.ID, err = a.notes.add(r.Context(), n); err != nil {
		return err
	}
	w.Header().Set("Location", fmt.Sprintf("/notes/%d", n.ID))
	answer(w, http.StatusCreated, map[string]int64{"id": n.ID})
	return nil
}

// readNote reads the note that a client sent.
func readNote(body io.Reader) (note, error) {
	var in struct{ Title, Text string }
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	err := d.Decode(&in)
	if err == nil {
		if _, end := d.Token(); end != io.EOF {
			err = errors.Join(errors.New("more follows it"), end) // end may be that the body is too large
		}
	}
	var large *http.MaxBytesError
	title := strings.TrimSpace(in.Title)
	switch {
	case errors.As(err, &large):
		return note{}, &failure{http.StatusRequestEntityTooLarge, fmt.Sprintf("a note has at most %d bytes", large.Limit)}
	case err != nil:
		return note{}, badRequest(`a note is {"title": "...", "text": "..."}: %v`, err)
	case title == "" || strings.TrimSpace(in.Text) == "":
		return note{}, badRequest("a note needs a title and a text")
	case utf8.RuneCountInString(title) > maxTitle:
		return note{}, badRequest("a title has at most %d characters", maxTitle)
	}
	return note{Title: title, Text: in.Text}, nil
}

func (a api) get(w http.ResponseWriter, r *http.Request) error {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return badRequest("%q is not the id of a note", r.PathValue("id"))
	}
	n, err := a.notes.get(r.Context(), id)
	if errors.Is(err, sql.ErrNoRows) {
		return &failure{http.StatusNotFound, fmt.Sprintf("there is no note %d", id)}
	}
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, n)
	return nil
}

func (a api) search(w http.ResponseWriter, r *http.Request) error {
	hits, err := a.find(r)
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, map[string][]hit{"hits": hits})
	return nil
}

// find searches for the parameter q of a request.
func (a api) find(r *http.Request) ([]hit, error) {
	query, limit := strings.TrimSpace(r.FormValue("q")), defaultHits
	if text := r.FormValue("limit"); text != "" {
		var err error
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > maxHits {
			return nil, badRequest("limit is a number from 1 to %d", maxHits)
		}
	}
	switch {
	case query == "":
		return nil, badRequest("q, what to search for, is missing")
	case len(query) > maxQuery:
		return nil, badRequest("q has at most %d bytes", maxQuery)
	}
	return a.notes.search(r.Context(), query, limit)
}

// failure is an error that the client is told.
type failure struct {
	status int
	text   string
}

func (f *failure) Error() string { return f.text }

func badRequest(format string, args ...any) error {
	return &failure{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// asFailure gives what the client is told of an error: what it can do something about, and no more.
func asFailure(r *http.Request, err error) *failure {
	var f *failure
	var query *queryError
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &query):
		return &failure{http.StatusBadRequest, query.Error()}
	case errors.Is(err, errFenced):
		return &failure{http.StatusServiceUnavailable, "this process is no longer the one that writes"}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), r.Context().Err() != nil:
		return &failure{http.StatusServiceUnavailable, "not done in time; try again"}
	}
	slog.Error("request", "path", r.URL.Path, "err", err)
	return &failure{http.StatusInternalServerError, "internal error; the log has more"}
}

// answer writes v as JSON. The status is sent by then: a client that has gone learns nothing of an error.
func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

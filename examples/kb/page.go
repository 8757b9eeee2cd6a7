package main

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
)

//go:embed page.html
var pageHTML string

// page shows a search box and what was found. Everything in it that users wrote is escaped by html/template, and should
// that ever fail, the policy keeps scripts from running.
func (a api) page(w http.ResponseWriter, r *http.Request) error {
	t, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return err
	}
	var view struct {
		Query, Error string
		Hits         []hit
	}
	status := http.StatusOK
	if view.Query = r.FormValue("q"); view.Query != "" {
		if view.Hits, err = a.find(r); err != nil {
			f := asFailure(r, err)
			status, view.Error = f.status, f.text
		}
	}
	var text bytes.Buffer
	if err := t.Execute(&text, view); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	w.WriteHeader(status)
	w.Write(text.Bytes())
	return nil
}

// Package unitcheck reads a unit file of systemd and names the mistakes that let
// two copies of a service run, or leave processes behind. It asks systemd
// nothing: what systemd itself says of a unit, systemd-analyze verify tells.
package unitcheck

import (
	"cmp"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Severity says how bad a finding is.
type Severity string

// The severities, worst first.
const (
	Outage Severity = "outage" // it does not do its work
	Danger Severity = "danger" // two can run, or something is left behind
	Notice Severity = "notice" // it holds, and not for the reason that is thought
)

// Finding is one mistake.
type Finding struct {
	// ID names the kind of mistake for ever.
	ID string `json:"id"`
	// Severity says how bad it is.
	Severity Severity `json:"severity"`
	// Path and Line are where it is written; line 0 if it is something that lacks.
	Path string `json:"path"`
	// Line counts from 1.
	Line int `json:"line,omitempty"`
	// Seen is what is written there.
	Seen string `json:"seen"`
	// Why says what follows from it.
	Why string `json:"why"`
	// Advice says what to write in its place.
	Advice string `json:"advice"`
}

// largest is how much of a file is read.
const largest = 1 << 20

// Check reads a unit file, and the settings of the directory NAME.d beside it in
// the order in which systemd takes them, and judges the whole. A file that is no
// unit is an error.
func Check(path string) ([]Finding, error) {
	text, err := read(path)
	if err != nil {
		return nil, err
	}
	u := &unit{path: path, name: filepath.Base(path)}
	if err := u.add(path, text); err != nil {
		return nil, err
	}
	more, err := filepath.Glob(filepath.Join(escaped(path+".d"), "*.conf"))
	if err != nil {
		return nil, err
	}
	for _, p := range more {
		if text, err = read(p); err == nil {
			err = u.add(p, text)
		}
		if err != nil {
			return nil, err
		}
	}
	return u.judge(), nil
}

// escaped lets a path stand for itself in a pattern.
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func read(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && !st.Mode().IsRegular() {
		return "", &fs.PathError{Op: "read", Path: path, Err: fs.ErrInvalid}
	}
	text, err := io.ReadAll(io.LimitReader(f, largest))
	return string(text), err
}

// judge asks every rule.
func (u *unit) judge() []Finding {
	var all []Finding
	for _, r := range rules() {
		for _, o := range r.find(u) {
			f := Finding{ID: r.id, Severity: r.severity, Path: o.path, Line: o.line, Seen: o.key + "=" + o.value, Why: r.why, Advice: r.advice}
			if o.line == 0 {
				f.Path, f.Seen = u.path, o.value
			}
			all = append(all, f)
		}
	}
	order := []Severity{Outage, Danger, Notice}
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(slices.Index(order, a.Severity)-slices.Index(order, b.Severity), strings.Compare(a.ID, b.ID))
	})
	return all
}

// IDs lists the ids of all findings, in order.
func IDs() []string {
	var ids []string
	for _, r := range rules() {
		ids = append(ids, r.id)
	}
	return ids
}

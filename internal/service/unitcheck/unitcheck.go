// Package unitcheck reads a unit file of systemd and names the mistakes that let
// two copies of a service run, or leave processes behind. It asks systemd
// nothing: what systemd itself says of a unit, systemd-analyze verify tells.
package unitcheck

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/solehold/solehold/internal/service"
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

// Check reads a unit file, and the settings of the directory NAME.d beside it in
// the order in which systemd takes them, and judges the whole. A file that is no
// unit is an error.
func Check(path string) ([]Finding, error) {
	u := &unit{path: path, name: filepath.Base(path)}
	if err := u.addFile(path); err != nil {
		return nil, err
	}
	more, err := os.ReadDir(path + ".d")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, entry := range more {
		if !strings.HasSuffix(entry.Name(), ".conf") {
			continue
		}
		if err := u.addFile(filepath.Join(path+".d", entry.Name())); err != nil {
			return nil, err
		}
	}
	return u.judge(), nil
}

func (u *unit) addFile(path string) error {
	text, err := service.Read(path)
	if err != nil {
		return err
	}
	return u.add(path, string(text))
}

// judge asks every rule.
func (u *unit) judge() []Finding {
	var all []Finding
	for _, r := range rules() {
		for _, o := range r.find(u) {
			f := Finding{ID: r.id, Severity: r.severity, Path: o.path, Line: o.line, Seen: o.key + "=" + o.value, Why: r.why, Advice: r.advice}
			if o.line == 0 {
				f.Path, f.Seen = u.path, "no "+o.key+"=, so "+o.value
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

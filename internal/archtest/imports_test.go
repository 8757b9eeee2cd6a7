package archtest_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
)

const (
	root = "github.com/solehold/solehold"
	ours = root + "/"
)

// TestLayersMay spells out the import table from the outside: who may see whom.
func TestLayersMay(t *testing.T) {
	for _, c := range []struct{ from, to string }{
		{"solehold", "internal/oslock"},
		{"solehold", "internal/record"},
		{"solehold", "internal/procid"},
		{"solehold", "internal/procfs"},
		{"solehold", "internal/journal"},
		{"solehold", "internal/datadir"},
		{"solehold", "cluster"},
		{"internal/procid", "internal/procfs"},
		{"internal/datadir", "internal/procfs"},
		{"internal/supervise", "health"},
		{"internal/supervise", "internal/policy"},
		{"internal/supervise", "internal/evidence"},
		{"internal/supervise", "internal/sdnotify"},
		{"internal/supervise", "internal/procfs"},
		{"internal/supervise", "internal/procid"},
		{"internal/supervise", "internal/record"},
		{"internal/supervise", "internal/journal"},
		{"internal/diagnose", "internal/procfs"},
		{"internal/diagnose", "internal/procid"},
		{"internal/diagnose", "internal/journal"},
		{"internal/diagnose", "internal/record"},
		{"internal/diagnose", "internal/datadir"},
		{"internal/evidence", "internal/procfs"},
		{"internal/evidence", "internal/procid"},
		{"internal/web", "internal/diagnose"},
		{"internal/cli", "internal/supervise"},
		{"internal/cli", "internal/diagnose"},
		{"internal/cli", "internal/service"},
		{"internal/cli", "internal/journal"},
		{"internal/cli", "dataroot"},
		{"internal/cli", "reload"},
		{"internal/cli", "health"},
		{"cmd/solehold", "internal/cli"},
		{"cmd/solehold-cluster", "cluster"},
		{"cmd/solehold-cluster", "cluster/etcd"},
		{"cmd/solehold-cluster", "cluster/postgres"},
		{"cluster/etcd", "cluster"},
		{"examples/kb", "dataroot"},
		{"examples/kb", "reload"},
		{"vet", "vet/lockcopy"},
		{"vet", "vet/fork"},
	} {
		if mayImport(t, c.from, "a.go", ours+c.to) == "no" {
			t.Errorf("%s may not import %s", c.from, c.to)
		}
	}
}

// TestLayersMayNot has the imports that would turn a layer upside down.
func TestLayersMayNot(t *testing.T) {
	for _, c := range []struct{ from, to string }{
		{"solehold", "internal/diagnose"},
		{"solehold", "internal/supervise"},
		{"solehold", "internal/policy"},
		{"solehold", "internal/lease"},
		{"solehold", "health"},
		{"solehold", "cluster/etcd"},
		{"solehold", "internal/cli"},
		{"internal/oslock", "internal/procfs"},
		{"internal/oslock", "internal/record"},
		{"internal/oslock", "internal/procid"},
		{"internal/oslock", "internal/testneed"},
		{"internal/procfs", "internal/procid"},
		{"internal/record", "internal/procid"},
		{"internal/record", "internal/journal"},
		{"internal/datadir", "internal/oslock"},
		{"internal/datadir", "internal/record"},
		{"internal/supervise", "internal/diagnose"},
		{"internal/supervise", "internal/cli"},
		{"internal/supervise", "internal/oslock"},
		{"internal/supervise", "cluster/etcd"},
		{"internal/diagnose", "internal/supervise"},
		{"internal/diagnose", "internal/cli"},
		{"internal/diagnose", "internal/web"},
		{"internal/diagnose", "internal/oslock"},
		{"internal/evidence", "internal/diagnose"},
		{"internal/evidence", "internal/supervise"},
		{"internal/lease", "internal/policy"},
		{"internal/lease", "internal/procfs"},
		{"internal/web", "internal/supervise"},
		{"internal/web", "internal/journal"},
		{"internal/cli", "internal/web"},
		{"internal/cli", "internal/drill"},
		{"internal/cli", "cluster/etcd"},
		{"internal/cli", "cluster/redis"},
		{"internal/cli", "vet"},
		{"internal/cli", "vet/lockcopy"},
		{"cmd/solehold", "internal/supervise"},
		{"cmd/solehold", "internal/diagnose"},
		{"cmd/solehold-cluster", "internal/web"},
		{"cmd/solehold-cluster", "internal/supervise"},
		{"cluster/etcd", "cluster/redis"},
		{"cluster/etcd", "internal/record"},
		{"examples/other", "internal/cli"},
		{"examples/other", "internal/oslock"},
		{"examples/other", "health"},
		{"vet/lockcopy", "vet"},
		{"vet/lockcopy", "vet/fork"},
		{"health", "internal/policy"},
	} {
		if mayImport(t, c.from, "a.go", ours+c.to) == "yes" {
			t.Errorf("%s may import %s", c.from, c.to)
		}
	}
}

// packages are those that the table knows by name, and one for each of its patterns.
func packages() []string {
	return strings.Fields(`solehold health dataroot reload vet vet/lockcopy examples/kb examples/other
		cluster cluster/clustertest cluster/etcd cluster/redis cluster/zookeeper cluster/postgres cluster/consul
		internal/oslock internal/procfs internal/procid internal/record internal/journal internal/datadir
		internal/sdnotify internal/service internal/lease internal/policy internal/supervise internal/evidence
		internal/diagnose internal/drill internal/web internal/testneed internal/archtest internal/cli
		cmd/solehold cmd/solehold-cluster cmd/solehold-serve cmd/solehold-drill cmd/solehold-vet`)
}

// TestLayersHaveOneDirection asks for every pair and looks for a way back.
func TestLayersHaveOneDirection(t *testing.T) {
	below := map[string][]string{}
	for _, from := range packages() {
		for _, to := range packages() {
			if from == to {
				continue
			}
			if to != "solehold" && mayImport(t, from, "a.go", ours+to) == "yes" || to == "solehold" && mayImport(t, from, "a.go", root) == "yes" {
				below[from] = append(below[from], to)
			}
		}
	}
	done := map[string]bool{}
	var walk func(pkg string, above []string)
	walk = func(pkg string, above []string) {
		if slices.Contains(above, pkg) {
			t.Fatalf("a circle in the table: %s", strings.Join(append(above, pkg), " -> "))
		}
		if done[pkg] {
			return
		}
		for _, next := range below[pkg] {
			walk(next, append(above, pkg))
		}
		done[pkg] = true
	}
	for _, pkg := range packages() {
		walk(pkg, nil)
	}
	if len(below["internal/cli"]) < 10 || len(below["internal/oslock"]) > 0 {
		t.Errorf("the pairs were not asked: %v", below)
	}
}

// TestLayersSeeRoot has the packages that may import the root package.
func TestLayersSeeRoot(t *testing.T) {
	for from, want := range map[string]string{
		"internal/supervise": "yes", "internal/diagnose": "yes", "internal/cli": "yes", "dataroot": "yes", "examples/kb": "yes", "internal/drill": "yes",
		"internal/oslock": "no", "internal/web": "no", "reload": "no", "cluster": "no", "cluster/etcd": "no", "cmd/solehold": "no",
	} {
		if got := mayImport(t, from, "a.go", root); got != want {
			t.Errorf("%s may import the root package: %s, want %s", from, got, want)
		}
	}
}

// TestOnlyCommandsSeeCLI goes through all other packages of the table.
func TestOnlyCommandsSeeCLI(t *testing.T) {
	for _, from := range packages() {
		if strings.HasPrefix(from, "cmd/") {
			continue
		}
		if mayImport(t, from, "a.go", ours+"internal/cli") == "yes" {
			t.Errorf("%s may import internal/cli", from)
		}
	}
}

func TestTestsSeeMore(t *testing.T) {
	for _, c := range []struct{ from, to string }{
		{"internal/oslock", ours + "internal/oslock"},
		{"internal/oslock", ours + "internal/testneed"},
		{"cluster/etcd", ours + "cluster/clustertest"},
		{"internal/web", root},
		{"internal/cli", "github.com/rogpeppe/go-internal/testscript"},
		{"cmd/solehold", "github.com/rogpeppe/go-internal/testscript"},
		{"cluster/etcd", "github.com/anishathalye/porcupine"},
	} {
		if mayImport(t, c.from, "a.go", c.to) == "yes" {
			t.Errorf("the code of %s may import %s", c.from, c.to)
		}
		if mayImport(t, c.from, "a_test.go", c.to) == "no" {
			t.Errorf("the tests of %s may not import %s", c.from, c.to)
		}
	}
}

// TestTestsSeeNoMore: a test below does not lean on what is above, and brings no module of its own.
func TestTestsSeeNoMore(t *testing.T) {
	for _, c := range []struct{ from, to string }{
		{"internal/oslock", root},
		{"internal/oslock", ours + "internal/record"},
		{"internal/supervise", ours + "internal/diagnose"},
		{"internal/supervise", ours + "internal/cli"},
		{"cluster/etcd", ours + "cluster/redis"},
		{"examples/kb", ours + "internal/procfs"},
		{"solehold", "github.com/stretchr/testify/require"},
		{"internal/cli", "github.com/google/go-cmp/cmp"},
	} {
		if mayImport(t, c.from, "a_test.go", c.to) == "yes" {
			t.Errorf("the tests of %s may import %s", c.from, c.to)
		}
	}
}

func TestModules(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"internal/cli", "github.com/spf13/cobra", "yes"},
		{"internal/cli", "github.com/spf13/cobra/doc", "yes"},
		{"internal/cli", "github.com/spf13/cobrafake", "no"},
		{"internal/cli", "go.etcd.io/etcd/client/v3", "no"},
		{"internal/supervise", "github.com/spf13/cobra", "no"},
		{"internal/supervise", "golang.org/x/sys/unix", "yes"},
		{"internal/diagnose", "golang.org/x/sys/unix", "no"},
		{"solehold", "golang.org/x/sys/unix", "yes"},
		{"internal/lease", "golang.org/x/sys/unix", "no"},
		{"examples/kb", "modernc.org/sqlite", "yes"},
		{"examples/other", "modernc.org/sqlite", "no"},
		{"cluster/etcd", "go.etcd.io/etcd/client/v3", "yes"},
		{"cluster/redis", "go.etcd.io/etcd/client/v3", "no"},
		{"internal/web", "github.com/prometheus/client_golang/prometheus", "yes"},
		{"vet/lockcopy", "golang.org/x/tools/go/analysis", "yes"},
		{"newcomer", "golang.org/x/sys/unix", "no"},
		{"internal/oslock", "encoding/json", "yes"},
	} {
		if got := mayImport(t, c.from, "a.go", c.to); got != c.want {
			t.Errorf("%s may import %s: %s, want %s", c.from, c.to, got, c.want)
		}
	}
}

// mayImport says yes or no; from is a package path, where solehold is the root package.
func mayImport(t *testing.T, from, file, to string) string {
	t.Helper()
	name := path.Join(strings.TrimPrefix(from, "solehold"), file)
	tree := plant(t, fmt.Sprintf("-- %s --\npackage p\n\nimport _ %q\n", name, to))
	if len(check(t, "imports", tree))+len(check(t, "modules", tree)) > 0 {
		return "no"
	}
	return "yes"
}

// TestUnknownPackageIsToldOnce also has a package whose only file is a test.
func TestUnknownPackageIsToldOnce(t *testing.T) {
	expect(t, "imports", `
-- internal/new/a.go --
package new
-- internal/new/b.go --
package new
-- only/a_test.go --
package only_test
`, "internal/new/a.go:1: imports: package internal/new has no row: add a row to internal/archtest/layers.go",
		"only/a_test.go:1: imports: package only has no row: add a row to internal/archtest/layers.go")
}

func TestBlankImports(t *testing.T) {
	expect(t, "blank", `
-- examples/kb/main.go --
package main

import (
	_ "modernc.org/sqlite"
	. "fmt"
)
-- examples/kb/store/store.go --
package store

import _ "modernc.org/sqlite"
-- a/a_test.go --
package a_test

import (
	_ "net/http/pprof"
	renamed "os"
)
`, `a/a_test.go:4: blank: import _ "net/http/pprof"`, `examples/kb/main.go:5: blank: import . "fmt"`,
		`examples/kb/store/store.go:3: blank: import _ "modernc.org/sqlite"`)
}

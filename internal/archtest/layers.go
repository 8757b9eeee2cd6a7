package archtest

import "slices"

// layer is one row of the import table. Lists are package paths below the module; "." is the root package and a
// final "/..." takes everything below. Third-party modules are given by the start of their import path.
type layer struct {
	place string   // package, or pattern of path.Match; the first row that fits counts
	ours  []string // packages of ours that it may import
	third []string // modules that it may import
	tests []string // both kinds, in tests only
	why   string   // printed when the row is broken
}

const (
	xsys       = "golang.org/x/sys"
	xtools     = "golang.org/x/tools"
	cobra      = "github.com/spf13/cobra"
	pflag      = "github.com/spf13/pflag"
	sqlite     = "modernc.org/sqlite"
	testscript = "github.com/rogpeppe/go-internal"
	bolt       = "go.etcd.io/bbolt"
	pebble     = "github.com/cockroachdb/pebble"
	goleveldb  = "github.com/syndtr/goleveldb"
	badger     = "github.com/dgraph-io/badger"
	porcupine  = "github.com/anishathalye/porcupine"
	prometheus = "github.com/prometheus"
	chromedp   = "github.com/chromedp"
)

// list is shorter than a slice literal in a table.
func list(s ...string) []string { return s }

// layers gives the import table. A package without a row is a finding.
func layers() []layer {
	return slices.Concat(leaves(), library(), engines(), inner(), outer())
}

func leaves() []layer {
	none, sys := []string(nil), list(xsys)
	const leaf = "a leaf knows one thing and no name above it"
	const core = "a pure core has no dependency that could do I/O"
	return []layer{
		{"internal/oslock", none, sys, none, leaf},
		{"internal/procfs", none, sys, none, leaf},
		{"internal/procid", list("internal/procfs"), sys, none, leaf},
		{"internal/record", none, sys, none, leaf},
		{"internal/journal", none, sys, none, leaf},
		{"internal/journald", list("internal/journal"), sys, none, leaf},
		{"internal/datadir", list("internal/procfs"), sys, none, leaf},
		{"internal/sdnotify", none, sys, none, leaf},
		{"internal/service", none, none, none, leaf},
		{"internal/service/unitcheck", list("internal/service"), none, none, leaf},
		{"internal/lease", none, none, none, core},
		{"internal/agent/wire", none, none, none, leaf},
		{"internal/policy", none, none, list(testscript), core},
		{"internal/exposition", none, list(prometheus), none, leaf},
	}
}

func library() []layer {
	below := list("internal/oslock", "internal/record", "internal/procid", "internal/procfs", "internal/journal", "internal/datadir", "internal/sdnotify", "cluster")
	return []layer{
		{".", below, list(xsys), list(testscript), "a program that takes a lock gets the lock and nothing else: the write side never reads history"},
		{"health", nil, list(xsys), nil, "a probe knows nothing of locks"},
		{"health/healthtls", list("health"), nil, nil, "TLS is apart so that a lean program does not link it"},
		{"health/grpchealth", list("health"), list("google.golang.org/grpc"), nil, "grpc's client is apart so that a lean program does not link it"},
		{"dataroot", list("."), list(xsys), nil, "a data root needs the lock and nothing else"},
		{"keylock", nil, nil, nil, "locks within a process need nothing"},
		{"reload", nil, list(xsys, "github.com/fsnotify/fsnotify"), nil, "reloading a file needs no lock"},
		{"metrics", list(".", "cluster", "internal/exposition", "internal/lease", "internal/journal"), list(prometheus), list("go.opentelemetry.io"), "a collector tells what it was told, and takes nothing itself"},
		{"fence", nil, nil, list(sqlite), "a resource that refuses late writers needs no lock"},
	}
}

func engines() []layer {
	const why = "an engine needs the contract and its own client"
	return []layer{
		{"cluster", list("internal/lease"), list(xsys), list("cluster/clustertest"), "the contract knows no engine"},
		{"cluster/clustertest", list("cluster"), list(porcupine), nil, "the suite runs on every engine"},
		{"cluster/etcd", list("cluster"), list("go.etcd.io/etcd", "google.golang.org/grpc", "go.uber.org/zap"), list("cluster/clustertest", "internal/servers", porcupine), why},
		{"cluster/redis", list("cluster"), list("github.com/redis/go-redis"), list("cluster/clustertest", "internal/servers", porcupine), why},
		{"cluster/zookeeper", list("cluster"), list("github.com/go-zookeeper/zk"), list("cluster/clustertest", "internal/servers", porcupine), why},
		{"cluster/postgres", list("cluster"), list("github.com/jackc/pgx", "github.com/jackc/pgxlisten"), list("cluster/clustertest", "internal/servers", porcupine), why},
		{"cluster/consul", list("cluster"), list("github.com/hashicorp/consul/api"), list("cluster/clustertest", "internal/servers", porcupine), why},
	}
}

func inner() []layer {
	return []layer{
		{"internal/evidence", list("internal/procfs", "internal/procid"), list(xsys), nil, "evidence is seen in /proc, not asked of a lock"},
		{
			"internal/supervise",
			list(".", "cluster", "health", "reload", "internal/agent/wire", "internal/lease", "internal/policy", "internal/evidence", "internal/sdnotify", "internal/procfs", "internal/procid", "internal/record", "internal/journal", "internal/datadir"),
			list(xsys), list(testscript, "internal/testsystemd"), "the write side never imports the read side",
		},
		{
			"internal/clean", list(".", "internal/datadir", "internal/journal", "internal/evidence", "internal/supervise"),
			nil, list(xsys), "what removes files is apart from what judges: it is told which process is dead",
		},
		{
			"internal/diagnose", list(".", "internal/procfs", "internal/procid", "internal/journal", "internal/journald", "internal/record", "internal/datadir", "internal/evidence"),
			nil, list(testscript, xsys), "the read side cannot start, stop or change anything",
		},
		{
			"internal/diagnose/doctor",
			list(".", "internal/diagnose", "internal/procfs", "internal/procid", "internal/datadir"),
			list(xsys), list(testscript, bolt, pebble, goleveldb, badger, sqlite, "docs/findings"), "doctor looks and touches nothing: it cannot even name what takes a lock",
		},
		{
			"internal/diagnose/overview",
			list(".", "dataroot", "internal/diagnose", "internal/diagnose/doctor", "internal/procfs", "internal/journal", "internal/datadir", "internal/evidence"),
			nil, list(xsys, "internal/testneed"), "who looks at all directories sees what who looks at one does",
		},
		{
			"internal/agent", list("cluster/...", "internal/agent/wire", "internal/lease", "internal/sdnotify", "internal/supervise"), nil,
			list("internal/testsystemd", ".", "internal/procfs", "internal/testneed", "go.etcd.io/etcd", "go.uber.org/zap", "google.golang.org/grpc", xsys), "an agent joins an engine and a tree that must stop",
		},
		{
			"internal/clustercli", list(".", "cluster", "internal/diagnose", "internal/diagnose/doctor"), list(cobra), list("internal/agent", "cluster/..."),
			"what an operator does is told an engine by its contract",
		},
		{"docs/findings", nil, nil, nil, "pages know nothing of the program that shows them"},
		{
			"internal/drill", list(".", "health", "internal/diagnose", "internal/procfs", "internal/procid"),
			list(xsys), list(testscript, chromedp), "a drill sees what an operator sees, and never asks the command",
		},
		{"internal/drill/engine", nil, list("go.etcd.io/etcd", "go.uber.org/zap"), nil, "an engine is a program of its own, met over the network"},
		{
			"internal/lab", list(".", "internal/procfs"),
			list(xsys, cobra, "golang.org/x/term", bolt, goleveldb, sqlite, "github.com/redis/go-redis"), nil,
			"an experiment meets the library, real databases and a real engine as any program does",
		},
		{
			"internal/remote", list("cluster"), nil, list("cluster/etcd", "internal/testneed", "go.etcd.io/etcd", "go.uber.org/zap"),
			"the clients of the engines are in a program that is asked",
		},
		{"internal/hostmetrics", list(".", "internal/remote", "docs/findings", "internal/diagnose", "internal/diagnose/overview", "internal/exposition"), list(prometheus), list("internal/diagnose/doctor", "internal/journal"), "what is told is what was seen"},
		{
			"internal/web", list("internal/remote", "internal/diagnose", "internal/diagnose/doctor", "internal/diagnose/overview", "docs/findings", "internal/hostmetrics"), list(prometheus),
			list(".", "internal/journal", "internal/testneed", "github.com/chromedp", xsys), "a page cannot change a lock",
		},
		{"vet", list("vet/..."), list(xtools), nil, "an analyzer reads source and nothing of ours"},
		{"vet/plugin", list("vet"), list(xtools, "github.com/golangci/plugin-module-register"), nil, "what golangci-lint wants stays in one place"},
		{"vet/internal/*", list("vet/internal/..."), list(xtools), nil, "an analyzer reads source and nothing of ours"},
		{"vet/*", list("vet/internal/..."), list(xtools), nil, "analyzers share what a lock is, and know nothing of each other"},
		{"internal/model", nil, nil, nil, "the protocol is searched apart from the code, so that neither can be bent to fit the other"},
		{"internal/testneed", nil, nil, nil, "every test may import it"},
		{"internal/servers", list("internal/testneed"), nil, nil, "a server is a program of its own, met over the network"},
		{"internal/testsystemd", list("internal/testneed"), nil, nil, "it boots systemd and knows nothing of what runs there"},
		{"internal/realtest", nil, nil, list(xsys, "internal/testsystemd"), "real programs meet the binary, as at a user's: nothing of ours is linked in"},
		{"deploy", nil, nil, list("internal/exposition", "cluster/clustertest", "go.etcd.io/etcd", "go.uber.org/zap", xsys), "alerts and dashboards meet the programs, as at a user's"},
		{"internal/archtest", nil, nil, list(xtools), "the rules stand outside what they judge"},
	}
}

func outer() []layer {
	lean := list(
		".", "health", "dataroot", "reload", "cluster", "internal/oslock", "internal/procfs", "internal/procid", "internal/record",
		"internal/journal", "internal/journald", "internal/datadir", "internal/policy", "internal/supervise", "internal/evidence", "internal/clean",
		"internal/diagnose", "internal/diagnose/doctor", "internal/diagnose/overview", "docs/findings", "internal/service", "internal/service/unitcheck", "internal/sdnotify",
		"internal/agent/wire",
	)
	const wiring = "a command is wiring: what it does is in a package with tests"
	const user = "an example shows what a user of the library can import"
	return []layer{
		{"internal/cli", lean, list(cobra, pflag, xsys, "golang.org/x/term", testscript+"/diff"), list(testscript), "the lean binary stays free of engines, page, drill and analyzers"},
		{"internal/drillcli", list(".", "internal/drill", "internal/lab"), list(cobra, pflag, xsys, "golang.org/x/term"), list(testscript), "flags, output and exit codes of drill and lab, apart from the lean binary"},
		{"internal/servecli", list(".", "internal/remote", "internal/web", "internal/diagnose/overview"), list(cobra), nil, "flags, output and exit codes of serve, apart from the lean binary"},
		{"internal/probecli", list("health", "health/grpchealth", "health/healthtls"), list(cobra), list("google.golang.org/grpc"), "flags, output and exit codes of one probe, apart from the lean binary"},
		{"internal/mangen", list("internal/cli", "internal/clustercli", "internal/drillcli", "internal/probecli", "internal/servecli", "internal/journald"), list(cobra), list("internal/testneed"), "pages and completion come from the texts of the commands"},
		{"cmd/solehold", list("internal/cli"), nil, list(testscript), "only the outermost layer imports internal/cli"},
		{"cmd/solehold-cluster", list(".", "internal/cli", "internal/diagnose", "internal/agent", "internal/clustercli", "cluster/..."), list(cobra, xsys), list(testscript), wiring},
		{"cmd/solehold-serve", list("internal/servecli"), nil, list(".", testscript, "internal/journal"), wiring},
		{"cmd/solehold-drill", list("internal/drillcli", "internal/drill", "internal/drill/engine"), nil, list(testscript), wiring},
		{"cmd/solehold-probe", list("internal/probecli"), nil, list(testscript), wiring},
		{"cmd/solehold-vet", list("vet"), list(xtools), list(testscript), wiring},
		{"examples/kb", list(".", "dataroot", "reload"), list(sqlite), list(testscript), user},
		{"examples/*", list(".", "dataroot", "reload"), nil, list(testscript), user},
	}
}

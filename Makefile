# `make test` installs what the tests need, where it may, and runs everything. Each variable can be given on the
# command line: make test RACE=0, make lint PLATFORMS=linux/arm64.

GO        ?= go
BIN       ?= bin
MAN       ?= $(BIN)/man
PKGS      ?= ./...
LDFLAGS   ?= -s -w
# The commit is stamped in where git can tell it.
STAMP     ?= $(if $(shell git rev-parse --verify HEAD 2>/dev/null),,-buildvcs=false)
TESTFLAGS ?= -timeout 15m
# Nothing here uses C, so that everything is compiled once for all; the race detector alone needs it.
export CGO_ENABLED = 0
# Packages that are tested at a time: most tests wait for processes more than they compute.
TOGETHER  ?= $(shell expr $$(nproc) + 1)
# What make dist builds, for whom, and under which version.
DIST           ?= dist
DIST_PLATFORMS ?= linux/amd64 linux/arm64 windows/amd64 darwin/amd64 darwin/arm64 freebsd/amd64
DIST_CMDS      ?= ./cmd/...
VERSION        ?= $(or $(shell git describe --tags --match 'v[0-9]*' 2>/dev/null | sed 's/^v//'),0.0.0$(addprefix +git.,$(shell git rev-parse --short HEAD 2>/dev/null)))
PLATFORMS ?= linux/386 darwin/arm64 windows/amd64 freebsd/amd64 wasip1/wasm

# Packages that are vetted for this system alone: the clients, servers and databases that they or their tests bring take
# minutes to compile for each other one. Ours all are, so that the files for "other" systems are compiled each time.
HEAVY     ?= /(examples/kb|fence|cluster/(etcd|redis|zookeeper|postgres|consul)|internal/agent|internal/drill/engine|cmd/solehold-cluster|health/grpchealth|internal/probecli|internal/mangen|cmd/solehold-probe)$$
# Those that are so on Linux alone.
HEAVY_LINUX ?= /(internal/lab|internal/drillcli|cmd/solehold-drill|deploy)$$
# One of which only the tests do: it is built.
HEAVY_TESTS ?= /internal/diagnose/doctor$$

# The race detector needs a C compiler and runs where goroutines share something. The tests of supervise drive the
# binary, which is built without it.
RACE      ?= $(if $(shell command -v "$$($(GO) env CC)"),1,0)
RACE_DIRS ?= . cluster reload keylock internal/journal internal/diagnose/overview
# Left out are those whose work is done by other processes, many of them: the detector sees one process.
RACE_SKIP ?= Storm|ManyOpens|KillAtRandomPoint|GCRounds|WriteFileIsWhole|KilledOwnerAndCollector|ManyProcesses|NoFalseRefusal|RoundsEverywhere|KilledWriter|Browser|ManyDirectories
race_pkgs  = $(foreach d,$(RACE_DIRS),$(if $(wildcard $(d)/*.go),./$(d)))

# The core of other Unix systems (flock), run on Linux. Left out is what only the Linux core does: holders are seen,
# programs join, the mark outlives .solehold, and the lock calls are those that the tests let fail.
PORTABLE_SKIP ?= Twin|Join|Sharers|FlockOfThe|StrangersMark|G2LastSharer|G5|G7|G8|CleanUp|DetachedHolder|WithRemover

.PHONY: all build test portable deps race lint locks format cross fmt bench bench-doctor bench-supervisors bench-partition bench-cluster bench-vet demo man dist lab-pages clean
all: build

build: ; $(if $(wildcard cmd/*/*.go),CGO_ENABLED=0 $(GO) build -trimpath $(STAMP) -ldflags "$(LDFLAGS)" -o $(BIN)/ ./cmd/...,@echo "no commands yet")

test: deps lint
	$(GO) test $(TESTFLAGS) -p $(TOGETHER) $(PKGS)
	@$(MAKE) --no-print-directory portable
	cd bench && $(GO) vet ./... && $(GO) test $(TESTFLAGS) ./...
	cd packaging && $(GO) vet ./... && $(GO) test $(TESTFLAGS) ./...
	@if [ "$(RACE)" = 1 ]; then $(MAKE) --no-print-directory race; else echo "race tests skipped: needs a C compiler; get it: apt-get install gcc libc6-dev"; fi

portable: ; $(GO) test $(TESTFLAGS) -tags solehold_portable -skip '$(PORTABLE_SKIP)' . ./internal/oslock

deps: ; @scripts/deps.sh

race: ; $(if $(race_pkgs),CGO_ENABLED=1 $(GO) test $(TESTFLAGS) -race -skip '$(RACE_SKIP)' $(race_pkgs),@echo "nothing to race yet")

lint: format cross locks ; $(GO) tool staticcheck $(PKGS)

# Our own analyzers find nothing in our own code and in the examples.
locks: ; $(GO) build $(STAMP) -o $(BIN)/ ./cmd/solehold-vet && $(GO) vet -vettool=$(abspath $(BIN)/solehold-vet) $(PKGS)

format:
	@bad=$$($(GO) tool gofumpt -l .) && [ -z "$$bad" ] || { printf 'run make fmt:\n%s\n' "$$bad"; exit 1; }

# Files of other systems are compiled and vetted too; nothing of them is run. On wasip1 tests that use testscript, which
# does not compile there, are left out.
cross:
	$(GO) vet $(PKGS)
	@set -e; for p in $(PLATFORMS); do \
		echo "$(GO) vet for $$p"; \
		export GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0; \
		pkgs=$$($(GO) list -e $(PKGS) | grep -Ev '$(HEAVY)'); \
		if [ $$GOOS = linux ]; then pkgs=$$(printf '%s\n' $$pkgs | grep -Ev '$(HEAVY_LINUX)'); fi; \
		$(GO) build -o /dev/null $$pkgs; \
		pkgs=$$(printf '%s\n' $$pkgs | grep -Ev '$(HEAVY_TESTS)'); \
		if [ $$GOOS = wasip1 ]; then \
			pkgs=$$($(GO) list -e -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' $$pkgs | grep -v /testscript | cut -d' ' -f1); \
		fi; \
		$(GO) vet $$pkgs; \
	done

fmt: ; $(GO) tool gofumpt -w .

# The story of two starters in one minute, on the sample service.
demo: build ; $(GO) build -o $(BIN)/ ./examples/kb && BIN=$(BIN) scripts/demo.sh

bench: ; cd bench && $(GO) run .

# doctor beside lsof and an lslocks that asks every process, which Debian 12 does not have.
bench-doctor:
	scripts/lslocks.sh $(abspath $(BIN))/lslocks
	cd bench && PATH=$(abspath $(BIN))/lslocks/bin:$$PATH $(GO) run . -run doctor/

# Supervisors killed, started twice, stopped: what lives then. It says which packages are missing.
bench-supervisors: ; cd bench && $(GO) run . -table supervisors

# Holders of a lock of each engine cut off by a black hole, beside the engines' own clients.
bench-partition: ; cd bench && $(GO) run . -table partition

# The locks of cluster/etcd beside those of etcd itself, on one server, and what they cost it.
bench-cluster: ; cd cluster/etcd && $(GO) test -run '^$$' -bench . -benchtime 2s .

# The time of solehold vet beside that of go vet, over the standard library.
bench-vet: ; cd bench && $(GO) run . -table vet

man: ; $(GO) run ./internal/mangen $(MAN)

# The pages of docs/lab, from the texts of the experiments.
lab-pages: ; $(GO) run ./cmd/solehold-drill lab pages docs/lab

# Static programs for each platform, packages for Linux, and the sums of all.
dist:
	rm -rf $(DIST)
	$(GO) run ./internal/mangen $(DIST)/share
	@set -e; for p in $(DIST_PLATFORMS); do \
		os=$${p%/*} arch=$${p#*/} to=$(DIST)/$${p%/*}-$${p#*/}; \
		echo "building $$to"; mkdir -p $$to; \
		CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch $(GO) build -trimpath $(STAMP) -ldflags "$(LDFLAGS)" -o $$to/ $(DIST_CMDS); \
		[ $$os != linux ] || (cd packaging && SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct 2>/dev/null || date +%s) $(GO) run . -version $(VERSION) -arch $$arch \
			-bin $(abspath $(DIST))/$$os-$$arch -share $(abspath $(DIST))/share -docs .. -out $(abspath $(DIST))); \
	done
	cd $(DIST) && find . -type f ! -name SHA256SUMS ! -path './share/*' | LC_ALL=C sort | xargs sha256sum >SHA256SUMS

clean: ; rm -rf $(BIN) $(DIST)

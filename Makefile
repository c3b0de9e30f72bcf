# Every target is one thing a developer or the CI does; .ci/run calls them.
# "make" alone lists them. Words in capitals can be set: make bench BENCH=Load

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS   += --no-builtin-rules --no-print-directory
.SUFFIXES:
.DEFAULT_GOAL := help

# The packages a user of the library compiles.
CORE := ./mvcc/... ./epoch/... ./gc/... \
	./internal/engine/chain ./internal/engine/hasher ./internal/engine/index ./internal/engine/tree
# What is tested as another program, or on other machines: that, and programs over it. PART of it.
TESTED-all  := $(CORE) ./internal/proof/oracle
TESTED-mvcc := ./mvcc/...
TESTED-rest := $(filter-out $(TESTED-mvcc),$(TESTED-all))
PART        ?= all
TESTED      := $(TESTED-$(PART))
# Those that have files with build tags: mvcccheck compiles yield points and checks of
# invariants in, nolinkname is the fallback of package epoch.
TAGGED := $(CORE) ./internal/debug/hooks/... ./internal/debug/invariant ./internal/debug/pin ./internal/proof/soak \
	./internal/debug/stage

# Tools run by version, so that go.mod does not grow by what they need.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.8.0
APIDIFF     := golang.org/x/exp/cmd/apidiff@v0.0.0-20261014143641-f0251eb4aa3e

# What .ci/run tests beside the installed Go: the newest patch of the two newest releases.
GO_RELEASES ?= go1.26.11 go1.27.4

# What test-emulated runs the core as: an arm64 machine, and one that is big-endian.
EMULATED ?= arm64 s390x

ARGS        ?=
TESTFLAGS   ?=
# The tree, under the race detector, takes as long as half of the rest: it is a slice of NIGHTLY.
RACED       ?= $(filter-out ./internal/engine/tree,$(CORE)) ./durable ./internal/engine/favour
# Tests in which one goroutine moves at a time, or that judge memory: make test has them, and the
# race detector finds nothing there in a third of its time.
UNRACED     ?= Bounded|Called|Crashes|Damage|DamagedBackups|DecoderFailsOnce|DiskFailsOnce| \
	EncoderFailsOnce|Files|ForeignFiles|JournalRefuses|Linear|LoadResume|ReadHeader|RefusedRecords| \
	SaveAndLoad|WritersPruneBesideReaders
AROUND      ?= ./internal/proof/history ./internal/proof/soak ./internal/bench/machine \
	./internal/bench/results ./mvcctest ./cmd/mvccdump/internal/dump
MUTANTFLAGS ?=
SHORT       ?= -short
SOAK        ?= 10m
SOAKTAGS    ?=
BENCH       ?= .
BENCHTIME   ?= 1s
FUZZTIME    ?= 1m
PROCS       ?= 1 4 16
COUNT       ?= 6
OLD         ?= old.txt
NEW         ?= new.txt

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^##@ / { print "\n" substr($$0, 5) ":" } \
		/^[a-z0-9-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

##@ run

.PHONY: demo run
demo: ## run the main job: the default sweep of mvccbench, under a minute
	go run ./cmd/mvccbench $(ARGS)
run: demo ## the same

.PHONY: build
build: ## compile everything; programs go to bin/
	go build ./...
	mkdir -p bin && go build -o bin/ ./cmd/...

##@ test

.PHONY: test
test: ## run the tests
	go test -count=1 $(TESTFLAGS) ./...

# Without inlining, which the detector has little of, compiling takes half as long.
RACE := -race '-gcflags=github.com/mvccmap/mvccmap/...=-l -dwarf=false' -tags mvcccheck
empty :=
SKIPPED := $(if $(SHORT),-skip '^Test($(subst $(empty) ,,$(UNRACED)))$$')

.PHONY: race
race: ## test the engine (RACED) under the race detector, with yield points, shortened (SHORT=)
	go test $(RACE) -count=1 -timeout $(if $(SHORT),40m,60m) $(SHORT) $(SKIPPED) $(TESTFLAGS) $(RACED)

.PHONY: race-around
race-around: ## the same for what runs and measures the engine (AROUND)
	$(MAKE) race RACED="$(AROUND)"

.PHONY: journey-race
journey-race: ## the same for the laboratory of the journey
	go -C bench/journey test $(RACE) -count=1 $(SHORT) $(TESTFLAGS) .

.PHONY: schedules
schedules: ## test the core with yield points and checks of its invariants, in full
	go test -count=1 $(TESTFLAGS) -tags mvcccheck $(TESTED)

.PHONY: procs
procs: ## test the core at GOMAXPROCS 1, 4 and 16 (PROCS)
	for n in $(PROCS); do \
		echo "GOMAXPROCS=$$n"; \
		GOMAXPROCS=$$n go test -count=1 $(SHORT) $(TESTFLAGS) -tags mvcccheck $(TESTED); \
	done

.PHONY: nolinkname
nolinkname: ## test the core without linkname into the runtime
	go test -count=1 $(SHORT) $(TESTFLAGS) -tags nolinkname,mvcccheck $(TESTED)

.PHONY: test-386
test-386: ## test the core as 32-bit programs, where the machine runs them
	scripts/test-386.sh $(SHORT) $(TESTFLAGS) $(TESTED)

.PHONY: test-emulated
test-emulated: ## test the core as other machines (EMULATED), under qemu (ten minutes)
	scripts/test-emulated.sh "$(EMULATED)" $(SHORT) $(TESTFLAGS) $(TESTED)

.PHONY: test-releases
test-releases: ## test the core with the Go releases of GO_RELEASES
	scripts/test-releases.sh "$(GO_RELEASES)" $(SHORT) $(TESTFLAGS) $(TESTED)

.PHONY: nested
nested: ## vet and test the modules within this one
	scripts/nested.sh go vet ./...
	SKIP=browsertest scripts/nested.sh go test -count=1 -vet=off $(TESTFLAGS) ./...

.PHONY: browser
browser: ## run the tests that drive a real browser (chromium), shortened (SHORT=)
	scripts/browser.sh $(SHORT) $(TESTFLAGS)

.PHONY: model
model: ## check the protocol model at its large bounds
	MODEL=large go test -count=1 -timeout 2h $(TESTFLAGS) ./internal/proof/model/...

.PHONY: fuzz
fuzz: ## run each fuzz test for FUZZTIME; what fails goes to testdata/fuzz of its package
	go test -run '^$$' -fuzz '^FuzzProgram$$' -fuzztime $(FUZZTIME) ./internal/proof/oracle
	go test -run '^$$' -fuzz '^FuzzForged$$' -fuzztime $(FUZZTIME) ./internal/seam/gobtext
	go test -run '^$$' -fuzz '^FuzzForgedLines$$' -fuzztime $(FUZZTIME) ./internal/seam/disk

.PHONY: soak
soak: ## check the map under random load for SOAK; SOAKTAGS=mvcccheck stops goroutines in the races
	go run -tags '$(SOAKTAGS)' ./cmd/mvccbench verify --duration $(SOAK) $(ARGS)

.PHONY: mutants
mutants: ## break the code on purpose, fault by fault: a test must notice each
	go run ./internal/proof/mutants $(MUTANTFLAGS)

.PHONY: mutants-check
mutants-check: ## print the mutants that do not apply or compile, with the present code
	go run ./internal/proof/mutants -check $(MUTANTFLAGS)

.PHONY: check
check: ## before each commit, in a minute: build, the core's tests, lint of what changed
	go build ./...
	go test -short $(TESTFLAGS) $(CORE)
	go test -short $(TESTFLAGS) -tags mvcccheck $(CORE)
	@packages=$$(scripts/changed.sh); if [ -n "$$packages" ]; then \
		echo lint: $$packages; go vet $$packages && go run $(STATICCHECK) $$packages; fi

# What is too long for every change, in slices: a target, and what it is to do, behind colons.
# .ci/run runs another slice for each commit.
MODES   := schedules procs:PROCS=1 procs:PROCS=4 procs:PROCS=16 nolinkname test-386 \
	$(addprefix test-releases:GO_RELEASES=,$(GO_RELEASES))
NIGHTLY := $(addsuffix :PART=mvcc,$(MODES)) lint-all journey-race race-around \
	$(addprefix race:RACED=,./profiling/... ./bench/... ./internal/bench/cli/... ./internal/engine/tree) \
	$(addsuffix :PART=rest,$(MODES))

.PHONY: nightly
nightly: ## all slices of .ci/run, the whole browser tests, all mutants, arm64, s390x, models, fuzz, soak
	.ci/run nightly

.PHONY: slices
slices:
	@printf '%s\n' $(NIGHTLY)

.PHONY: slice
slice: ## the slice of nightly that SLICE, a number, stands for
	@slices=($(NIGHTLY)); one=$${slices[$(SLICE) % $${#slices[@]}]}; \
		echo "make $${one//:/ }"; $(MAKE) $${one//:/ }

.PHONY: api
api: ## compare the exported API with that of the last tag
	scripts/api.sh $(APIDIFF)

.PHONY: packcheck
packcheck: ## pack the module, fetch it as a user would, run the README's example
	scripts/packcheck.sh

.PHONY: cover
cover: ## measure how much of the core the tests reach (coverage.out)
	go test -count=1 $(TESTFLAGS) -tags mvcccheck -coverprofile=coverage.out \
		-coverpkg=$$(echo $(CORE) | tr ' ' ,) $(TESTED)
	go tool cover -func=coverage.out | tail -n 1

##@ measure

.PHONY: bench
bench: ## run the Go benchmarks (BENCH, BENCHTIME, COUNT)
	go test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -count $(COUNT) -benchmem $(CORE) ./bench/...

.PHONY: bench-compare
bench-compare: ## compare two result files (OLD, NEW) with benchstat
	go tool benchstat $(OLD) $(NEW)

# What bench-peers measures; it takes under five minutes.
PEERENGINES   ?= mvcc,mvcc-direct,rwmutex,sync.Map,xsync,badger,memdb,statedb,buntdb,bbolt,btree
PEERWORKLOADS ?= ycsb-a,ycsb-b,ycsb-e,counter,transfer,range-audit,smallbank,long-reader
PEERFLAGS     ?= --keys 1k --threads 1,2,8 --count 6 --duration 150ms --warmup 50ms
PEERRESULTS   ?= bin/peers.txt

.PHONY: bench-peers
bench-peers: ## measure the map beside its peers (ARGS), for benchstat in PEERRESULTS
	mkdir -p bin && go -C bench/peers build -o ../../bin/ ./cmd/peersbench
	rm -f $(PEERRESULTS)
	bin/peersbench run --workload $(PEERWORKLOADS) --engine $(PEERENGINES) $(PEERFLAGS) $(ARGS) -o $(PEERRESULTS)

.PHONY: bench-beside
bench-beside: ## measure tables and order beside the peers, in five minutes
	mkdir -p bin
	go -C bench/peers test -run '^$$' -bench Beside -benchtime 100ms . > bin/beside.txt
	go tool benchstat -col /engine bin/beside.txt

.PHONY: pictures
pictures: ## make the pictures of docs/profiling.md, with chromium, in three minutes
	mkdir -p docs/pictures
	MVCCMAP_PICTURES=$(CURDIR)/docs/pictures go -C profiling/browsertest test -count=1 -run '^TestPictures$$' .

.PHONY: journey
journey: ## measure the table of docs/journey.md, in eight minutes (ARGS)
	go -C bench/journey test -run '^$$' -bench 'Steps/.*/threads=2|Aborts' -benchtime 500ms -count 3 $(ARGS) .

.PHONY: bars
bars: ## measure the performance bars, each against its reference (ARGS)
	go test -run '^$$' -bench Bars -benchtime 10x -timeout 0 $(ARGS) ./internal/bench/bars

##@ check

.PHONY: lint
lint: fmt-check vet staticcheck ## gofmt, go vet and staticcheck

.PHONY: fmt-check
fmt-check: ## fail if gofmt would change a file
	@files=$$(gofmt -l .); if [ -n "$$files" ]; then echo "gofmt would change:"; echo "$$files"; exit 1; fi

.PHONY: vet
vet: ## go vet
	go vet ./...

.PHONY: staticcheck
staticcheck: ## staticcheck
	go run $(STATICCHECK) ./...
	scripts/nested.sh go run $(STATICCHECK) ./...

.PHONY: lint-all
lint-all: ## vet and staticcheck with each build tag, vet for 32 bits; compile for another system
	go vet -tags mvcccheck $(TAGGED)
	go -C bench/journey vet -tags mvcccheck ./...
	go vet -tags nolinkname $(TAGGED)
	GOARCH=386 CGO_ENABLED=0 go vet $(CORE)
	GOOS=windows GOARCH=arm64 go build $(CORE)
	printf '%s\n' 'plain:' 'mvcccheck: -tags=mvcccheck' 'nolinkname: -tags=nolinkname' | \
		go run $(STATICCHECK) -matrix $(TAGGED)

.PHONY: vuln
vuln: ## look for known vulnerabilities in what is compiled
	scripts/vuln.sh $(GOVULNCHECK)

.PHONY: tidy-check
tidy-check: ## fail if go mod tidy would change a go.mod or go.sum
	go mod tidy -diff
	scripts/nested.sh go mod tidy -diff

.PHONY: ci
ci: ## everything that must pass before a change lands
	.ci/run

.PHONY: clean
clean: ## remove what the targets above left behind
	rm -rf bin coverage.out
	find . -type f \( -name '*.test' -o -name '*.prof' -o -name '*.pprof' \) -not -path './.git/*' -print -delete

# letta-confine: build, test and measure. Every target works offline once its
# modules and tools have been fetched.
GO        ?= go
VERSION   ?=
export CGO_ENABLED = 0
export GOFLAGS     = -trimpath

# No profiles, and nobody who watches how many processors there are: the runtime would
# take the first sample, make room for more, and start a goroutine, at every start of
# every command (docs/decisions/0030-launch-path.md).
LEAN = -X runtime.godebugDefault=profstackdepth=0,updatemaxprocs=0

.PHONY: build setup test check lint integration containment hosts workloads fuzz golden bench demo repro cross plain ci

build:
	$(GO) build -tags launcher -ldflags '-s -w $(LEAN)' -o bin/letta-confine ./cmd/letta-confine
	$(GO) build -ldflags '-s -w' -o bin/letta-confine-check ./cmd/letta-confine

setup: ## install what the tests need and this machine lacks
	./.ci/setup

test: setup ## everything; nothing is skipped but, without root, what only root can do
	@rm -f bin/counts && mkdir -p bin
	CONFINE_COUNTS=$(CURDIR)/bin/counts CONFINE_REQUIRE=bwrap,landlock,userns,tools,pty,git,bash,fish,zsh,mandoc,node,python3,npm$$(test $$(id -u) != 0 || echo ,root) \
		$(GO) test -count=1 -shuffle=on -timeout 10m ./...
	@cat bin/counts

check: ## what needs neither network, root, user namespaces nor packages; the rest is skipped by name
	$(GO) test -shuffle=on ./...

lint: ## each tool is built for this machine, then told to look at another
	GOBIN=$(CURDIR)/bin $(GO) install mvdan.cc/gofumpt@v0.12.0
	GOBIN=$(CURDIR)/bin $(GO) install honnef.co/go/tools/cmd/staticcheck@v0.8.2
	@out=$$(bin/gofumpt -l .); test -z "$$out" || { echo "gofumpt would change:"; echo "$$out"; exit 1; }
	for os in linux darwin windows; do \
		for tags in launcher ''; do GOOS=$$os $(GO) vet -tags "$$tags" ./... || exit 1; done; \
	done
	for os in freebsd openbsd netbsd; do GOOS=$$os $(GO) vet ./cmd/letta-confine || exit 1; done
	for arch in arm64 riscv64 386; do GOOS=linux GOARCH=$$arch $(GO) vet ./... || exit 1; done
	for os in linux darwin; do \
		for tags in launcher ''; do GOOS=$$os bin/staticcheck -tags "$$tags" ./... || exit 1; done; \
	done

integration: ## the built launcher on this kernel; on a Mac, Seatbelt
	$(GO) test -count=1 ./integration/...

containment: setup ## every class of attack and ordinary work, and a table of the verdicts
	cd integration/containment && CONFINE_REQUIRE=bwrap,landlock,userns,root,tools,pty $(GO) test -count=1 -timeout 10m

hosts: build ## the launcher on real kernels, in containers, on crippled hosts; fetches some packages
	./.ci/setup bubblewrap qemu-system-x86 qemu-system-arm crun
	$(GO) run ./integration/hosts -launcher bin/letta-confine -cache bin/hosts

workloads: build ## everyday tools in a workspace, unconfined and confined; -plain: as uid 65534 too
	./.ci/setup bubblewrap git npm nodejs python3 sqlite3 tmux
	$(GO) run ./integration/workloads -launcher bin/letta-confine

conformance: ## facts of other programs' own tests, in the folder CASES
	CONFINE_CASES=$(abspath $(CASES)) $(GO) test -count=1 ./guard ./shell/... ./rules

fuzz: ## ten seconds a target
	./.ci/fuzz 10s

golden:
	$(GO) test ./bwrap ./landlock ./seatbelt ./cmd/letta-confine -update

bench: build
	$(GO) run ./internal/bench -launcher bin/letta-confine -o docs/performance.md
	$(GO) test -run "^$$" -bench . -benchmem ./policy ./shell/readonly

demo: build
	./.ci/demo bin/letta-confine

repro: ## build twice in two folders and compare
	./.ci/repro

plain: setup ## the tests as a plain user has them, when root calls
	./.ci/plain

ci: lint test plain repro hosts

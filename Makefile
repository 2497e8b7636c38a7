# gpujoin: builds gpujoin.so (the PostgreSQL extension) and gpujoin_server (the join server) into PostgreSQL's bindir.
#
#   make                      everything; the server with the CUDA engine where nvcc is found
#   make install              as root
#   make installcheck         pg_regress against a running server that preloads gpujoin
#   make unit                 the unit and conformance tests ($(BUILD)/unit_tests)
#   make bench                the engine benchmark ($(BUILD)/engine_bench)
#   make tidy                 clang-tidy over all C++ but the benchmark
#   make dist                 the archive of what is committed, as PGXN takes it
#   make fuzz                 feeds malformed messages to the wire format for FUZZ_SECONDS (60); libFuzzer with clang
#
#   PG_CONFIG=...  NVCC=... (NVCC= for none)  CUDA_ARCHS="90"  BUILD=build  FAULTS=1 (fault injection)
#   SANITIZE=address,undefined | thread (server and unit tests, into BUILD)
#   CCACHE=ccache compiles through ccache

BUILD ?= build
PG_CONFIG ?= pg_config
NVCC ?= $(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc))
CUDA_ARCHS ?= 75 80 86 89 90 100 120

# What objects are compiled with, apart from their sources, is kept in $(BUILD)/choices: another choice compiles them
# again, and installing alone, perhaps with another PATH, goes by what was built. NVCC and FAULTS are kept apart, for the
# few objects that know of them: builds that differ in these share the others when one is begun as a copy of the other.
print_choices = printf '%s = %s\n' PG_CONFIG '$(PG_CONFIG)' SANITIZE '$(SANITIZE)'
print_nvcc_choices = printf '%s = %s\n' NVCC '$(NVCC)' CUDA_ARCHS '$(if $(NVCC),$(CUDA_ARCHS))'
print_faults_choices = printf '%s = %s\n' FAULTS '$(FAULTS)'
keep_choices = $(shell $(1) | cmp -s - $(2) || { mkdir -p $(BUILD) && $(1) >$(2); })
ifneq ($(filter-out install uninstall installcheck dist,$(or $(MAKECMDGOALS),all)),)
$(call keep_choices,$(print_choices),$(BUILD)/choices)
$(call keep_choices,$(print_nvcc_choices),$(BUILD)/choices.nvcc)
$(call keep_choices,$(print_faults_choices),$(BUILD)/choices.faults)
else
-include $(BUILD)/choices $(BUILD)/choices.nvcc $(BUILD)/choices.faults
endif

MODULE_big = gpujoin
EXTENSION = gpujoin
DATA = $(wildcard gpujoin--*.sql)
REGRESS = $(notdir $(basename $(sort $(wildcard sql/*.sql))))
REGRESS_OPTS = --inputdir=. --outputdir=.
# Whose tests show plans with kept columns: from which run on these are there must not depend on another process.
installcheck: export PGOPTIONS := $(PGOPTIONS) -c gpujoin.keep_in_background=off

shared_sources = $(wildcard src/wire/*.cpp src/fault/*.cpp)
# What the library and the server must have in common, and whoever shares PostgreSQL's memory (see src/wire/build.h).
common_sources = $(sort $(wildcard src/wire/*)) src/pg/server_state.h src/pg/socket_place.h src/pg/shared_state.cpp \
	src/pg/shared_memory.cpp src/pg/kept_tables.cpp \
	src/pg/keep_requests.h src/pg/keep_requests.cpp src/pg/keep_sharing.h src/pg/keep_sharing.cpp src/pg/running_joins.cpp \
	src/pg/join_statistics.h src/pg/join_statistics.cpp src/pg/vacuum_ends.cpp gpujoin.control
pg_sources = $(wildcard src/pg/*.cpp src/pg/*/*.cpp)
engine_sources = $(wildcard src/engine/*.cpp src/engine/*/*.cpp src/engine/*/*/*.cpp)
server_sources = $(filter-out src/server/main.cpp,$(wildcard src/server/*.cpp))
cuda_sources = $(if $(NVCC),$(wildcard cuda/*.cu cuda/*/*.cu))
unit_sources = $(wildcard test/unit/*.cpp)
bench_sources = $(wildcard test/bench/engine/*.cpp)
bench_cuda_sources = $(if $(NVCC),$(wildcard test/bench/engine/*.cu))

OBJS = $(patsubst %.cpp,$(BUILD)/pic/%.o,$(pg_sources) $(shared_sources))
server_objects = $(patsubst %.cpp,$(BUILD)/%.o,$(shared_sources) $(engine_sources) $(server_sources)) \
	$(patsubst %.cu,$(BUILD)/%.cu.o,$(cuda_sources))
EXTRA_CLEAN = $(BUILD) gpujoin.so results regression.diffs regression.out

override with_llvm := no
SHLIB_LINK += -lstdc++
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

all: $(BUILD)/gpujoin_server

$(BUILD)/choices:
	@mkdir -p $(@D) && $(print_choices) >$@
$(BUILD)/choices.nvcc:
	@mkdir -p $(@D) && $(print_nvcc_choices) >$@
$(BUILD)/choices.faults:
	@mkdir -p $(@D) && $(print_faults_choices) >$@

WARNINGS = -Wall -Wextra -Wunused-const-variable -Werror
COMMON = -std=c++20 -O2 -g $(WARNINGS) -I. -Isrc -MMD -MP
# Without -fno-var-tracking-assignments GCC takes minutes over instrumented templates, and with AddressSanitizer and
# UBSan twice as long to optimise them as with -O1. With UBSan it takes twice as long over tests, which are not what is
# tested: they go without, and are linked behind what they test, so that of inline functions they have the same code.
comma = ,
sanitizers = $(if $(SANITIZE),$(1) -g1 -fsanitize=$(2) -fno-omit-frame-pointer -fno-var-tracking-assignments)
SANITIZER = $(call sanitizers,$(if $(findstring address,$(SANITIZE)),-O1),$(SANITIZE))
$(BUILD)/test/%.o: SANITIZER = $(call sanitizers,-O1,$(firstword $(subst $(comma), ,$(SANITIZE))))
version := $(shell sed -n "s/^default_version = '\(.*\)'/\1/p" gpujoin.control)
version_flag = -DGPUJOIN_VERSION='"$(version)"'

build_id_flag = -DGPUJOIN_BUILD_ID=0x$(shell cat $(common_sources) | sha256sum | cut -c1-16)u
build_id_objects = $(BUILD)/pic/src/wire/build.o $(BUILD)/src/wire/build.o
$(build_id_objects): $(common_sources)
$(build_id_objects): COMMON += $(build_id_flag)

# What knows of the CUDA engine, and of injected faults: files that say so themselves, as test/structure.py sees to, and tests.
test_objects = $(patsubst %.cpp,$(BUILD)/%.o,$(unit_sources) $(bench_sources))
own_sources = $(pg_sources) $(shared_sources) $(engine_sources) $(server_sources) src/server/main.cpp
objects_of = $(patsubst %.cpp,$(BUILD)/%.o,$(1)) $(patsubst %.cpp,$(BUILD)/pic/%.o,$(1))
cuda_aware := $(call objects_of,$(shell grep -l GPUJOIN_CUDA $(own_sources))) $(test_objects)
fault_aware := $(call objects_of,$(shell grep -l fault/fault.h $(own_sources))) $(test_objects)
cuda_flag = $(if $(NVCC),-DGPUJOIN_CUDA)
fault_flag = $(if $(FAULTS),-DGPUJOIN_FAULTS)
$(cuda_aware): COMMON += $(cuda_flag)
$(cuda_aware): $(BUILD)/choices.nvcc
$(fault_aware): COMMON += $(fault_flag)
$(fault_aware): $(BUILD)/choices.faults
$(call objects_of,$(shell grep -l GPUJOIN_VERSION $(own_sources))): gpujoin.control

# The extension: PostgreSQL's headers are not ours to warn about.
$(BUILD)/pic/%.o: %.cpp $(BUILD)/choices
	@mkdir -p $(@D)
	$(CCACHE) $(CXX) $(COMMON) $(version_flag) -fPIC -fvisibility=hidden -isystem $(includedir_server) -D_GNU_SOURCE -c $< -o $@

$(BUILD)/%.o: %.cpp $(BUILD)/choices
	@mkdir -p $(@D)
	$(CCACHE) $(CXX) $(COMMON) $(version_flag) $(SANITIZER) -pthread -c $< -o $@

nvcc_archs = $(foreach a,$(CUDA_ARCHS),-gencode arch=compute_$(a),code=sm_$(a)) \
	-gencode arch=compute_$(lastword $(CUDA_ARCHS)),code=compute_$(lastword $(CUDA_ARCHS))
$(BUILD)/%.cu.o: %.cu $(BUILD)/choices $(BUILD)/choices.nvcc $(BUILD)/choices.faults
	@mkdir -p $(@D)
	$(CCACHE) $(NVCC) -std=c++20 -O3 -lineinfo --extended-lambda --expt-relaxed-constexpr -I. -Isrc $(nvcc_archs) -t 0 \
		-Werror all-warnings -Xcompiler -Wall,-Wextra,-Werror -MMD -MP $(fault_flag) $(cuda_flag) -c $< -o $@

# Where the toolkit lies is nvcc's to say: the nvcc on PATH may be a link or a wrapper script, far from its libraries.
nvcc_says = $(shell $(NVCC) --dryrun -o x x.cu 2>&1 | sed -n 's/^\#\$$ $(1)=//p')
server_libraries = -ltbb $(if $(NVCC),$(call nvcc_says,LIBRARIES) -lcudart_static -lrt) -ldl -lpthread

$(BUILD)/gpujoin_server: $(BUILD)/src/server/main.o $(server_objects)
	$(CXX) $(SANITIZER) -o $@ $^ $(server_libraries)
	@echo "gpujoin_server built $(if $(NVCC),with the CUDA engine ($(NVCC)),without the CUDA engine: no nvcc found)"

# Tests that put batches into device memory themselves.
$(BUILD)/test/unit/cuda_%.o: COMMON += $(if $(NVCC),$(patsubst "-I%,-isystem "%,$(call nvcc_says,INCLUDES)))

$(BUILD)/unit_tests: $(server_objects) $(patsubst %.cpp,$(BUILD)/%.o,$(unit_sources))
	$(CXX) $(SANITIZER) -o $@ $^ $(server_libraries) -lgtest -lgtest_main -lxxhash

$(BUILD)/engine_bench: $(patsubst %.cpp,$(BUILD)/%.o,$(bench_sources)) \
		$(patsubst %.cu,$(BUILD)/%.cu.o,$(bench_cuda_sources)) $(server_objects)
	$(CXX) $(SANITIZER) -o $@ $^ $(server_libraries) -lbenchmark

unit: $(BUILD)/unit_tests
bench: $(BUILD)/engine_bench
.PHONY: unit bench

# With clang: libFuzzer. With another compiler: random variations of the seeds.
FUZZ_CXX ?= $(firstword $(shell command -v clang++ 2>/dev/null) $(CXX))
FUZZ_SECONDS ?= 60
fuzz_sanitizers = address,undefined$(if $(findstring clang,$(FUZZ_CXX)),$(comma)fuzzer)
$(BUILD)/wire_fuzz: test/fuzz/wire_fuzz.cpp $(if $(findstring clang,$(FUZZ_CXX)),,test/fuzz/standalone.cpp) $(shared_sources)
	@mkdir -p $(@D)
	$(FUZZ_CXX) -std=c++20 -O1 -g $(WARNINGS) $(build_id_flag) -Isrc -fsanitize=$(fuzz_sanitizers) -fno-sanitize-recover=all -o $@ $^

$(BUILD)/seed_corpus: $(BUILD)/test/fuzz/seed_corpus.o $(patsubst %.cpp,$(BUILD)/%.o,$(shared_sources))
	$(CXX) $(SANITIZER) -o $@ $^

fuzz: $(BUILD)/wire_fuzz $(BUILD)/seed_corpus
	rm -rf $(BUILD)/corpus && mkdir -p $(BUILD)/corpus
	$(BUILD)/seed_corpus $(BUILD)/corpus
	$(BUILD)/wire_fuzz $(if $(findstring clang,$(FUZZ_CXX)),-max_total_time=$(FUZZ_SECONDS) -max_len=98304 \
		-verbosity=0 -print_final_stats=1 $(BUILD)/corpus,$(BUILD)/corpus/*)
.PHONY: fuzz

# clang-tidy, without the CUDA engine and with injected faults, which need nothing that is not here. Several sources are
# read as one, since headers take ten times as long as what is behind them; `make tidy/NAME.cpp` reads one alone.
CLANG_TIDY ?= clang-tidy
tidy_pg = $(pg_sources:%=tidy/%)
tidy_fuzz = $(patsubst %,tidy/%,$(wildcard test/fuzz/*.cpp))
tidy_server = $(sort $(shared_sources) $(engine_sources) $(server_sources) src/server/main.cpp)
tidy_alone = $(patsubst %,tidy/%,$(tidy_server) $(unit_sources))
$(tidy_pg): tidy_flags = -fPIC -isystem $(includedir_server) -D_GNU_SOURCE
$(tidy_fuzz) $(tidy_alone): tidy_flags = -pthread -DGPUJOIN_FAULTS $(build_id_flag)
run_clang_tidy = $(CLANG_TIDY) --quiet $(1) -- $(filter-out -Werror,$(COMMON)) $(version_flag) $(tidy_flags) 2>&1 | \
	{ ! grep -v 'warnings* generated'; }
$(tidy_pg) $(tidy_fuzz) $(tidy_alone): tidy/%: %
	@$(call run_clang_tidy,$<)

# By rooms: names in the unnamed namespaces of a room are different.
tidy_rooms = tidy/room/server tidy/room/cpu tidy/room/others
sources_in_room = $(filter src/server/%,$(tidy_server))
tidy/room/cpu: sources_in_room = $(filter src/engine/cpu/%,$(tidy_server))
tidy/room/others: sources_in_room = $(filter-out src/server/% src/engine/cpu/%,$(tidy_server))
$(tidy_rooms): tidy_flags = -pthread -DGPUJOIN_FAULTS $(build_id_flag)
$(tidy_rooms): tidy/room/%: $(tidy_server)
	@mkdir -p $(BUILD)/tidy
	@printf '#include "%s"  // NOLINT\n' $(sources_in_room) >$(BUILD)/tidy/$*.cpp
	@$(call run_clang_tidy,$(BUILD)/tidy/$*.cpp)

# Copies of unit tests, which have a namespace of their own each, beside a copy of their configuration.
tidy_units = $(addprefix tidy/units/,0 1 2 3)
in_own_namespace = s/^namespace gpujoin::test \{/namespace gpujoin::test::in_$$(basename $$test .cpp) {/
$(tidy_units): tidy_flags = -pthread -DGPUJOIN_FAULTS -Itest/unit
$(BUILD)/tidy/test/.clang-tidy: test/.clang-tidy
	@mkdir -p $(@D) && cp $< $@
$(tidy_units): tidy/units/%: $(unit_sources) $(BUILD)/tidy/test/.clang-tidy
	@mkdir -p $(BUILD)/tidy/test/unit
	@printf '%s\n' $(unit_sources) | awk 'NR % $(words $(tidy_units)) == $*' | while read -r test; do \
		if grep -q '^TEST' $$test; then sed -E "$(in_own_namespace)" $$test; else cat $$test; fi >$(BUILD)/tidy/$$test; \
		echo "#include \"$${test#test/}\"  // NOLINT"; \
	done >$(BUILD)/tidy/test/$*.cpp
	@$(call run_clang_tidy,$(BUILD)/tidy/test/$*.cpp)
tidy: $(tidy_rooms) $(tidy_units) $(tidy_pg) $(tidy_fuzz)
.PHONY: tidy $(tidy_rooms) $(tidy_units) $(tidy_pg) $(tidy_fuzz) $(tidy_alone)

DIST ?= gpujoin-$(version).zip
dist:
	git archive --format=zip --prefix=gpujoin-$(version)/ --output='$(DIST)' HEAD
.PHONY: dist

install: install-server
install-server: $(BUILD)/gpujoin_server
	$(MKDIR_P) '$(DESTDIR)$(bindir)'
	$(INSTALL_PROGRAM) $< '$(DESTDIR)$(bindir)/gpujoin_server'
uninstall: uninstall-server
uninstall-server:
	rm -f '$(DESTDIR)$(bindir)/gpujoin_server'
.PHONY: install-server uninstall-server

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

# The front door. meson does the work behind it; every target sets up what it needs first.
BUILD    ?= build
PREFIX   ?= /usr/local
MESON    := meson
PYTHON   := /usr/bin/python3
SANITIZE := build-asan

.PHONY: build run test test-agents crash bench fuzz tsan lint golden-update install uninstall clean
build: $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet hookd hookc

run: build
	@$(BUILD)/hookd run --foreground

$(BUILD)/build.ninja $(SANITIZE)/build.ninja build-tsan/build.ninja: | setup
$(BUILD)/build.ninja:
	@$(MESON) setup $(BUILD) --prefix=$(PREFIX) >/dev/null
$(SANITIZE)/build.ninja:
	@$(MESON) setup $(SANITIZE) -Dbuildtype=debug -Doptimization=1 -Db_sanitize=address,undefined -Db_lundef=false >/dev/null
build-tsan/build.ninja:
	@$(MESON) setup build-tsan -Dbuildtype=debug -Doptimization=1 -Db_sanitize=thread -Db_lundef=false >/dev/null

.PHONY: setup
setup:
	@tools/setup.sh

test: build $(SANITIZE)/build.ninja build-tsan/build.ninja
	@tests/run

test-agents: build
	@tests/agents/run

crash: build
	@$(PYTHON) tests/crash/crash.py --build $(BUILD) --rounds $(or $(N),500)
	@$(PYTHON) tests/crash/powercut.py --build $(BUILD) --cases $(or $(N),500)

bench: build
	@$(PYTHON) tests/bench/bench.py --build $(BUILD)

fuzz: setup
	@tests/fuzz/run $(or $(T),60)

# Writes what the adapters make of the recorded payloads beside them; git shows what changed.
golden-update: $(SANITIZE)/build.ninja
	@ninja -C $(SANITIZE) --quiet tests/test_agents
	@UPDATE_GOLDEN=1 SRCDIR=$(CURDIR) $(SANITIZE)/tests/test_agents >/dev/null 2>&1
	@git status --short tests/golden

lint: $(SANITIZE)/build.ninja
	@$(PYTHON) tests/lint/lint.py $(SANITIZE)

tsan: build-tsan/build.ninja
	@ninja -C build-tsan --quiet hookd tests/test_journal tests/test_loop tests/test_store
	@$(MESON) test -C build-tsan --no-rebuild --print-errorlogs journal loop store
	@$(PYTHON) tests/crash/threads.py --build build-tsan

install: build
	@$(MESON) install -C $(BUILD) --quiet

uninstall:
	@ninja -C $(BUILD) uninstall

clean:
	@rm -rf $(BUILD) $(SANITIZE) build-tsan build-fuzz

# The front door. meson does the work behind it; every target sets up what it needs first.
BUILD    ?= build
PREFIX   ?= /usr/local
MESON    := meson
PYTHON   := /usr/bin/python3
SANITIZE := build-asan

.PHONY: build grammars run test test-agents crash faults soak bench fuzz tsan lint golden-update reference install uninstall clean
build: $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet hookd hookc
	@tools/grammars.sh $(BUILD)/grammars

# What code is cut by; after a failure `make build` waits an hour before it asks the network again, this does not.
grammars:
	@tools/grammars.sh $(BUILD)/grammars --again

run: build
	@$(BUILD)/hookd run --foreground

$(BUILD)/build.ninja $(SANITIZE)/build.ninja build-tsan/build.ninja: | setup
$(BUILD)/build.ninja:
	@$(MESON) setup $(BUILD) --prefix=$(ABSOLUTE) >/dev/null
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
	@$(PYTHON) tests/crash/step.py --build $(BUILD) --points $(or $(N),500)
	@$(PYTHON) tests/crash/deliver.py --build $(BUILD) --kills $(or $(N),200)

# Every call of start, fold, purge, restore and offline fails once: an hour or two.
faults: build
	@$(PYTHON) tests/crash/step.py --build $(BUILD) --jobs $(or $(JOBS),2)

soak: build
	@$(PYTHON) tests/crash/soak.py --build $(BUILD) --events $(or $(N),500000) --large 200

bench: build
	@$(PYTHON) tests/bench/bench.py --build $(BUILD)

fuzz: setup
	@tests/fuzz/run $(or $(N),1000000)
	@tests/fuzz/llhttp/run $(or $(N),10000000)

# Writes what the adapters make of the recorded payloads beside them; git shows what changed.
golden-update: $(SANITIZE)/build.ninja
	@ninja -C $(SANITIZE) --quiet tests/test_agents
	@UPDATE_GOLDEN=1 SRCDIR=$(CURDIR) $(SANITIZE)/tests/test_agents >/dev/null 2>&1
	@git status --short tests/golden

# docs/reference.md from the tables of the program.
reference: build
	@d=$$(mktemp -d) && HOME=$$d HOOKD_DIR=$$d/hookd tools/reference.py $(BUILD)/hookd > docs/reference.md; \
		HOOKD_DIR=$$d/hookd $(BUILD)/hookd stop >/dev/null; rm -rf $$d; git status --short docs/reference.md

lint: $(SANITIZE)/build.ninja
	@$(PYTHON) tests/lint/lint.py $(SANITIZE)

tsan: build-tsan/build.ninja
	@ninja -C build-tsan --quiet hookd tests/test_journal tests/test_loop tests/test_store
	@$(MESON) test -C build-tsan --no-rebuild --print-errorlogs journal loop store
	@$(PYTHON) tests/crash/threads.py --build build-tsan

# Where hookc looks for hookd when it does not stand beside it is compiled in, so the folder must know the prefix.
ABSOLUTE  = $(abspath $(PREFIX))
BIN       = $(DESTDIR)$(ABSOLUTE)/bin
SHARE     = $(DESTDIR)$(ABSOLUTE)/share/hookd
PROGRAMS := hookd hookc
DATA     := encoder.bin

install: $(BUILD)/build.ninja
	@grep -q '"name": "prefix", "value": "$(ABSOLUTE)"' $(BUILD)/meson-info/intro-buildoptions.json || \
		$(MESON) setup --reconfigure $(BUILD) --prefix=$(ABSOLUTE) >/dev/null
	@ninja -C $(BUILD) --quiet $(PROGRAMS)
	@tools/grammars.sh $(BUILD)/grammars
	@mkdir -p $(BIN) $(SHARE)
	@# Renamed into place: agents may be running them, and a daemon has the weights mapped.
	@for f in $(DATA); do \
		install -m 644 data/$$f $(SHARE)/.$$f.new && mv -f $(SHARE)/.$$f.new $(SHARE)/$$f && echo "installed $(SHARE)/$$f" || exit 1; \
	done
	@for p in $(PROGRAMS); do \
		install -m 755 $(BUILD)/$$p $(BIN)/.$$p.new && mv -f $(BIN)/.$$p.new $(BIN)/$$p && echo "installed $(BIN)/$$p" || exit 1; \
	done
	@if [ -e $(BUILD)/grammars/runtime.so ]; then \
		mkdir -p $(SHARE)/grammars && for f in $(BUILD)/grammars/*; do \
			n=$${f##*/} && install -m 644 $$f $(SHARE)/grammars/.$$n.new && \
				mv -f $(SHARE)/grammars/.$$n.new $(SHARE)/grammars/$$n || exit 1; \
		done && echo "installed $(SHARE)/grammars"; \
	fi

uninstall:
	@for p in $(addprefix $(BIN)/,$(PROGRAMS)) $(addprefix $(SHARE)/,$(DATA)); do \
		if [ -e $$p ]; then rm -f $$p && echo "removed $$p"; else echo "there is no $$p"; fi || exit 1; \
	done
	@if [ -d $(SHARE)/grammars ]; then \
		rm -f $(SHARE)/grammars/*.so $(SHARE)/grammars/LICENSES && rmdir $(SHARE)/grammars && echo "removed $(SHARE)/grammars"; \
	fi
	@rmdir $(SHARE) 2>/dev/null || true

clean:
	@rm -rf $(BUILD) $(SANITIZE) build-tsan build-fuzz

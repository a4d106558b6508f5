# make run       start a private containerd and a kubelet with a sample pod in ./.run, until Ctrl-C
# make check     static checks and unit tests; no root needed
# make test      everything, with integration tests on a real containerd; root needed
# make build     build the kubelet command, bin/kubelet
# make test-runtimes  the integration tests on containerd 1.7 and 2, unpacked from newer Debian suites
# make deb       build the Debian package, with its own Node.js, into dist/deb
# make test-vm   test that package in a virtual machine with systemd; root needed, about 10 minutes
# make bench     measure pod starts, log followers, scrapes, eviction, volumes of CSI drivers and the node's page
# make picture   take the pictures of the node's page in README.md
# make generate  rewrite every generated file
# make kubernetes-types RELEASE=v1.37.0 SOURCES=dir  follow another release of the Kubernetes API
# make fix       format the code
# make clean     remove everything that was built
# CONTRIBUTING.md lists all targets with their durations.
.PHONY: run test test-runtimes test-vm runtimes check static build deb bench picture clean setup browser generate kubernetes-types \
	fix types lint format layers exports language readmes regexes drift unit integration

bin := node_modules/.bin
script := node tools/run-ts.mjs
parallel := $(MAKE) --no-print-directory -j2 -k --output-sync=target
static_checks := types lint format layers exports language readmes regexes drift

run: build
	@$(script) tools/run.ts

test: browser
	@$(script) tools/test.ts

check: setup
	@$(parallel) unit $(static_checks)

# Everything that needs no test run.
static: setup
	@$(parallel) $(static_checks)

types: setup
	@$(bin)/tsc -p .
	@$(bin)/tsc -p dashboard

lint: setup
	@$(bin)/oxlint --type-aware --deny-warnings --quiet

format: setup
	@$(bin)/biome check --error-on-warnings --log-level=warn .

# Which folder may import which, and which may do I/O or read a clock (ARCHITECTURE.md).
layers: setup
	@$(script) tools/check-layers.ts

# Every export is imported by another file.
exports: setup
	@$(script) tools/check-exports.ts

# No word of the old dialect (tools/language/words.ts).
language: setup
	@$(script) tools/check-language.ts

# Every folder of modules has a README.md of at most twelve lines.
readmes: setup
	@$(script) tools/check-folder-readmes.ts

# Every regular expression under src/ runs in linear time on hostile text.
regexes: setup
	@$(script) tools/check-regexes.ts

# Every generated file is up to date (tools/generated.ts).
drift: setup
	@$(script) tools/generate.ts --check

generate: setup
	@$(script) tools/generate.ts

# RELEASE=v1.37.0 SOURCES=root of its sources OPENAPI=folder of its OpenAPI v3 documents, if not below SOURCES.
kubernetes-types: setup
	@$(script) tools/kubernetes/import.ts "$(RELEASE)" "$(SOURCES)" $(OPENAPI)
	@$(script) tools/generate.ts

# TEST_EFFORT=full, which make test sets, runs every repetition of the fuzz and volume tests.
unit: setup
	@$(bin)/vitest run --reporter=minimal --reporter=json --outputFile.json=dist/reports/unit.json

build: setup
	@node tools/build.mjs

integration: build browser
	@$(bin)/vitest run --config vitest.integration.config.ts --reporter=verbose --reporter=json --outputFile.json=dist/reports/integration.json

# For this machine's architecture, or ARCH=amd64|arm64. REVISION=2 for another package of the same sources.
deb: build
	@$(script) tools/deb.ts $(if $(ARCH),--arch=$(ARCH)) $(if $(REVISION),--revision=$(REVISION))

# Boots a virtual machine by emulation, installs the package and runs integration/vm.
test-vm: build
	@tools/test-vm.sh

# containerd 1.7 and 2 into .cache/runtimes, from Debian's mirror; nothing is installed.
runtimes: setup
	@$(script) tools/fetch-runtimes.ts

# The integration tests on these runtimes.
test-runtimes: build
	@$(script) tools/test-runtimes.ts

bench: build browser
	@$(script) bench/pod-start.ts
	@$(script) bench/cluster-pod-start.ts
	@$(script) bench/log-followers.ts
	@$(script) bench/scrape.ts
	@$(script) bench/eviction.ts
	@$(script) bench/managers.ts
	@$(script) bench/csi-volumes.ts
	@$(script) bench/dashboard.ts
	@$(script) bench/dashboard-page.ts

# Rewrites docs/images/node-page*.webp from a real kubelet with sample pods.
picture: build browser
	@$(script) tools/picture.ts

fix: setup
	@$(bin)/biome check --write .

# Installs what is missing: npm packages, and from Debian what the target needs.
setup:
	@tools/setup.sh

# Also Chromium, which only the tests of the node's page and its pictures need.
browser: setup
	@tools/setup.sh --browser

# Removing .run would also remove what is mounted below .run/live, so a running or killed `make run` is left alone.
clean:
	@rm -rf dist .cache coverage
	@if [ -e .run/live ]; then echo "make clean: .run is in use or its run was killed; make run cleans up after a killed run" >&2; else rm -rf .run; fi

# make run    a kubelet with a sample pod in ./.run, until Ctrl-C
# make test   everything there is to check, with a summary at the end
# make check  types, lint, format, layers, regexes and unit tests: two minutes, no root needed
# make build  the kubelet command: bin/kubelet
# make bench  pod start against the container runtime's own time; what following logs and scraping cost
# make clean  away with all that was built
.PHONY: run test check static build bench clean setup types lint format layers exports language readmes regexes unit integration fix

bin := node_modules/.bin
script := node tools/run-ts.mjs

run: build
	@$(script) tools/run.ts

test: setup
	@$(script) tools/test.ts

check: setup
	@$(MAKE) --no-print-directory -j2 -k --output-sync=target unit types lint format layers exports regexes

# What needs no test to run.
static: setup
	@$(MAKE) --no-print-directory -j2 -k --output-sync=target types lint format layers exports regexes

types: setup
	@$(bin)/tsc -p .

lint: setup
	@$(bin)/oxlint --type-aware --deny-warnings --quiet

format: setup
	@$(bin)/biome check --error-on-warnings --log-level=warn .

layers: setup
	@$(script) tools/check-layers.ts

# Every export is imported by another file.
exports: setup
	@$(script) tools/check-exports.ts

# No word of the old dialect (tools/language-words.ts).
language: setup
	@$(script) tools/check-language.ts

# Every folder of modules has a short README.md.
readmes: setup
	@$(script) tools/check-folder-readmes.ts

# Every regular expression under src/ is tried on hostile text: each has to be linear.
regexes: setup
	@$(script) tools/check-regexes.ts

unit: setup
	@$(bin)/vitest run --reporter=minimal --reporter=json --outputFile.json=dist/reports/unit.json

build: setup
	@node tools/build.mjs

integration: build
	@$(bin)/vitest run --config vitest.integration.config.ts --reporter=verbose --reporter=json --outputFile.json=dist/reports/integration.json

bench: build
	@$(script) bench/pod-start.ts
	@$(script) bench/cluster-pod-start.ts
	@$(script) bench/log-followers.ts
	@$(script) bench/scrape.ts

# Rewrites what `make format` complains about.
fix: setup
	@$(bin)/biome check --write .

setup:
	@tools/setup.sh

# What is mounted under .run/live would go with it, so a run that was not stopped is left alone.
clean:
	@rm -rf dist .cache coverage
	@if [ -e .run/live ]; then echo "make clean: .run is in use, or its run was killed; make run clears that" >&2; else rm -rf .run; fi

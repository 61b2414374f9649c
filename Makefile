# The front door: `make run` shows the page, `make check` and `make test` test it. All install what they miss first.
.DEFAULT_GOAL := help
.PHONY: help run check test build dist package size screenshots bench-viewer bench-explorer mutants lint fmt clean

# The scripts run on Node, so this is the one thing that has to be asked for before them.
NODE_OK = node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null \
	|| { echo "Node 20 or newer is missing: install it, then run this again." >&2; exit 1; }

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## build the page and serve it on loopback (PORT=8000); it reloads when www/ changes
	@$(NODE_OK)
	@node scripts/run.mjs

check: ## lint and the fast tests: native ones and those of the scripts
	@$(NODE_OK)
	@node scripts/check.mjs

test: ## all tests: native, wasm in a browser, the built page in a browser
	@$(NODE_OK)
	@node scripts/test.mjs

build: ## build the page into dist/
	@$(NODE_OK)
	@node scripts/build.mjs

dist: build ## what build makes: dist/ for any static host, and dist/crashlab.html, one file that works from disk

package: ## the npm package in pkg/: the engine for other people's pages and for Node
	@$(NODE_OK)
	@node scripts/package.mjs

size: ## bytes of the first load and time to a usable page, against the budgets
	@$(NODE_OK)
	@node scripts/size.mjs

screenshots: ## pictures of the page at three widths and in both themes, in screenshots/
	@$(NODE_OK)
	@node scripts/screenshots.mjs

bench-viewer: ## time to read, select and scroll traces of 10,000 and 100,000 records
	@$(NODE_OK)
	@node scripts/bench-viewer.mjs

bench-explorer: ## states per second of the fault explorer, natively and in the page, and beside stateright
	@$(NODE_OK)
	@node scripts/bench-explorer.mjs

mutants: ## change the core and the lab in some thousand ways, and see which no test notices (FILES=src/agent/run.rs, SHARD=0/20)
	@$(NODE_OK)
	@node scripts/mutants.mjs

lint: ## check format, lints, documentation, types, and licences if cargo-deny is there
	@$(NODE_OK)
	@node scripts/lint.mjs

fmt: ## format everything
	@$(NODE_OK)
	@node scripts/lint.mjs --fix

clean: ## remove what was built, but not what was installed
	@rm -rf dist pkg www/pkg www/study target

# Commands for people: `make demo`, `make test`, and `make quick` after a change to a few
# source files. All install what is missing (scripts/setup) and build.

.PHONY: demo test quick build setup format check-format docs clean

demo:
	@scripts/demo

test:
	@scripts/test

quick:
	@scripts/test --quick

build:
	@scripts/build

setup:
	@scripts/setup

format:
	@scripts/format

check-format:
	@scripts/format --check

docs: build
	@scripts/generate-docs
	@scripts/generate-output-page build/bin/mpopt $${MPOPT_MODELS:-../shared/models}/onnx
	@eval "$$(scripts/setup --docs)" && "$$MPOPT_DOCS_VENV/bin/python" scripts/build-site
	@echo "docs: build/site/index.html"

clean:
	rm -rf build build-dev build-asan build-fuzz

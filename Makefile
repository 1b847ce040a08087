# Two commands for people: `make demo` and `make test`. Both install what is
# missing (scripts/setup), build, and are quick the second time.

.PHONY: demo test build setup format check-format docs clean

demo:
	@scripts/demo

test:
	@scripts/test

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
	rm -rf build build-asan build-fuzz

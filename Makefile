# Every target is one command on a fresh Debian 12 machine: it installs what is missing, builds and runs.

.PHONY: help build demo test test-long bench format clean
.DEFAULT_GOAL := help

help:
	@echo "make build      build/release/bin/sluice and its plugins, and the tests"
	@echo "make demo       run both jobs on bundled data (files to SQLite) and show the tables"
	@echo "make test       every test, with real servers and under the sanitizers"
	@echo "make test-long  make test, and the tests that take long"
	@echo "make bench      cost beside librdkafka alone and beside Flink, from a real broker (BENCH_N=5000000 messages a topic)"
	@echo "make format     lay out the sources as .clang-format says"
	@echo "make clean      remove build/ and demo-out/ (downloads stay in ~/.cache/sluice)"

build:
	@scripts/build.sh

demo:
	@scripts/build.sh --product
	@scripts/demo.sh

test:
	@scripts/test.sh

test-long:
	@scripts/test.sh --long

bench:
	@scripts/install-deps.sh bench
	@scripts/build.sh
	@bench/run.py

format:
	@git ls-files '*.h' '*.hpp' '*.c' '*.cpp' | xargs clang-format -i

clean:
	rm -rf build demo-out

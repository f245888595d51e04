# Every target is one command on a fresh Debian 12 machine: it installs what is missing, builds and runs.

.PHONY: help build demo demo-real test test-long fuzz bench format clean
.DEFAULT_GOAL := help

help:
	@echo "make build      build/release/bin/sluice and its plugins, and the tests"
	@echo "make demo       run both jobs on bundled data (files to SQLite) and show the tables"
	@echo "make demo-real  the whole warehouse on real servers: MySQL, Kafka, Phoenix on HBase, ClickHouse"
	@echo "make test       every test, with real servers and under the sanitizers"
	@echo "make test-long  make test, and the tests that take long"
	@echo "make fuzz       run the fuzz targets for a minute each (FUZZ_SECONDS=60)"
	@echo "make bench      cost beside librdkafka alone and beside Flink, from a real broker (BENCH_N=5000000 messages a topic)"
	@echo "make format     lay out the sources as .clang-format says"
	@echo "make clean      remove build/, demo-out/ and demo-real-out/ (downloads stay in ~/.cache/sluice)"

build:
	@scripts/build.sh

demo:
	@scripts/build.sh --product
	@scripts/demo.sh

demo-real:
	@scripts/install-deps.sh build test
	@scripts/build.sh --product
	@cmake --build --preset release --target kload
	@scripts/demo-real.sh

test:
	@scripts/test.sh

test-long:
	@scripts/test.sh --long

fuzz:
	@scripts/fuzz.sh $(or $(FUZZ_SECONDS),60)

bench: # standard output is for the results alone
	@scripts/install-deps.sh bench >&2
	@scripts/build.sh --product >&2
	@cmake --build --preset release --target kload kdrain >&2
	@bench/run.py

format:
	@scripts/install-deps.sh format
	@git ls-files '*.h' '*.hpp' '*.c' '*.cpp' | xargs clang-format -i

clean:
	rm -rf build demo-out demo-real-out

# The front door: everything a person needs is one of these targets.
.PHONY: golden wheel nessie hive catalogs lakehouse lakehouse-spark rck docs meta small faults crash race demo test check asan tsan bench bench-s3 install setup build release check-style crosswise diff clean help mutations
JOBS ?= $(shell nproc)

help:           ## list the targets
	@grep -hE '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed 's/: .*## /\t/' | expand -t 16

setup:          ## install what building and testing need (Debian 12)
	@scripts/setup.sh

release: setup  ## build build/release/nilas
	@cmake --preset release -DNILAS_TESTS=OFF > /dev/null
	@ninja -C build/release -j$(JOBS) nilas

wheel: release  ## a Python wheel with the program, in build/wheel
	@scripts/wheel.sh build/release/nilas build/wheel

demo: release   ## build and run examples/orders.sql on an empty warehouse
	@scripts/demo.sh build/release/nilas

build: setup
	@cmake --preset debug > /dev/null
	@ninja -C build/debug -j$(JOBS)

test: build release ## unit tests, SQL files, Spark's SQL tests, style, tables shared with Spark, PyIceberg and DuckDB, catalogs, the lakehouse, PySpark, TPC-H, TPC-DS
	@scripts/check_style.py
	@ctest --test-dir build/debug --output-on-failure -j$(JOBS)
	@scripts/golden.sh build/debug/unit/golden_runner --check
	@scripts/demo_test.sh build/debug/nilas
	@scripts/crosswise.sh build/debug/nilas
	@scripts/lakehouse_test.sh build/debug/nilas
	@scripts/catalogs_test.sh build/debug/nilas jdbc rest signing hive
	@scripts/connect_test.sh build/debug/nilas
	@python3 bench/answers_test.py -q
	@scripts/tpch.sh build/debug/nilas 0.01 check --short
	@scripts/tpcds.sh build/debug/nilas 0.01 check --short
	@tests/explain/explain_test.sh build/debug/nilas
	@tests/cancel/cancel_test.py build/debug/nilas

golden: build   ## Spark's own SQL tests: how many statements of each file give what Spark gives
	@scripts/golden.sh build/debug/unit/golden_runner $(FILES)

crosswise: build ## the chapter by nilas, Spark, PyIceberg and DuckDB, alone and in turn
	@scripts/crosswise.sh build/debug/nilas

connect-doctests: build  ## PySpark's own docstrings against nilas connect: how many of those that pass with Spark
	@scripts/connect_doctests.sh build/debug/nilas
connect: build  ## nilas connect by PySpark and on the wire
	@scripts/connect_test.sh build/debug/nilas

connect-clients: build ## sessions and DataFrames by pyspark-client 4.0 to 4.2 (fetches each)
	@scripts/connect_clients.sh build/debug/nilas $(V)

pandas: build   ## pandas-on-Spark through nilas connect, as on real Spark
	@scripts/pandas_on_spark.sh build/debug/nilas

dbt: build      ## a project of dbt-spark by nilas submit, as on real Spark (fetches dbt; two minutes)
	@scripts/dbt.sh build/debug/nilas

connect-hostile: build ## killed clients and hostile requests, the long form: 100 sessions
	@$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/nilas-tests/venv/bin/python tests/connect/killed_test.py $(CURDIR)/build/debug/nilas 100
	@$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/nilas-tests/venv/bin/python tests/connect/hostile_test.py $(CURDIR)/build/debug/nilas 5

connect-tsan: setup ## nilas connect by PySpark under ThreadSanitizer (make connect-tsan T=session)
	@cmake --preset tsan > /dev/null && ninja -C build/tsan -j$(JOBS) nilas
	@scripts/connect_sanitized.sh tsan $(T)

connect-asan: setup ## nilas connect by PySpark under AddressSanitizer and UBSan (make connect-asan T=session)
	@cmake --preset asan > /dev/null && ninja -C build/asan -j$(JOBS) nilas
	@scripts/connect_sanitized.sh asan $(T)

connect-plans: build ## plans of PySpark with bytes changed, against nilas connect (make connect-plans SEED=1 SECONDS=60)
	@$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/nilas-tests/venv/bin/python tests/connect/mutated_plans.py $(CURDIR)/build/debug/nilas $(or $(SEED),1) $(or $(SECONDS),60)

lakehouse: build ## nilas up by boto3, PyIceberg and a browser
	@scripts/lakehouse_test.sh build/debug/nilas

catalogs: build ## JDBC, REST, Glue and Hive catalogs by nilas, Spark and PyIceberg by turns (needs java and mvn)
	@scripts/catalogs_test.sh build/debug/nilas

hive: build     ## a Hive metastore under many writers, and killed twenty times, by nilas and Spark at once (minutes)
	@scripts/catalogs_test.sh build/debug/nilas hive-long

nessie: build   ## Nessie's own server on nilas's S3, by nilas and Spark by turns (fetches 250 MB; needs mvn)
	@scripts/catalogs_test.sh build/debug/nilas nessie

lakehouse-spark: build ## the chapter by real Spark with Iceberg's AWS bundle against nilas up (needs java and mvn)
	@scripts/lakehouse_spark.sh build/debug/nilas

rck: build      ## Iceberg's REST Compatibility Kit against nilas up (needs java and mvn; a minute)
	@python3 tests/lakehouse/rck/rck.py build/debug/nilas

diff: build     ## the same in full: every type and partition transform, files in detail (half an hour)
	@scripts/crosswise.sh build/debug/nilas --full

check: build    ## the same without what needs Python packages
	@scripts/check_style.py
	@ctest --test-dir build/debug --output-on-failure -j$(JOBS)

check-style:    ## layers, headers, banned calls
	@scripts/check_style.py

small: build    ## SQL files under forced modes; queries on data ten times the memory budget
	@scripts/small.sh build/debug/unit/sql_runner build/debug/nilas

asan: setup     ## unit tests and SQL files under AddressSanitizer and UBSan
	@cmake --preset asan > /dev/null && ninja -C build/asan -j$(JOBS)
	@ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
		LSAN_OPTIONS=suppressions=$(CURDIR)/tests/lsan.supp:print_suppressions=0 \
		ctest --test-dir build/asan --output-on-failure -j$(JOBS)

tsan: setup     ## unit tests and SQL files under ThreadSanitizer
	@cmake --preset tsan > /dev/null && ninja -C build/tsan -j$(JOBS)
	@TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:suppressions=$(CURDIR)/tests/tsan.supp ctest --test-dir build/tsan --output-on-failure -j$(JOBS)

faults: build   ## every storage step of every kind of write failing in turn; memory refused; every request of every catalog going wrong
	@build/debug/unit/fault_sweep
	@python=$${XDG_CACHE_HOME:-$$HOME/.cache}/nilas-tests/venv/bin/python; [ -x "$$python" ] || python=python3; \
		"$$python" tests/faults/catalogs.py build/debug/nilas --postgres $(if $(HIVE),--hive) $(if $(SEED),--seed $(SEED)) $(if $(S),--seconds $(S))

crash: build    ## N runs of a writer killed with SIGKILL (make crash N=1000); nilas up killed under load
	@python3 tests/crash/crash.py build/debug/nilas --runs $(or $(N),200)
	@NILAS_TEST_ARGUMENTS="--rounds 50" scripts/lakehouse_test.sh build/debug/nilas kill kill_all

mutations: build ## every part of requests to the catalog services replaced by something else
	@NILAS_ALL_MUTATIONS=1 scripts/lakehouse_test.sh build/debug/nilas mutation

bad: build      ## broken tables: every kind of file broken in many ways
	@python3 tests/bad/bad.py build/debug/nilas --flips $(or $(N),100)

race: build     ## W processes x N appends to one table, and a bank (make race W=8 N=500)
	@python3 tests/race/race.py build/debug/nilas --writers $(or $(W),8) --commits $(or $(N),50) --bank 50

meta: build     ## random changes and queries on tables of different layout must agree (make meta SEED=1 N=100 SECONDS=3600)
	@tests/meta/random_dml.py $(CURDIR)/build/debug/nilas --seed $(or $(SEED),1) --rounds $(or $(N),100) --steps 40
	@tests/meta/random_scans.py build/debug/nilas --seed $(or $(SEED),1) --count $(or $(N),100)0
	@tests/meta/random_oracles.py build/debug/nilas --seed $(or $(SEED),1) --seconds $(or $(SECONDS),600)

docs: build     ## write the parts of docs/ that repeat the source
	@scripts/make_docs.py --nilas build/debug/nilas

bench: release  ## measure against peers; see bench/README.md
	@bench/run.sh build/release/nilas

bench-s3: release ## TPC-H at scale 1 through s3:// on the own server against files
	@scripts/tpch.sh build/release/nilas 1 data
	@$${XDG_CACHE_HOME:-$$HOME/.cache}/nilas-bench/venv/bin/python bench/object_store.py build/release/nilas

tpch: release   ## TPC-H at scale 1 and 10: all answers against real Spark's, on plain tables, with a tenth of memory, with deleted rows; a table
	@scripts/tpch.sh build/release/nilas 1 modes
	@scripts/tpch.sh build/release/nilas 10 modes

tpcds: release  ## the same for TPC-DS at scale 1, in the texts of Spark's own tests
	@scripts/tpcds.sh build/release/nilas 1 modes

install: release ## install nilas and libnilas below PREFIX (default /usr/local)
	@ninja -C build/release -j$(JOBS) nilas nilas_shared
	@mkdir -p $(or $(PREFIX),/usr/local) && [ -w $(or $(PREFIX),/usr/local) ] || \
		{ echo "$(or $(PREFIX),/usr/local) cannot be written to: run 'sudo make install', or 'make install PREFIX=~/.local'"; exit 1; }
	@cmake --install build/release --prefix $(abspath $(or $(PREFIX),/usr/local))

clean:          ## remove what was built
	@rm -rf build

# The front door: thin names for what CMake, CTest and the scripts do. See README.md.
BUILD_JOBS ?= 2
SANITIZER_ENVIRONMENT = \
	ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1 \
	UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1

.PHONY: all debug release asan tsan check check-style clean

all: release

# build/NAME from the preset NAME, then its unit tests.
debug release asan tsan:
	cmake --preset $@
	ninja -j$(BUILD_JOBS) -C build/$@
	$(SANITIZER_ENVIRONMENT) ctest --test-dir build/$@ --output-on-failure

check-style:
	python3 scripts/check_style.py

check: check-style debug release

clean:
	rm -rf build

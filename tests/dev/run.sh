#!/usr/bin/env bash
# ./dev sets up what is missing, and nothing twice; its summary of tests counts what happened.
# No network: python3, dpkg-query and others are replaced by small programs in $TMPDIR/fake.
# To add a case: write a function, and a `check` line at the end.
source "$(dirname "$0")/../support/script.sh"
export test_folder=$TMPDIR  # for the fakes: pip is given another TMPDIR
project=$TMPDIR/project
fake=$TMPDIR/fake
summary=$SWITCHYARD_TEST_SOURCE_DIR/tests/support/summary
unset SWITCHYARD_DEPS CMAKE_PREFIX_PATH CI

# A project with only what `./dev setup` reads, and a wheel that "pip" brings.
make_project() {
    rm -rf "$project" "$fake" "$TMPDIR/index"
    mkdir -p "$project/cmake" "$fake" "$TMPDIR/index" "$TMPDIR/wheel/nice/lib"
    cp "$SWITCHYARD_TEST_SOURCE_DIR/dev" "$project"
    cp "$SWITCHYARD_TEST_SOURCE_DIR/cmake/bring_wheels" "$project/cmake"
    echo content >"$TMPDIR/wheel/nice/lib/libnice.so"
    (cd "$TMPDIR/wheel" && /usr/bin/python3 -m zipfile -c "$TMPDIR/index/nice-1.0.whl" nice)
    pin "$(sha256sum <"$TMPDIR/index/nice-1.0.whl" | cut -d' ' -f1)"
    program dpkg-query 'for p in "$@"; do case $p in -*) ;; *) printf "installed:%s " "$p" ;; esac; done'
    program python3 'echo pip "$@" >>"$test_folder/calls"
        while [ $# -gt 1 ]; do [ "$1" = --dest ] && cp "$test_folder"/index/* "$2"; shift; done; exit 0'
    program apt-get 'echo apt-get "$@" >>"$test_folder/calls"'
    rm -f "$TMPDIR/calls"
}

pin() { printf '# pins\ncpu nice==1.0 nice-1.0.whl %s\n' "$1" >"$project/cmake/wheels.txt"; }
program() { printf '#!/bin/bash\n%s\n' "$2" >"$fake/$1"; chmod +x "$fake/$1"; }

# dev STATUS ARGUMENTS...: runs it, its output in $TMPDIR/output, and expects the exit code.
dev() {
    local expected=$1 status=0
    shift
    PATH=$fake:$PATH "$project/dev" "$@" >"$TMPDIR/output" 2>&1 </dev/null || status=$?
    [[ $status == "$expected" ]] || fail "exit code $status; expected $expected: $(cat "$TMPDIR/output")"
}

wheels_are_unpacked_once() {
    make_project
    dev 0 setup
    expect_text "$project/.deps/wheels/nice/lib/libnice.so" content
    [[ -z $(find "$project/.deps" -name '*.whl' -o -name 'tmp.*') ]] || fail "left over: $(find "$project/.deps")"
    dev 0 setup
    [[ $(grep -c 'pip.*download' "$TMPDIR/calls") == 1 ]] || fail "downloaded again: $(cat "$TMPDIR/calls")"
}

a_changed_pin_is_fetched_again() {
    make_project
    dev 0 setup
    echo newer >"$TMPDIR/wheel/nice/lib/libnice.so"
    (cd "$TMPDIR/wheel" && /usr/bin/python3 -m zipfile -c "$TMPDIR/index/nice-1.0.whl" nice)
    pin "$(sha256sum <"$TMPDIR/index/nice-1.0.whl" | cut -d' ' -f1)"
    dev 0 setup
    expect_text "$project/.deps/wheels/nice/lib/libnice.so" newer
}

a_wrong_hash_leaves_nothing() {
    make_project
    pin 0000000000000000000000000000000000000000000000000000000000000000
    dev 1 setup
    expect_text "$TMPDIR/output" "nice-1.0.whl has the wrong sha256; expected 0000"
    [[ ! -e $project/.deps/wheels/nice ]] || fail "unpacked all the same"
    [[ -z $(find "$project/.deps" -name 'tmp.*') ]] || fail "left over: $(find "$project/.deps")"
}

a_failed_download_says_what() {
    make_project
    program python3 '[[ "$*" == *--version* ]]'
    dev 1 setup
    expect_text "$TMPDIR/output" "pip could not download nice==1.0"
}

own_libtorch_is_not_downloaded() {
    make_project
    mkdir -p "$TMPDIR/own/lib"
    touch "$TMPDIR/own/lib/libtorch_cpu.so"
    CMAKE_PREFIX_PATH=$TMPDIR/own dev 0 setup
    expect_text "$TMPDIR/output" "using the LibTorch that CMAKE_PREFIX_PATH names"
    [[ ! -e $TMPDIR/calls ]] || fail "$(cat "$TMPDIR/calls")"
}

a_set_is_brought_where_it_is_asked_for() {
    make_project
    sed 's/^cpu nice==1.0/parquet nice==1.0/' -i "$project/cmake/wheels.txt"
    dev 0 setup
    [[ ! -e $project/.deps/wheels/nice ]] || fail "unpacked without being asked for"
    dev 0 setup --parquet
    expect_text "$project/.deps/wheels/nice/lib/libnice.so" content
}

root_gets_missing_packages_installed() {
    make_project
    program dpkg-query 'printf "installed:g++ "'
    program id 'echo 0'
    dev 0 setup
    expect_text "$TMPDIR/calls" "apt-get install -y -qq --no-install-recommends"
    expect_text "$TMPDIR/calls" "libtomlplusplus-dev"
    if grep 'install.* g++ ' "$TMPDIR/calls"; then fail "g++ was there already"; fi
}

nobody_gets_the_command_to_type() {
    make_project
    program dpkg-query 'printf "installed:g++ "'
    program id 'echo 1000'
    program sudo 'exit 1'
    dev 2 setup
    expect_text "$TMPDIR/output" "apt-get update && apt-get install -y --no-install-recommends ca-certificates git cmake"
    [[ ! -e $TMPDIR/calls ]] || fail "$(cat "$TMPDIR/calls")"
}

sudo_is_used_where_it_asks_nothing() {
    make_project
    program dpkg-query 'printf "installed:g++ "'
    program id 'echo 1000'
    program sudo '[[ $1 == -n ]] && exit 0; echo sudo "$@" >>"$TMPDIR/calls"; "$@"'
    dev 0 setup
    expect_text "$TMPDIR/calls" "sudo apt-get update"
}

unknown_words_are_bad_input() {
    make_project
    dev 2 biuld
    expect_text "$TMPDIR/output" "there is no command biuld: \`./dev help\` lists them"
    dev 2 setup --cdua
    expect_text "$TMPDIR/output" "setup does not know --cdua"
    dev 2 build --preset fast
    expect_text "$TMPDIR/output" "there is no preset fast; there are release, dist, debug, asan, tsan, clang"
    dev 2 fuzz rows --minutes 0
    expect_text "$TMPDIR/output" "--minutes is 0; expected a whole number from 1"
    dev 2 fuzz --hours 1
    expect_text "$TMPDIR/output" "fuzz does not know --hours; it knows --minutes, --seconds and --seed"
}

# sums_up STATUS CTEST_STATUS: runs the summary over $TMPDIR/sum, its output in $TMPDIR/output.
sums_up() {
    local status=0
    SWITCHYARD_SKIPS=$TMPDIR/skips.txt "$summary" "$TMPDIR/sum" "$2" >"$TMPDIR/output" || status=$?
    [[ $status == "$1" ]] || fail "exit code $status; expected $1: $(cat "$TMPDIR/output")"
}

make_records() {
    rm -rf "$TMPDIR/sum"
    mkdir -p "$TMPDIR/sum/tests/records" "$TMPDIR/sum/Testing/Temporary"
    printf '# names | reasons | why\ngpu * | no CUDA device* | few have one\n' >"$TMPDIR/skips.txt"
    printf 'start\ta\npass\ta\nstart\tgpu b\nskip\tgpu b\tno CUDA device here\n' >"$TMPDIR/sum/tests/records/one.tsv"
    printf 'start\tc\npass\tc\n' >"$TMPDIR/sum/tests/records/two.tsv"
}

summary_counts_cases() {
    make_records
    sums_up 0 0
    expect_text "$TMPDIR/output" "  one: gpu b: no CUDA device here"
    [[ $(tail -n 1 "$TMPDIR/output") == "2 passed, 0 failed, 1 skipped" ]] || fail "$(cat "$TMPDIR/output")"
}

summary_refuses_an_unlisted_skip() {
    make_records
    printf 'start\td\nskip\td\tno mood\n' >>"$TMPDIR/sum/tests/records/two.tsv"
    sums_up 1 0
    expect_text "$TMPDIR/output" "two: d: no mood  <- not allowed by tests/skips.txt"
    [[ $(tail -n 1 "$TMPDIR/output") == "2 passed, 0 failed, 2 skipped" ]] || fail "$(cat "$TMPDIR/output")"
}

summary_counts_crashes_as_failures() {
    make_records
    printf 'start\te\n' >>"$TMPDIR/sum/tests/records/two.tsv"
    printf '2:two\n3:three\n' >"$TMPDIR/sum/Testing/Temporary/LastTestsFailed.log"
    sums_up 1 8
    expect_text "$TMPDIR/output" "two: crashed or was stopped in: e"
    expect_text "$TMPDIR/output" "three: did not start"
    [[ $(tail -n 1 "$TMPDIR/output") == "2 passed, 2 failed, 1 skipped" ]] || fail "$(cat "$TMPDIR/output")"
}

summary_tells_what_took_longest() {
    make_records
    printf 'start\tf\ntook\tf\t0.25\npass\tf\nstart\tg\ntook\tg\t12.5\npass\tg\n' >>"$TMPDIR/sum/tests/records/two.tsv"
    printf 'start\th i\ntook\th i\t3\npass\th i\n' >>"$TMPDIR/sum/tests/records/one.tsv"
    sums_up 0 0
    [[ $(grep -A 3 '^Longest' "$TMPDIR/output") == "Longest, of 16 s in all:
    12 s  two: g
     3 s  one: h i
     0 s  two: f" ]] || fail "$(cat "$TMPDIR/output")"
    [[ $(tail -n 1 "$TMPDIR/output") == "5 passed, 0 failed, 1 skipped" ]] || fail "$(cat "$TMPDIR/output")"
}

summary_without_any_test_fails() {
    rm -rf "$TMPDIR/sum"
    mkdir -p "$TMPDIR/sum"
    sums_up 1 8
    [[ $(tail -n 1 "$TMPDIR/output") == "0 passed, 1 failed, 0 skipped" ]] || fail "$(cat "$TMPDIR/output")"
}

a_test_begins_empty() {
    local folder=$TMPDIR/emptied
    mkdir -p "$folder/home/.config/switchyard" "$folder/cache/switchyard" "$folder/tmp"
    touch "$folder/home/.config/switchyard/config.toml" "$folder/cache/switchyard/conformance.json" "$folder/record.tsv"
    (cd "$folder/tmp" && touch .left &&
        SWITCHYARD_TEST_RECORD=$folder/record.tsv \
            "$SWITCHYARD_TEST_SOURCE_DIR/tests/support/begin_empty.sh" "$folder" find "$folder" >"$TMPDIR/output")
    [[ $(sort "$TMPDIR/output") == "$(printf '%s\n' "$folder" "$folder"/{cache,home,tmp})" ]] || fail "$(cat "$TMPDIR/output")"
}

# sums_parts STATUS LINE PART...: a run of parts, each a command; its exit code and its last line.
sums_parts() {
    local expected=$1 line=$2 status=0 command
    shift 2
    mkdir -p "$TMPDIR/parts/.ci"
    cp "$SWITCHYARD_TEST_SOURCE_DIR/.ci/parts" "$TMPDIR/parts/.ci"
    echo 'source "$(dirname "${BASH_SOURCE[0]}")/parts"' >"$TMPDIR/parts/.ci/some"
    for command in "$@"; do echo "part 'a part' bash -c '$command'" >>"$TMPDIR/parts/.ci/some"; done
    echo total >>"$TMPDIR/parts/.ci/some"
    bash "$TMPDIR/parts/.ci/some" >"$TMPDIR/output" 2>&1 || status=$?
    [[ $status == "$expected" ]] || fail "exit code $status; expected $expected: $(cat "$TMPDIR/output")"
    [[ $(tail -n 1 "$TMPDIR/output") == "$line" ]] || fail "the last line should be $line: $(cat "$TMPDIR/output")"
}

parts_are_summed_up() {
    sums_parts 0 "10 passed, 0 failed, 3 skipped" "echo 3 passed, 0 failed, 1 skipped" \
        "echo words; echo 7 passed, 0 failed, 2 skipped"
    sums_parts 0 "4 passed, 0 failed, 1 skipped" "echo 3 passed, 0 failed, 1 skipped" "echo no counts"
}

a_part_that_fails_fails_the_whole() {
    sums_parts 1 "5 passed, 2 failed, 1 skipped" "echo 2 passed, 2 failed, 1 skipped; exit 1" \
        "echo 3 passed, 0 failed, 0 skipped"
    sums_parts 1 "3 passed, 1 failed, 0 skipped" "exit 2" "echo 3 passed, 0 failed, 0 skipped"
    sums_parts 1 "3 passed, 1 failed, 2 skipped" "echo 3 passed, 0 failed, 2 skipped; exit 1"
    expect_text "$TMPDIR/output" "not passed: a part"
}

check "a wheel is checked, unpacked, and not fetched again" wheels_are_unpacked_once
check "a wheel whose pin has changed is fetched again" a_changed_pin_is_fetched_again
check "a wheel with the wrong hash is refused and leaves nothing behind" a_wrong_hash_leaves_nothing
check "a download that fails is named" a_failed_download_says_what
check "a LibTorch of the user's own is not downloaded again" own_libtorch_is_not_downloaded
check "a set of wheels is brought where it is asked for" a_set_is_brought_where_it_is_asked_for
check "missing packages are installed for root, and only those" root_gets_missing_packages_installed
check "without root and sudo the command to type is printed" nobody_gets_the_command_to_type
check "sudo is used where it asks for nothing" sudo_is_used_where_it_asks_nothing
check "unknown commands, options and presets are bad input" unknown_words_are_bad_input
check "the summary counts test cases and lists skips" summary_counts_cases
check "the summary fails on a skip that is not on the list" summary_refuses_an_unlisted_skip
check "the summary counts a crash or a timeout as a failure" summary_counts_crashes_as_failures
check "the summary tells which cases took longest" summary_tells_what_took_longest
check "the summary of no tests at all is a failure" summary_without_any_test_fails
check "a test finds nothing that an earlier run of it left" a_test_begins_empty
check "the last line of several parts counts the cases of all" parts_are_summed_up
check "a part that fails without counting a failure is one" a_part_that_fails_fails_the_whole
finish

# Sourced by script tests. `check NAME COMMAND...` runs a command or function as one test case: it fails when the
# command does (functions run with `set -e`), and the summary of `./dev test` counts it. `skip NAME REASON` skips one.
set -uo pipefail
failed=0

# What `plugins verify` draws: the same cases for the same code in each run, others every night (.ci/nightly).
# shellcheck disable=SC2034  # for those who source this
drawn_seed=${SWITCHYARD_DRAWN_SEED:-1}

record() {
    if [[ -n ${SWITCHYARD_TEST_RECORD:-} ]]; then (IFS=$'\t'; echo "$*" >>"$SWITCHYARD_TEST_RECORD"); fi
}

check() {
    local name=$1 status begun=${EPOCHREALTIME/[.,]/}
    shift
    record start "$name"
    (set -e; "$@")
    status=$?
    record took "$name" $(((${EPOCHREALTIME/[.,]/} - begun) / 1000000))
    if [[ $status == 0 ]]; then
        record pass "$name"
        echo "ok: $name"
    else
        record fail "$name"
        echo "FAILED: $name"
        failed=1
    fi
}

skip() {
    record skip "$1" "$2"
    echo "skipped: $1: $2"
}

fail() {
    echo "$*"
    exit 1
}

# expect_text FILE TEXT: the file contains the text.
expect_text() {
    grep -qF -- "$2" "$1" || fail "expected \"$2\" in:"$'\n'"$(cat "$1")"
}

finish() { exit "$failed"; }

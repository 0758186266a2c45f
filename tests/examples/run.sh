#!/usr/bin/env bash
# Each example plugin passes verify on the CPU, and trains the job that lies beside it, in which it alone fills its slot.
# To add an example: a line of `uses` at the end, and its target in CMakeLists.txt.
source "$(dirname "$0")/../support/script.sh"
switchyard=$SWITCHYARD_TEST_BUILD_DIR/bin/switchyard
libraries=$SWITCHYARD_TEST_BUILD_DIR/tests/support/plugins/example
examples=$SWITCHYARD_TEST_SOURCE_DIR/examples/plugins

verifies() {
    "$switchyard" plugins verify "$libraries/lib$1.so" --drawn 5 >"$TMPDIR/verify" 2>&1 || fail "verify gives $?: $(cat "$TMPDIR/verify")"
    expect_text "$TMPDIR/verify" "no faults in what ran"
}

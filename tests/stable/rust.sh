#!/usr/bin/env bash
# The example in Rust builds with rustc alone, and passes verify.
source "$(dirname "$0")/../support/script.sh"
# rustup's rustc looks for its toolchains in the user's home, and tests have one of their own.
export RUSTUP_HOME=${RUSTUP_HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)/.rustup}
if ! rustc=$(command -v rustc) || ! "$rustc" --version >/dev/null 2>&1; then
    skip "the example in Rust passes verify" "there is no rustc"
    finish
fi
verifies() {
    RUSTC=$rustc "$SWITCHYARD_TEST_SOURCE_DIR/examples/plugins/stable_rust/build.sh" "$SWITCHYARD_TEST_BUILD_DIR" "$TMPDIR" >"$TMPDIR/log" 2>&1 ||
        fail "$(cat "$TMPDIR/log")"
    [[ ! -s $TMPDIR/log ]] || fail "it builds with words: $(cat "$TMPDIR/log")"
    "$SWITCHYARD_TEST_BUILD_DIR/bin/switchyard" plugins verify "$TMPDIR/libstable_rust.so" --seed "$drawn_seed" >"$TMPDIR/log" 2>&1 || fail "$(cat "$TMPDIR/log")"
    expect_text "$TMPDIR/log" "no faults in what ran"
}
check "the example in Rust passes verify" verifies
finish

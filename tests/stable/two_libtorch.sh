#!/usr/bin/env bash
# One file of the stable tier is called under two releases of LibTorch by a host that is built with none, and gives the same bits.
source "$(dirname "$0")/../support/script.sh"
libtorch=$1
program=$SWITCHYARD_TEST_BUILD_DIR/tests/bin/switchyard_two_libtorch
plugin=$SWITCHYARD_TEST_BUILD_DIR/tests/support/plugins/stable/libstable_c.so

runs_under_this_libtorch() {
    "$program" "$libtorch" "$plugin" >"$TMPDIR/here" 2>"$TMPDIR/told" || fail "$(cat "$TMPDIR/told")"
    expect_text "$TMPDIR/here" grad_beta
    [[ $(wc -l <"$TMPDIR/here") == 7 ]] || fail "not all results were given: $(cut -c1-40 "$TMPDIR/here")"
}

runs_under_a_second_libtorch() {
    "$program" "$SWITCHYARD_SECOND_LIBTORCH" "$plugin" >"$TMPDIR/second" 2>"$TMPDIR/told" || fail "$(cat "$TMPDIR/told")"
    cmp "$TMPDIR/here" "$TMPDIR/second" || fail "the same file gives other bits"
}

needs_no_libtorch() {
    local needed
    needed=$(readelf -d "$plugin" "$program" | grep NEEDED | grep -E 'torch|c10|stdc') || true
    [[ -z $needed ]] || fail "it is linked with $needed"
}

check "neither the plugin nor this host is linked with LibTorch" needs_no_libtorch
check "the file runs under the LibTorch that is here" runs_under_this_libtorch
if [[ -n ${SWITCHYARD_SECOND_LIBTORCH:-} ]]; then
    check "the same file gives the same bits under a second LibTorch" runs_under_a_second_libtorch
else
    skip "the same file gives the same bits under a second LibTorch" "SWITCHYARD_SECOND_LIBTORCH names none"
fi
finish

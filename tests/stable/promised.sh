#!/usr/bin/env bash
# What plugins in C were promised (stable_abi.h, plugin_abi.h) holds: abidiff compares every structure with promised.abi, pointers and
# functions included, and tells what has changed. Where that is meant - a member at the end of a structure with another MINOR, all else with
# another MAJOR - `tests/stable/promised.sh COMPILER --write` writes the promise anew.
compiler=$1
if [[ ${2:-} == --write ]]; then TMPDIR=$(mktemp -d) SWITCHYARD_TEST_SOURCE_DIR=$(cd "$(dirname "$0")/../.." && pwd); fi
source "$(dirname "$0")/../support/script.sh"
include=$SWITCHYARD_TEST_SOURCE_DIR/core/include
promised=$SWITCHYARD_TEST_SOURCE_DIR/tests/stable/promised.abi

# contract INCLUDE LIBRARY: a library with a function of each structure, whose debug information says what they are made of.
contract() {
    local header type
    {
        for header in plugin_abi stable_abi; do echo "#include <switchyard/interfaces/$header.h>"; done
        for header in plugin_abi stable_abi; do
            for type in $(sed -n 's/^} \(Switchyard[A-Za-z]*\);.*/\1/p' "$include/switchyard/interfaces/$header.h"); do
                echo "__attribute__((visibility(\"default\"))) void of_$type($type* x) { (void)x; }"
            done
        done
    } >"$2.c"
    "$compiler" -x c -std=c11 -g -O0 -fPIC -shared -fvisibility=hidden -I"$1" "$2.c" -o "$2"
}

write() { abidw --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed --out-file "$2" "$1"; }

# differences LIBRARY: in $TMPDIR/differences; the exit code is abidiff's: 0 for none.
differences() {
    abidiff "$promised" "$1" >"$TMPDIR/differences" 2>&1
}

holds() {
    contract "$include" "$TMPDIR/now.so"
    [[ $(grep -c 'void of_' "$TMPDIR/now.so.c") -gt 30 ]] || fail "too few structures were found: $(cat "$TMPDIR/now.so.c")"
    differences "$TMPDIR/now.so" || fail "what was promised to plugins in C has changed (see the head of this script): $(cat "$TMPDIR/differences")"
}

# changed SED_SCRIPT: the headers with that change, compared.
changed() {
    rm -rf "$TMPDIR/include" && cp -r "$include" "$TMPDIR/include"
    sed -i "$1" "$TMPDIR/include/switchyard/interfaces/stable_abi.h"
    if cmp -s "$TMPDIR/include/switchyard/interfaces/stable_abi.h" "$include/switchyard/interfaces/stable_abi.h"; then fail "changed nothing: $1"; fi
    contract "$TMPDIR/include" "$TMPDIR/changed.so" || fail "does not compile: $1"  # no `set -e` holds within an `if`
    differences "$TMPDIR/changed.so"
}

is_told() {
    if changed "$1"; then fail "not told: $1"; fi
    expect_text "$TMPDIR/differences" "$2"
}

changes_are_told() {
    is_told '/^typedef struct SwitchyardStableHost {/a\    uint32_t moved;' "'uint32_t moved', at offset 0"
    is_told '/^} SwitchyardStableHost;/i\    int32_t added;' "'int32_t added', at offset"
    is_told '/^typedef struct SwitchyardStableHost {/,/^}/s/int32_t cores;/int64_t cores;/' "type of 'int32_t cores' changed"
    is_told '/^typedef struct SwitchyardStableRequest {/,/^}/s/int32_t dtype, device/int32_t device, dtype/' "int32_t dtype"
    is_told '/^typedef struct SwitchyardStableSupports {/,/^}/s/const SwitchyardStableHost\*/const SwitchyardStableRange*/' "SwitchyardStableRange"
    is_told '/^typedef struct SwitchyardStablePlugin {/,/^}/s/(\*init)(/(*init)(int32_t, /' "init"
}

if [[ ${2:-} == --write ]]; then
    contract "$include" "$TMPDIR/now.so" && write "$TMPDIR/now.so" "$promised" && rm -r "$TMPDIR" && exit
fi
if command -v abidiff >/dev/null; then
    check "what plugins in C were promised holds" holds
    check "a member that is added, moved or of another type is told by name" changes_are_told
else
    skip "what plugins in C were promised holds" "no abidiff is in PATH"
fi
finish

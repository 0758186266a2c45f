#!/usr/bin/env bash
# Programs and plugins find LibTorch, and LibTorch its neighbours, by their own paths alone: no LD_LIBRARY_PATH, no
# CUDA toolkit. To add a case: write a function, and a `check` line at the end.
source "$(dirname "$0")/../support/script.sh"
libtorch=$1
arrow=${2-}  # empty: this build has none, or the system's
build=$SWITCHYARD_TEST_BUILD_DIR

built() { find "$build/bin" "$build/libexec" "$build/lib/switchyard" -type f -perm -u+x 2>/dev/null; }
# What a sanitizer leaves out (tests/support/tsan.supp) stays.
bare() { env -i PATH=/usr/bin:/bin HOME="$TMPDIR" ASAN_OPTIONS="${ASAN_OPTIONS-}" TSAN_OPTIONS="${TSAN_OPTIONS-}" "$@"; }

only_libtorch_in_runpath() {
    local file entries
    for file in $(built | grep -v libswitchyard_parquet); do
        entries=$(readelf -d "$file" | sed -nE 's/.*\((RPATH|RUNPATH)\).*\[(.*)\]/\1 \2/p')
        [[ $entries == "RUNPATH $libtorch/lib" ]] || fail "$file has '$entries'; expected 'RUNPATH $libtorch/lib'"
    done
}

# What reads Parquet needs no LibTorch, and no program links it: mapping Arrow takes time that only its files are worth.
only_arrow_in_parquet() {
    local library=$build/lib/switchyard/libswitchyard_parquet.so file entries
    for file in $(built); do
        if readelf -d "$file" | grep -E 'NEEDED.*(libarrow|libparquet|switchyard_parquet)' >"$TMPDIR/needed" &&
            [[ $file != "$library" ]]; then fail "$file links $(cat "$TMPDIR/needed")"; fi
    done
    [[ -e $library && -n $arrow ]] || return 0
    entries=$(readelf -d "$library" | sed -nE 's/.*\((RPATH|RUNPATH)\).*\[(.*)\]/\1 \2/p')
    [[ $entries == "RUNPATH $arrow" ]] || fail "$library has '$entries'; expected 'RUNPATH $arrow'"
    ! bare ldd "$library" | grep -E 'not found|libtorch|libc10' || fail "$library would load these, or not find them"
}

# Every library comes from LibTorch's folder, from its neighbours among the wheels, or from the system. The CUDA runtime
# of a plugin's CUDA library is the one that LibTorch has loaded by then, which ldd cannot know. What captures graphs, and what speaks
# NCCL, links LibTorch's CUDA library: what that one needs is LibTorch's to find.
needed_by_libtorch_cuda() { bare ldd "$libtorch/lib/libtorch_cuda.so" 2>/dev/null | awk '{ print $1 }'; }

nothing_from_a_toolkit() {
    local file strange
    for file in $(built); do
        strange=$(bare ldd "$file" | grep -vE "linux-vdso|ld-linux" | grep -vF "$(dirname "$libtorch")/" |
            grep -vF "${arrow:-$libtorch}/" | grep -vE "=> (/usr)?/lib/" | { [[ $file == *_cuda.so ]] && grep -v libcudart || cat; }) || true
        if [[ $file == *_cuda_graphs.so || $file == *_nccl.so ]]; then
            strange=$(grep -vwF "$(needed_by_libtorch_cuda)" <<<"$strange") || true
        fi
        [[ -z $strange ]] || fail "$file would load:"$'\n'"$strange"
    done
}

# ldd might be mistaken: `plan` loads LibTorch and every plugin. `env -i` leaves no LD_LIBRARY_PATH.
plans_without_environment() {
    bare "$build/bin/switchyard" plan "$SWITCHYARD_TEST_SOURCE_DIR/configs/demo.toml" >"$TMPDIR/plan" 2>&1 ||
        fail "switchyard plan gives $?: $(cat "$TMPDIR/plan")"
}

# `switchyard` answers what needs no tensors, and must not map LibTorch for it: that costs 0.2 s.
front_program_is_free_of_libtorch() {
    if bare ldd "$build/bin/switchyard" | grep -E 'libtorch|libc10'; then fail "bin/switchyard links LibTorch"; fi
    bare "$build/bin/switchyard" --version
}

# By another path to the same libraries, so that it shows which one was taken.
libtorch_of_another_place_is_taken() {
    rm -rf "$TMPDIR/elsewhere" "$TMPDIR"/ld.*
    mkdir "$TMPDIR/elsewhere"
    ln -s "$libtorch/lib" "$TMPDIR/elsewhere/lib"
    bare SWITCHYARD_LIBTORCH="$TMPDIR/elsewhere" LD_DEBUG=libs LD_DEBUG_OUTPUT="$TMPDIR/ld" \
        "$build/bin/switchyard" config check "$SWITCHYARD_TEST_SOURCE_DIR/configs/presets/mini-gpt.toml" >"$TMPDIR/check" 2>&1 ||
        fail "switchyard config check gives $?: $(cat "$TMPDIR/check")"
    grep -qF "calling init: $TMPDIR/elsewhere/lib/libtorch_cpu.so" "$TMPDIR"/ld.* ||
        fail "taken was: $(grep -h 'calling init: .*libtorch_cpu.so' "$TMPDIR"/ld.*)"
}

missing_libtorch_is_told() {
    local command status
    for command in "plan $SWITCHYARD_TEST_SOURCE_DIR/configs/demo.toml" "plugins list" "plugins doctor"; do
        status=0
        # shellcheck disable=SC2086
        bare SWITCHYARD_LIBTORCH="$TMPDIR/nothing" "$build/bin/switchyard" $command >"$TMPDIR/out" 2>&1 || status=$?
        [[ $status == 1 ]] || fail "$command gives $status: $(cat "$TMPDIR/out")"
        expect_text "$TMPDIR/out" "SWITCHYARD_LIBTORCH=$TMPDIR/nothing: has no lib/libtorch_cpu.so"
        expect_text "$TMPDIR/out" "pip install torch=="
    done
}

[[ -n $(built) ]] || { check "something is built" false; finish; }
check "the run path of programs and plugins names LibTorch's folder alone" only_libtorch_in_runpath
check "Arrow is linked by what reads Parquet alone, and found by its path" only_arrow_in_parquet
check "programs and plugins load nothing from a CUDA toolkit" nothing_from_a_toolkit
check "the program plans in an empty environment" plans_without_environment
check "a LibTorch in another place is taken when it is named" libtorch_of_another_place_is_taken
check "where LibTorch is missing is told, and what to do" missing_libtorch_is_told
check "bin/switchyard does not link LibTorch" front_program_is_free_of_libtorch
finish

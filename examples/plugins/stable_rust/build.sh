#!/usr/bin/env bash
# build.sh SWITCHYARD_PREFIX OUTPUT_FOLDER: makes libstable_rust.so with rustc alone.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
"$1/libexec/switchyard/switchyard-manifest" --manifest "$here/plugin.toml" --name stable_rust --tier stable --section \
    --output "$2/stable_rust.section"
SWITCHYARD_SECTION=$2/stable_rust.section "${RUSTC:-rustc}" --edition 2021 -O -A non_upper_case_globals -o "$2/libstable_rust.so" "$here/norm.rs"

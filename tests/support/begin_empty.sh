#!/usr/bin/env bash
# begin_empty.sh FOLDER COMMAND...: the command of every test. What an earlier run of the test left in its own HOME, cache and
# TMPDIR, which are folders in FOLDER, and in its record goes before the test begins, whoever starts it and however often.
set -euo pipefail
find "$1" -mindepth 2 -maxdepth 2 -exec rm -rf {} +
rm -f "${SWITCHYARD_TEST_RECORD:?is not set: run the test through ctest or ./dev test}"
shift
exec "$@"

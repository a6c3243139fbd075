#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# tests/race/run-tsan.sh [PROGRAM…]: looks for data races in the tests of jobs, previews, storage and cancelling,
# or in the named test programs, and says for each what the thread sanitizer reported. Only the host computes:
# OpenCL drivers are not built for the sanitizer and report races that are none. Exit status 1: a report or a failure.
set -eu
cd "$(dirname "$0")/../.."

programs=("$@")
[ $# -gt 0 ] || programs=(
  faults/test-cancel faults/test-threads truth/test-truth-axis-cancel
  unit/test-engine unit/test-engine-jobs unit/test-fbp-faults unit/test-iterative-group unit/test-previews
  unit/test-hdf5-files unit/test-storage-threads unit/test-stored-samples unit/test-tiff
)
[ -f build-tsan/build.ninja ] || meson setup build-tsan -Dgui=disabled -Dopencl=disabled -Dcuda=disabled \
  -Dmpi=disabled -Dbuildtype=debug -Doptimization=1 -Ddebug=false -Dc_args=-g1 -Db_sanitize=thread \
  -Db_lundef=false >/dev/null
ninja -C build-tsan --quiet tests/race/libglib-tsan.so "${programs[@]/#/tests/}"

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
bad=0
for program in "${programs[@]}"; do
  log=$logs/${program##*/}
  # GLib's slices change threads by locks of its own that the preloaded library does not see.
  env G_SLICE=always-malloc GSETTINGS_BACKEND=memory XDG_CACHE_HOME="$logs/cache" \
    LD_PRELOAD="$PWD/build-tsan/tests/race/libglib-tsan.so" "build-tsan/tests/$program" >"$log" 2>&1 \
    && status=0 || status=$?
  printf '%s: %s passed, %s skipped, %s reports, exit status %s\n' "${program##*/}" \
    "$(grep -v '# SKIP' "$log" | grep -c '^ok' || true)" "$(grep -c '^ok.*# SKIP' "$log" || true)" \
    "$(grep -c 'WARNING: ThreadSanitizer' "$log" || true)" "$status"
  [ "$status" = 0 ] || { bad=1; grep -A 30 -m 1 -E 'WARNING: ThreadSanitizer|^not ok|ERROR' "$log" >&2 || true; }
done
exit "$bad"

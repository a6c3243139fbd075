#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# tests/race/run-tsan.sh [PROGRAM…]: looks for data races in the tests of jobs, previews, storage, cancelling, and the
# host's cone-beam and iterative methods, or in the named test programs, and says for each what the thread sanitizer
# reported. Only the host computes: OpenCL drivers are not built for the sanitizer and report races that are none.
# For the same reason the window's tests (ui/test-window-NAME, under Xvfb) look at accesses by the program's own code
# only, not at those by GTK and Mesa. Exit status 1: a report or a failure.
set -eu
cd "$(dirname "$0")/../.."

programs=("$@")
[ $# -gt 0 ] || programs=(
  faults/test-cancel faults/test-threads truth/test-truth-axis-cancel
  truth/test-truth-iterative truth/test-truth-iterative-start
  unit/test-engine unit/test-engine-jobs unit/test-fbp-faults unit/test-fdk unit/test-previews
  unit/test-hdf5-files unit/test-storage-threads unit/test-tiff
)
[ -f build-tsan/build.ninja ] || meson setup build-tsan -Dopencl=disabled -Dcuda=disabled -Dmpi=disabled \
  -Dbuildtype=debug -Doptimization=1 -Ddebug=false -Dc_args=-g1 -Db_sanitize=thread \
  -Db_lundef=false >/dev/null
targets=("${programs[@]/#/tests/}")
[[ "${programs[*]}" != *ui/* ]] || targets+=(app/tomodesk-cli data/gschemas.compiled)
ninja -C build-tsan --quiet tests/race/libglib-tsan.so "${targets[@]}"

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
preload=$PWD/build-tsan/tests/race/libglib-tsan.so
cli=$logs/tomodesk-cli # the window starts this one
printf '#!/bin/sh\nLD_PRELOAD="%s" exec "%s" "$@"\n' "$preload" "$PWD/build-tsan/app/tomodesk-cli" >"$cli"
chmod +x "$cli"
bad=0
for program in "${programs[@]}"; do
  log=$logs/${program##*/}
  display=() options=${TSAN_OPTIONS:-}
  if [[ $program == ui/* ]]; then
    display=(xvfb-run -a -s '-screen 0 1280x800x24')
    options="$options ignore_noninstrumented_modules=1"
  fi
  # GLib's slices change threads by locks of its own that the preloaded library does not see.
  G_SLICE=always-malloc GSETTINGS_BACKEND=memory XDG_CACHE_HOME="$logs/cache" XDG_CONFIG_HOME="$logs/config" \
    XDG_DATA_HOME="$logs/share" GTK_A11Y=none LANGUAGE=C TOMODESK_DRAW=processor TOMODESK_CLI="$cli" TOMODESK_DEADLINE_S=600 \
    TOMODESK_FAKE_WORKER="$PWD/tests/cluster-remote/fake-worker" TSAN_OPTIONS="$options" \
    "${display[@]}" env LD_PRELOAD="$preload" "build-tsan/tests/$program" >"$log" 2>&1 && status=0 || status=$?
  printf '%s: %s passed, %s skipped, %s reports, exit status %s\n' "${program##*/}" \
    "$(grep -v '# SKIP' "$log" | grep -c '^ok' || true)" "$(grep -c '^ok.*# SKIP' "$log" || true)" \
    "$(grep -c 'WARNING: ThreadSanitizer' "$log" || true)" "$status"
  [ "$status" = 0 ] || { bad=1; grep -A 30 -m 1 -E 'WARNING: ThreadSanitizer|^not ok|ERROR' "$log" >&2 || true; }
done
exit "$bad"

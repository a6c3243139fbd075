#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Tests Tomodesk on the GPUs of this computer, and measures it: every test program that needs no
# display, a line each; then the self-test and the benches of each GPU. The script changes nothing on
# the system: an NVIDIA OpenCL that is installed but not registered is registered for this run alone.
#
#     tests/gpu/run-on-gpu.sh [--tests | --benches] [BUILD] [RESULTS]
#
# BUILD: the build folder (default: build). Libraries that this computer lacks may lie in BUILD/lib.
# RESULTS: the folder that the outputs go to (default: gpu-results).
# Variables: JOBS, how many test programs run at once (default: half of the processors, 8 at the
# most); LIMIT, seconds a test program may take (300); SIZE, columns of the benches (2048).
set -u
what=all
case ${1:-} in
  --tests) what=tests; shift ;;
  --benches) what=benches; shift ;;
  -*) sed -n '3,13s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
build=$(realpath "${1:-build}")
results=${2:-gpu-results}
cli=$build/app/tomodesk-cli
size=${SIZE:-2048}
half=$(($(nproc) / 2))
jobs=${JOBS:-$((half < 1 ? 1 : half > 8 ? 8 : half))}

[ -x "$cli" ] || { echo "run-on-gpu: $cli is not built; give the build folder" >&2; exit 2; }
mkdir -p "$results"
results=$(realpath "$results")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export XDG_CACHE_HOME=$scratch/cache POCL_CACHE_DIR=$scratch/pocl TOMODESK_CLI=$cli
export FAIL_LIBRARY=$build/tests/faults/fail-at.so
TOMODESK_SLOW_STORAGE=$(find "$build/tests" -name '*slow-storage*.so' | head -n 1)
export TOMODESK_SLOW_STORAGE
export TOMODESK_SCANS=${TOMODESK_SCANS:-$build/../../shared/scans}
export libraries=$build/lib results

# With the libraries beside the build; not exported, since other programs here have their own.
ours () {
  if [ -d "$libraries" ]; then
    LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$@"
  else
    "$@"
  fi
}

register_opencl () {
  local library
  mkdir "$scratch/vendors"
  cp /etc/OpenCL/vendors/*.icd "$scratch/vendors/" 2>/dev/null
  if ! grep -qs nvidia "$scratch"/vendors/*.icd; then
    library=$(ldconfig -p | sed -n 's/.*=> \(.*libnvidia-opencl\.so\.1\)$/\1/p' | head -n 1)
    [ -n "$library" ] || library=$(find /usr/local/nvidia /usr/lib -name libnvidia-opencl.so.1 2>/dev/null | head -n 1)
    if [ -n "$library" ]; then
      echo "$library" > "$scratch/vendors/nvidia.icd"
      echo "NVIDIA's OpenCL ($library) is registered for this run only"
    fi
  fi
  rm -f "$scratch"/vendors/pocl*.icd  # a CPU, tested elsewhere
  export OCL_ICD_VENDORS=$scratch/vendors
}

# NVIDIA's EGL, where it is installed and not registered.
register_egl () {
  local vendor
  vendor=$(find /usr/share/glvnd /usr/local/nvidia -name 10_nvidia.json -path '*egl_vendor*' 2>/dev/null | head -n 1)
  [ -z "$vendor" ] || export __EGL_VENDOR_LIBRARY_FILENAMES=$vendor
}

# NAME COMMAND...: runs the command, keeps its output, and prints a line that says how it ended.
step () {
  local name=$1 start=$SECONDS status said
  shift
  ours timeout "${LIMIT:-300}" "$@" > "$results/$name.txt" 2>&1
  status=$?
  said=$(awk '/^not ok/ { bad++; next } /^ok.*# SKIP/ { skipped++; next } /^ok/ { good++ }
              END { if (good + bad + skipped) printf "%d passed, %d failed, %d skipped, ", good, bad, skipped }' \
           "$results/$name.txt")
  if [ $status = 0 ]; then
    printf '%-32s ok (%s%d s)\n' "$name" "$said" $((SECONDS - start))
    return 0
  fi
  printf '%-32s FAILED, status %d (%s%d s)\n%s\n' "$name" $status "$said" $((SECONDS - start)) \
    "$(grep -aE '^not ok|^Bail out|ERROR|FAILED|Sanitizer' "$results/$name.txt" | cut -c 1-300 | sed 's/^/    /' | head -n 12)"
  return 1
}
export -f ours step

run_tests () {
  local programs
  mapfile -t programs < <(find "$build"/tests/{unit,truth,faults,cli} "$build/tests/gpu/test-opencl-build" \
    -maxdepth 1 -type f -name 'test-*' -perm -u+x 2>/dev/null | sort)
  # A line a program as it ends; xargs says whether all ended well.
  printf '%s\n' "${programs[@]}" |
    xargs -P "$jobs" -I '{}' bash -c 'step "$(basename "$1")" "$1"' - '{}' || failed=1
  # The window's pictures, without a display.
  [ ! -x "$build/tests/ui/test-render-gl" ] ||
    step render-gl env -u DISPLAY -u WAYLAND_DISPLAY "$build/tests/ui/test-render-gl" || failed=1
  # It fills the card, so that it comes alone.
  TOMODESK_CARD_FULL=1 step fdk-card-full "$build/tests/unit/test-fdk-faults" -p /fdk-faults/card-full || failed=1
}

run_benches () {
  local device precision
  for device in $devices; do
    step "self-test-$device" "$cli" devices --self-test --device "$device" || failed=1
    for precision in single half half-run; do
      step "bench-$device-$precision" "$cli" bench --device "$device" --size "$size" --family all \
        --precision "$precision" || failed=1
    done
    step "bench-$device-csv" "$cli" bench --device "$device" --size "$size" --family all --csv || failed=1
    step "model-$device" "$cli" bench --device "$device" --size "$size" --family all --model || failed=1
  done
  echo
  cat "$results"/bench-*-single.txt "$results"/bench-*-half*.txt "$results"/model-*.txt 2>/dev/null
}

failed=0
register_opencl
register_egl
{ date -u; nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,pci.bus_id --format=csv; } \
  > "$results/machine.txt" 2>/dev/null
cat "$results/machine.txt"
ours "$cli" devices | tee "$results/devices.txt"
devices=$(ours "$cli" devices --json | python3 -c '
import json, sys
print(*[d["id"] for d in json.load(sys.stdin) if d["available"] and d["kind"] == "gpu"])')
[ -n "$devices" ] || { echo "run-on-gpu: no GPU is available here" >&2; exit 1; }
[ $what = benches ] || run_tests
[ $what = tests ] || run_benches
[ $failed = 0 ] && echo "run-on-gpu: all is well" || echo "run-on-gpu: something failed, see above"
exit $failed

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Tests and measures Tomodesk on the GPUs of this computer: device contract, self-test of every kernel
# family, truth tests, benches, through CUDA and through the card's OpenCL. Changes nothing on the
# system: an NVIDIA OpenCL that is installed but not registered is registered for this run alone.
#
#     tests/gpu/run-on-gpu.sh [BUILD] [RESULTS]
#
# BUILD: the build folder (default: build). RESULTS: folder for the results (default: gpu-results).
set -u
build=${1:-build}
results=${2:-gpu-results}
cli=$build/app/tomodesk-cli
size=${SIZE:-2048}
failed=0

[ -x "$cli" ] || { echo "run-on-gpu: $cli is not built; give the build folder" >&2; exit 2; }
mkdir -p "$results"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export XDG_CACHE_HOME=$scratch/cache

register_opencl () {
  mkdir "$scratch/vendors"
  cp /etc/OpenCL/vendors/*.icd "$scratch/vendors/" 2>/dev/null
  if ! grep -qs nvidia "$scratch"/vendors/*.icd && ldconfig -p | grep -q libnvidia-opencl.so.1; then
    echo libnvidia-opencl.so.1 > "$scratch/vendors/nvidia.icd"
    echo "NVIDIA's OpenCL is registered for this run only"
  fi
  rm -f "$scratch"/vendors/pocl*.icd  # a CPU, tested elsewhere
  export OCL_ICD_VENDORS=$scratch/vendors
}

step () { # NAME COMMAND...: runs, keeps the output, says how it ended
  local name=$1 start=$SECONDS
  shift
  "$@" > "$results/$name.txt" 2>&1
  local status=$?
  printf '%-28s %s (%d s)\n' "$name" "$([ $status = 0 ] && echo ok || echo "FAILED, status $status")" \
    $((SECONDS - start))
  [ $status = 0 ] || { failed=1; grep -E 'not ok|ERROR|FAIL' "$results/$name.txt" | head -20; }
}

register_opencl
{ date -u; nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,pci.bus_id --format=csv; } \
  > "$results/machine.txt" 2>/dev/null
cat "$results/machine.txt"
"$cli" devices | tee "$results/devices.txt"

for test in unit/test-device unit/test-device-fft unit/test-device-program unit/test-families; do
  [ -x "$build/tests/$test" ] && step "$(basename $test)" "$build/tests/$test"
done
devices=$("$cli" devices --json | python3 -c '
import json, sys
print(*[d["id"] for d in json.load(sys.stdin) if d["available"] and d["kind"] == "gpu"])')
[ -n "$devices" ] || { echo "run-on-gpu: no GPU is available here" >&2; exit 1; }
for device in $devices; do
  step "self-test-$device" "$cli" devices --self-test --device "$device"
  for precision in single half half-run; do
    step "bench-$device-$precision" "$cli" bench --device "$device" --size "$size" --family all \
      --precision "$precision"
  done
  step "bench-$device-csv" "$cli" bench --device "$device" --size "$size" --family all --csv
  step "model-$device" "$cli" bench --device "$device" --size "$size" --family all --model
done
echo
cat "$results"/bench-*-single.txt "$results"/bench-*-half*.txt "$results"/model-*.txt 2>/dev/null
exit $failed

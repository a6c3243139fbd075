#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Times a cone-beam job by one rank and by several, one a card, beside the same job by one process
# with the same cards, memory file system to memory file system. Prints the stages of each as iFDK's
# Table 5 does, with what the model predicts from a benchmark of this machine, and whether the
# ranks do what is asked of them.
#
#     tests/gpu/run-cluster.sh [BUILD] [RANKS] [SIZE] [VIEWS]
#
# BUILD: the build folder (default: build). Libraries that this computer lacks may lie in BUILD/lib.
# RANKS: ranks and cards (2). SIZE: columns, rows and slices (2048). VIEWS: 1024.
# Variables: DEVICES, a device for each rank (default: cuda:0,cuda:1 …). SCRATCH, where all files go
# (/dev/shm). TASKS, in their order: alone (one process with one card), single (one process with all),
# volume and projection (single with --share), one (one rank), slab-rows, slab-grid (two columns),
# slab-columns, ordered-columns (the same in the order of views), ifdk-rows and ifdk-columns, each with -tiff or
# -bigtiff. LIMIT_S: what would begin later is left out, and said so (200). WARM_GB: memory that is touched once before, since a virtual machine's may have
# to grow (what the files take, 0: none). MACHINE: a file with what an earlier benchmark said.
# CHECK=1: all voxels are compared, as they are up to 1024³.
# Files take 2 SIZE² VIEWS + 4 SIZE³ bytes, 43 GB for 2048³; with CHECK a volume more. The scan is
# noise of 16 bits.
set -eu
build=$(realpath "${1:-build}")
ranks=${2:-2} size=${3:-2048} views=${4:-1024}
[ "$size" -le 1024 ] && CHECK=${CHECK:-1}
CHECK=${CHECK:-0} LIMIT_S=${LIMIT_S:-200}
scratch=$(mktemp -d "${SCRATCH:-/dev/shm}/tomodesk-cluster-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
[ -d "$build/lib" ] && export LD_LIBRARY_PATH=$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export XDG_CACHE_HOME=$scratch/cache
cli=$build/app/tomodesk-cli worker=$build/app/tomodesk-worker
cards=${DEVICES:-$(seq -s, -f 'cuda:%g' 0 $((ranks - 1)))}
[ -z "${MACHINE:-}" ] || MACHINE=$(realpath "$MACHINE")
cd "$scratch"
say () { echo "$(date +%T) $*"; }

tasks=${TASKS:-alone-tiff single-tiff volume-tiff projection-tiff one-tiff slab-rows-tiff slab-columns-tiff ifdk-rows-tiff single-bigtiff
  slab-rows-bigtiff one-bigtiff slab-columns-bigtiff ifdk-rows-bigtiff ifdk-columns-tiff ifdk-columns-bigtiff}
warm=${WARM_GB:-$((size * size * (2 * views + 4 * size) / 1000000000))}
if [ "$warm" -gt 0 ]; then
  say "memory: $warm GB are touched ($(awk '/MemTotal/ { print int($2 / 1e6) }' /proc/meminfo) GB are there)"
  for i in $(seq 16); do head -c $((warm * 62500000)) /dev/zero > "warm-$i" & done
  wait
  rm warm-*
fi
if [ -n "${MACHINE:-}" ]; then
  cp "$MACHINE" machine.txt
else
  say "benchmark"
  mkdir measured
  mpirun --bind-to none -n "$ranks" "$worker" benchmark --device "$cards" "$scratch/measured" | tee benchmark.txt
  sed -n 's/^machine //p' benchmark.txt > machine.txt
fi
say "scan"
python3 - "$size" "$views" <<'PYTHON'
import json, os, sys
size, views = int(sys.argv[1]), int(sys.argv[2])
noise = os.urandom(1 << 26)
with open("scan.raw", "wb") as scan:
    left = 2 * size * size * views
    while left > 0:
        left -= scan.write(noise[:left])
open("angles.txt", "w").write("".join(f"{360 * i / views!r}\n" for i in range(views)))
json.dump({"beam": "cone", "source_axis_mm": 200, "source_detector_mm": 400,
           "pixel_width_mm": 100 / size, "pixel_height_mm": 100 / size, "voxel_mm": 50 / size,
           "volume_size": [size, size, size]}, open("geometry.json", "w"))
PYTHON
scan=(scan.raw --raw "${size}x$size:uint16" --angles angles.txt --geometry geometry.json --prepare none)
say "kernels"
"$cli" reconstruct "${scan[@]}" --rows $((size / 2)):$((size / 2 + 16)) --output warm.tif --format bigtiff --device "$cards" > /dev/null

# begins NAME: whether there is time for it.
begins () {
  if [ $SECONDS -gt "$LIMIT_S" ]; then
    say "$1: left out, $SECONDS s are over (LIMIT_S)"
    return 1
  fi
  say "$1"
}

# timed NAME COMMAND...: with the milliseconds that the whole command takes in NAME.wall.
timed () {
  local name=$1 from status=0
  shift
  from=$(date +%s%N)
  "$@" || status=$?
  echo $((($(date +%s%N) - from) / 1000000)) > "$name.wall"
  return $status
}

# single NAME DEVICES FORMAT SHARE: one process.
single () {
  begins "$1" || return 0
  "$cli" plan "${scan[@]}" --format "$3" --device "$2" --share "$4" --json > "$1.plan.json"
  timed "$1" "$cli" reconstruct "${scan[@]}" --output "$1.tif" --format "$3" --device "$2" --share "$4" --json > "$1.json" || { rm -f "$1.json"; return 0; }
  [ "$CHECK" = 1 ] && [ "$1" = "single-$3" ] || rm -rf "$1.tif"
}

# job NAME RANKS MODE ROWS COLUMNS FORMAT [ORDERED]: a job's folder, and its ranks.
job () {
  begins "$1" || return 0
  mkdir "$1"
  cp machine.txt "$1"
  "$cli" plan "${scan[@]}" --format "$6" --device "$cards" --json > plan.json
  RAW=${scan[2]} python3 - "$1" "$3" "$4" "$5" "$cards" "${7:-}" <<'PYTHON'
import json, os, sys
name, mode, rows, columns, cards, ordered = sys.argv[1:]
recipe = json.load(open("plan.json"))["recipe"]
job = {"format": "tomodesk-job", "version": 1, "id": name,
       "scan": {"path": os.path.abspath("scan.raw"),
                "settings": {"raw": os.environ["RAW"], "angles": os.path.abspath("angles.txt"),
                             "geometry": os.path.abspath("geometry.json")}},
       "recipe": recipe,
       "output": {"path": os.path.abspath(name + ".tif"), "overwrite": True},
       "cluster": {"mode": mode, "rows": int(rows), "columns": int(columns), "ordered": bool(ordered),
                   "device": cards, "memory": 0, "view_slice": -1}}
json.dump(job, open(name + "/job.json", "w"))
PYTHON
  timed "$1" mpirun --bind-to none -n "$2" "$worker" run "$scratch/$1" || true
  [ "$CHECK" = 0 ] || [ ! -e "single-$6.tif" ] || "$cli" compare "single-$6.tif" "$1.tif" | head -3
  rm -rf "$1.tif"
}

for task in $tasks; do
  format=${task##*-}
  case ${task%-*} in
    alone) single "$task" "${cards%%,*}" "$format" auto ;;
    single) single "$task" "$cards" "$format" auto ;;
    volume | projection) single "$task" "$cards" "$format" "${task%-*}" ;;
    one) job "$task" 1 slab 1 1 "$format" ;;
    slab-rows) job "$task" "$ranks" slab "$ranks" 1 "$format" ;;
    slab-grid) job "$task" "$ranks" slab $((ranks / 2)) 2 "$format" ;;
    slab-columns) job "$task" "$ranks" slab 1 "$ranks" "$format" ;;
    ordered-columns) job "$task" "$ranks" slab 1 "$ranks" "$format" ordered ;;
    ifdk-rows) job "$task" "$ranks" ifdk "$ranks" 1 "$format" ;;
    ifdk-columns) job "$task" "$ranks" ifdk 1 "$ranks" "$format" ;;
  esac
done

python3 - "$ranks" tiff bigtiff <<'PYTHON'
import json, os, sys
ranks, formats = int(sys.argv[1]), sys.argv[2:]
stages = ("read", "filter", "gather", "back-project", "transfer", "reduce", "store")
kinds = ("one", "slab-rows", "slab-grid", "slab-columns", "ordered-columns", "ifdk-rows", "ifdk-columns")


def done_of(name):
    try:
        events = [json.loads(line) for line in open(name + "/events.jsonl")]
    except OSError:
        return None
    failed = [event["text"] for event in events if event["event"] == "failed"]
    if failed:
        print(f"{name} failed: {failed[-1]}")
    return next((event for event in reversed(events) if event["event"] == "done"), None)


def wall_of(name):
    return int(open(name + ".wall").read()) / 1000


def judge(what, value, holds):
    print(f"  {what}: {value}{'' if holds else '  DOES NOT HOLD'}")


for form in formats:
    jobs = {kind: done for kind in kinds if (done := done_of(f"{kind}-{form}"))}
    processes = {}
    for kind in ("alone", "single", "volume", "projection"):
        if not os.path.exists(f"{kind}-{form}.json"):
            continue
        result = json.load(open(f"{kind}-{form}.json"))
        result = result.get("result", result)
        processes[kind] = result["seconds"]
        busy = ", ".join(f"{stage['name']} {stage['seconds']:.2f}" for stage in result["stages"])
        faster = f", {processes['alone'] / result['seconds']:.2f} x one" if "alone" in processes else ""
        print(f"{form}, one process, {kind}: {result['seconds']:.2f} s{faster} ({busy}), "
              f"the command {wall_of(f'{kind}-{form}'):.2f} s")
        for note in json.load(open(f"{kind}-{form}.plan.json"))["notes"]:
            if "share the" in note:
                print(f"  {note}")
    alone = processes.get("single")
    print("seconds of the slowest rank, measured / predicted; whole: with opening and finishing")
    print(f"{form:14}" + "".join(f"{s:>17}" for s in stages) + f"{'all':>17}{'whole':>8}")
    for kind, done in jobs.items():
        measured, predicted = done["stages"], done.get("predicted", {})
        cells = [(measured.get(s, 0), predicted.get(s)) for s in stages + ("compute",)]
        print(f"{kind:14}" + "".join(f"{m:8.2f} /" + (f"{p:7.2f}" if p is not None else "      -")
                                     for m, p in cells) + f"{done['seconds']:8.2f}")
    if "slab-columns" in jobs and "ordered-columns" in jobs:
        part = jobs["ordered-columns"]["seconds"] / jobs["slab-columns"]["seconds"]
        judge("ordered, of the same grid", f"{part:.2f}", part <= 1.15)
    for kind, done in jobs.items():
        measured, predicted = done["stages"], done.get("predicted", {})
        events = [json.loads(line) for line in open(f"{kind}-{form}/events.jsonl")]
        opened = next(event["time"] for event in events if event["event"] == "start")
        opening = opened - (done["time"] - done["seconds"])
        rest = done["seconds"] - opening - measured["compute"]
        print(f"{kind}: opening {opening:.2f} s, all {measured['compute']:.2f} s, else {rest:.2f} s")
        if "one" in jobs and kind != "one":
            first = jobs["one"]["stages"]
            for s in ("filter", "back-project"):
                part = first[s] / (ranks * measured[s]) if measured[s] else 1
                judge(f"{s}, of linear", f"{part:.2f}", part >= 0.85)
        after = measured["reduce"] + measured["store"]
        # From the first kernel on, all time in which none runs counts as not hidden.
        open_s = max(0, measured["compute"] - measured["start"] - measured["back-project"])
        hidden = max(0, 1 - open_s / after) if after else 1
        print(f"  before the first kernel {measured['start']:.2f} s; from then on no kernel in {open_s:.2f} s")
        judge("reduce and store hidden", f"{100 * hidden:.0f} %", hidden >= 0.8)
        if alone and kind != "one":
            judge("whole, of one process", f"{done['seconds'] / alone:.2f}", done["seconds"] <= 1.3 * alone)
            ours, theirs = wall_of(f"{kind}-{form}"), wall_of(f"single-{form}")
            judge("command, of one process's", f"{ours:.2f} / {theirs:.2f} s = {ours / theirs:.2f}", ours <= 1.3 * theirs)
        for s in stages + ("compute",):
            if predicted.get(s) is not None and measured[s] > 0.05 * measured["compute"]:
                part = predicted[s] / measured[s]
                judge(f"{'all' if s == 'compute' else s} predicted", f"{part:.2f}", abs(part - 1) <= 0.15)
PYTHON
say "done"

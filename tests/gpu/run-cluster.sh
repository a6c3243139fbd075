#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Times a cone-beam job by several ranks, one a card, beside the same job by one process with the
# same cards, memory file system to memory file system. Prints the stages of each grid and mode as
# iFDK's Table 5 does, with what the model predicts from a benchmark of this machine.
#
#     tests/gpu/run-cluster.sh [BUILD] [RANKS] [SIZE] [VIEWS]
#
# BUILD: the build folder (default: build). Libraries that this computer lacks may lie in BUILD/lib.
# RANKS: ranks and cards (2). SIZE: columns, rows and slices (2048). VIEWS: 1024.
# Of the volumes up to 1024³ all voxels are compared, of larger ones with CHECK=1 only: that takes long.
# /dev/shm must hold the scan and two volumes, 4 (SIZE² VIEWS + 2 SIZE³) bytes: 86 GB for 2048³.
set -eu
build=$(realpath "${1:-build}")
ranks=${2:-2} size=${3:-2048} views=${4:-1024}
[ "$size" -le 1024 ] && CHECK=${CHECK:-1}
scratch=$(mktemp -d /dev/shm/tomodesk-cluster-XXXXXX)
trap 'rm -rf "$scratch"' EXIT
[ -d "$build/lib" ] && export LD_LIBRARY_PATH=$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export XDG_CACHE_HOME=$scratch/cache
cli=$build/app/tomodesk-cli worker=$build/app/tomodesk-worker
cards=$(seq -s, -f 'cuda:%g' 0 $((ranks - 1)))
cd "$scratch"
say () { echo "$(date +%T) $*"; }

say "benchmark"
mkdir measured
mpirun --bind-to none -n "$ranks" "$worker" benchmark "$scratch/measured" | tee benchmark.txt
sed -n 's/^machine //p' benchmark.txt > machine.txt
say "phantom"
"$cli" phantom ellipsoids --cone --logged --columns 256 --rows 256 --views 256 --output small.nxs
"$cli" phantom ellipsoids --cone --logged --columns "$size" --rows "$size" --views "$views" --output scan.nxs
"$cli" plan scan.nxs --format bigtiff --device "$cards" --json > plan.json
cat scan.nxs > /dev/null
say "one process"
"$cli" reconstruct small.nxs --output warm.tif --format bigtiff --device "$cards" > /dev/null  # builds kernels
"$cli" reconstruct scan.nxs --output single.tif --format bigtiff --device "$cards" --json > single.json
[ "${CHECK:-0}" = 1 ] || rm single.tif

# job NAME MODE ROWS COLUMNS: a job's folder, and its ranks.
job () {
  say "$1"
  mkdir "$1"
  cp machine.txt "$1"
  python3 - "$1" "$2" "$3" "$4" "$cards" <<'PYTHON'
import json, os, sys
name, mode, rows, columns, cards = sys.argv[1:]
recipe = json.load(open("plan.json"))["recipe"]
job = {"format": "tomodesk-job", "version": 1, "id": name,
       "scan": {"path": os.path.abspath("scan.nxs")}, "recipe": recipe,
       "output": {"path": os.path.abspath(name + ".tif"), "overwrite": True},
       "cluster": {"mode": mode, "rows": int(rows), "columns": int(columns), "ordered": False,
                   "device": cards, "memory": 0, "view_slice": -1}}
json.dump(job, open(name + "/job.json", "w"))
PYTHON
  mpirun --bind-to none -n "$ranks" "$worker" run "$scratch/$1"
  [ "${CHECK:-0}" = 0 ] || "$cli" compare single.tif "$1.tif" | head -3
  rm -f "$1.tif"
}

job slab-rows slab "$ranks" 1
job slab-columns slab 1 "$ranks"
job ifdk-rows ifdk "$ranks" 1
job ifdk-columns ifdk 1 "$ranks"

python3 - <<'PYTHON'
import json
single = json.load(open("single.json"))
alone = single.get("seconds") or single["result"]["seconds"]
print(f"one process: {alone:.2f} s")
stages = ("read", "filter", "gather", "back-project", "transfer", "reduce", "store")
print("measured / predicted, seconds of the slowest rank")
print(f"{'':14}" + "".join(f"{stage:>16}" for stage in stages) + f"{'all':>16}  of one process")
for name in ("slab-rows", "slab-columns", "ifdk-rows", "ifdk-columns"):
    events = [json.loads(line) for line in open(name + "/events.jsonl")]
    done = [event for event in events if event["event"] == "done"][-1]
    measured, predicted = dict(done["stages"]), done.get("predicted", {})
    cells = [f"{measured.get(stage, 0):7.2f} /{predicted.get(stage, 0):6.2f} " for stage in stages]
    cells.append(f"{measured['compute']:7.2f} /{predicted.get('compute', 0):6.2f} ")
    print(f"{name:14}" + "".join(f"{cell:>16}" for cell in cells) + f"  {done['seconds'] / alone:.2f}")
PYTHON
say "done"

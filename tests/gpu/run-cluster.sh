#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Times a cone-beam job by several ranks, one a card, beside the same job by one process with the
# same cards, memory file system to memory file system; and compares the volumes.
#
#     tests/gpu/run-cluster.sh [BUILD] [RANKS] [SIZE] [VIEWS]
#
# BUILD: the build folder (default: build). Libraries that this computer lacks may lie in BUILD/lib.
# RANKS: ranks and cards (2). SIZE: columns, rows and slices (2048). VIEWS: 1024.
# The last lines are the grids' events "done", with the seconds of each stage.
set -eu
build=$(realpath "${1:-build}")
ranks=${2:-2} size=${3:-2048} views=${4:-1024}
scratch=$(mktemp -d /dev/shm/tomodesk-cluster-XXXXXX)
trap 'rm -rf "$scratch"' EXIT
[ -d "$build/lib" ] && export LD_LIBRARY_PATH=$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export XDG_CACHE_HOME=$scratch/cache
cli=$build/app/tomodesk-cli worker=$build/app/tomodesk-worker
cards=$(seq -s, -f 'cuda:%g' 0 $((ranks - 1)))
cd "$scratch"

"$cli" phantom ellipsoids --cone --logged --columns "$size" --rows "$size" --views "$views" --output scan.nxs
cat scan.nxs > /dev/null
for round in 1 2; do  # the first builds kernels
  "$cli" reconstruct scan.nxs --output single.tif --format bigtiff --device "$cards" --overwrite
done
"$cli" plan scan.nxs --format bigtiff --device "$cards" --json > plan.json

# job NAME ROWS COLUMNS: a job's folder, and its ranks.
job () {
  mkdir "$1"
  python3 - "$1" "$2" "$3" "$cards" <<'PYTHON'
import json, os, sys
name, rows, columns, cards = sys.argv[1:]
recipe = json.load(open("plan.json"))["recipe"]
job = {"format": "tomodesk-job", "version": 1, "id": name,
       "scan": {"path": os.path.abspath("scan.nxs")}, "recipe": recipe,
       "output": {"path": os.path.abspath(name + ".tif"), "overwrite": True},
       "cluster": {"mode": "slab", "rows": int(rows), "columns": int(columns), "ordered": False,
                   "device": cards, "memory": 0, "view_slice": -1}}
json.dump(job, open(name + "/job.json", "w"))
PYTHON
  mpirun --bind-to none -n "$ranks" "$worker" run "$scratch/$1"
  "$cli" compare single.tif "$1.tif"
  rm -f "$1.tif"
}

for round in 1 2; do
  job "rows-$round" "$ranks" 1
  job "columns-$round" 1 "$ranks"
done
grep -h '"done"' */events.jsonl

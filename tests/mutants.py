#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts how many small faults the tests notice: mutants.py [--count N] [--seed N] [ROOM…].

The script copies the sources, changes one place of the copy at a time, builds what depends on it and runs
the tests of that file's room. A mutant that no test notices is printed with its place. At the end there is a
line for each room: how many mutants were noticed. docs/reliability.md says how to read it.

A mutant that does not compile, or that compiles to the same program, is replaced by another one.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import itertools
import json
import os
import queue
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

# Which tests cover a room. The first prefix that a file's path begins with decides.
ROOMS = (
    ("kernels/rings", ("rings", "rings-offsets")),
    ("kernels/prepare", ("prepare-scans", "prepare")),
    ("kernels/paganin", ("paganin",)),
    ("kernels/fourier", ("fourier",)),
    ("kernels/filter", ("row-filter",)),
    ("kernels/cone-rectify", ("cone-rectify", "cone")),
    ("kernels/cone", ("cone", "cone-cuts")),
    ("kernels/rays", ("rays",)),
    ("kernels", ("parallel-random", "pipeline", "backproject")),
    ("compute/prepare/rings/rings-shade", ("rings-shade", "rings", "prepare")),
    ("compute/prepare/rings", ("rings", "rings-offsets", "prepare")),
    ("compute/prepare/paganin", ("paganin", "prepare")),
    ("compute/prepare/step-paganin", ("paganin", "prepare")),
    ("compute/prepare", ("prepare-scans", "paganin", "prepare")),
    ("compute/parallel/fourier", ("fourier",)),
    ("compute/parallel/tun", ("tune",)),
    ("compute/parallel/host-backproject", ("parallel-random", "backproject-avx2", "backproject-plain")),
    ("compute/parallel/tria", ("tune", "backproject")),
    ("compute/parallel/family-", ("family-limits", "parallel-random", "tune", "pipeline", "backproject", "families")),
    ("compute/parallel", ("parallel-random", "tune", "pipeline", "backproject")),
    ("compute/cone/cone-host", ("cone", "cone-plain", "cone-cuts", "cone-random")),
    ("compute/cone/cone-rect", ("cone-rectify", "cone", "cone-random")),
    ("compute/cone/cone-device", ("family-limits", "cone", "cone-cuts", "cone-random")),
    ("compute/cone", ("cone", "cone-cuts", "cone-random")),
    ("compute/iterative", ("rays", "solver", "iterative", "iterative-group", "iterative-start", "iterative-fit")),
    ("compute/axis", ("axis-formulas", "axis-methods", "axis-overlap", "axis")),
    ("compute/recipe", ("recipe",)),
    ("compute/engine/advice", ("advice-limits", "advice")),
    ("compute/engine/iterative", ("iterative-fit", "iterative", "iterative-group", "iterative-start")),
    ("compute/engine/fdk", ("fdk-notes", "fdk-fit", "fdk", "cone-random", "cone-once", "plans", "fdk-faults",
                            "engine-jobs")),
    ("compute/engine/fbp", ("fbp-fit", "engine", "plans", "region", "engine-jobs", "fbp-faults", "previews")),
    ("compute/engine/preview", ("advice-limits", "coarse", "previews", "engine", "plans")),
    ("compute/engine", ("job-facts", "engine-keeps", "plan-notes", "engine", "plans", "region", "cone-random",
                        "engine-jobs", "cone-once", "fbp-faults", "previews", "fdk", "turn")),
    ("compute/lab", ("lab-report", "lab", "lab-cone", "cli-lab")),
    ("compute/device/device-probe", ("drivers",)),
    ("compute/device/nvrtc", ("cuda", "nvrtc-some")),
    ("compute/device/cuda", ("cuda", "device")),
    ("compute/device", ("device", "device-program", "device-fft", "drivers")),
    ("compute/stored-samples", ("stored-samples",)),
    ("compute/angles", ("angles",)),
    ("compute/filter", ("filter", "row-filter")),
    ("compute/row-", ("row-filter", "half-acquisition")),
    ("compute", ("filter", "angles", "row-filter", "half-acquisition")),
    ("dataset/geometry", ("scan", "geometries", "cone-readers", "cone-matrices")),
    ("dataset/phantom", ("phantom-scan", "phantom")),
    ("dataset/output", ("output", "volume")),
    ("dataset/hdf5", ("hdf5", "hdf5-files", "hdf5-absent", "hdf5-storage", "files-written", "volume")),
    ("dataset/json", ("json", "recipe", "scan")),
    ("dataset", ("scan", "scan-found", "scan-values", "scan-view", "tiff", "hdf5", "hdf5-files", "hdf5-absent",
                 "volume", "volume-cut", "phantom", "phantom-scan", "message", "output", "angles", "geometries")),
    ("cluster/remote", ("cluster-remote-local",)),
    ("cluster/shell", ("shell", "cluster-remote-local")),
    ("cluster/launch", ("cluster-remote-local",)),
    ("cluster/watch", ("worker",)),
    ("cluster/profile", ("profile", "cluster-remote-local", "job-file")),
    ("cluster/jobs-index", ("cluster-remote-local",)),
    ("cluster/batch", ("batch-row", "cli-batch", "window-batch")),
    ("cluster/slurm", ("cluster-remote-slurm",)),
    ("cluster/own", ("window-jobs", "window-batch")),
    ("cluster/model", ("cluster-model",)),
    ("cluster", ("grid", "cluster-model", "job-file", "worker")),
    ("ui/lab", ("window-lab",)),
    ("ui/axis", ("axis-answer", "window-centre", "window-use")),
    ("ui/quantity", ("figures",)),
    ("ui/file-row", ("rows", "window-use", "window-flow")),
    ("ui/number-row", ("rows", "window-steps")),
    ("ui/centre", ("window-centre", "window-use")),
    ("ui/job", ("window-jobs", "window-batch")),
    ("ui/batch", ("window-batch",)),
    ("ui/remote", ("window-cluster", "window-jobs")),
    ("ui/orbit", ("orbit", "window-geometry")),
    ("ui/geometry", ("window-geometry", "orbit")),
    ("ui/detector", ("window-geometry",)),
    ("ui/volume", ("volume-browser", "window-use", "window")),
    ("ui/slice-", ("picture", "volume-browser", "window-use", "window")),
    ("ui", ("latest", "coarse", "picture", "target", "window-steps", "window-use", "window-flow", "window-opening",
            "window", "window-centre", "window-access", "tuning")),
)
# Built from, not tested for what it computes.
LEFT_OUT = ("compute/bench/", "kernels/dialect/")

# (what to find, its replacements). Each match of each pattern is one possible mutant.
CHANGES = (
    (r"(?<=\s)<(?=\s)", ("<=",)),
    (r"(?<=\s)<=(?=\s)", ("<",)),
    (r"(?<=\s)>(?=\s)", (">=",)),
    (r"(?<=\s)>=(?=\s)", (">",)),
    (r"(?<=\s)==(?=\s)", ("!=",)),
    (r"(?<=\s)!=(?=\s)", ("==",)),
    (r"(?<=\s)&&(?=\s)", ("||",)),
    (r"(?<=\s)\|\|(?=\s)", ("&&",)),
    (r"(?<=[\w)\]] )\+(?= )", ("-",)),
    (r"(?<=[\w)\]] )-(?= )", ("+",)),
    (r"(?<=[\w)\]] )\*(?= )", ("/",)),
    (r"(?<=[\w)\]] )/(?= )", ("*",)),
    (r"(?<=\s)\+=(?=\s)", ("-=", "=")),
    (r"\bMIN(?= \()", ("MAX",)),
    (r"\bMAX(?= \()", ("MIN",)),
    (r"\bTRUE\b", ("FALSE",)),
    (r"\bFALSE\b", ("TRUE",)),
    (r"(?<=[ (\[])!(?=\w)", ("",)),
    (r"(?<![\w.])[0-9]+(?![\w.])", ("+1",)),
    (r"^ +(?!return|else|if|for|while|g_free|g_clear)[a-z_]\w* \([^;{}]*\);$", ("drop",)),
)

Mutant = collections.namedtuple("Mutant", "path line column old new")


def room_of(path):
    for prefix, tests in ROOMS:
        if path.startswith(prefix):
            return prefix, tests
    return None, ()


def code_of(text):
    """The text with comments, strings and preprocessor lines blanked, so that columns stay."""
    blank = lambda m: re.sub(r"[^\n]", " ", m.group())
    text = re.sub(r"/\*.*?\*/|//[^\n]*", blank, text, flags=re.S)
    text = re.sub(r'"(\\.|[^"\\\n])*"', blank, text)
    return re.sub(r"^ *#[^\n]*(\\\n[^\n]*)*", blank, text, flags=re.M)


def mutants_of(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as source:
        code = code_of(source.read())
    for number, line in enumerate(code.split("\n")):
        # Declarations at the margin and guards against a caller's mistakes are not worth a build.
        if not line.startswith(" ") or "g_return" in line:
            continue
        for pattern, news in CHANGES:
            for match in re.finditer(pattern, line):
                old = match.group()
                for new in news:
                    new = {"+1": str(int(old) + 1) if old.isdigit() else old, "drop": ";"}.get(new, new)
                    yield Mutant(path, number, match.start(), old, new)


def in_turns(mutants):
    """The folders take turns, so that a large one has no more mutants than a small one."""
    folders = collections.defaultdict(list)
    for mutant in mutants:
        folders["/".join(os.path.dirname(mutant.path).split("/")[:2])].append(mutant)
    rows = itertools.zip_longest(*(folders[name] for name in sorted(folders)))
    return [mutant for row in rows for mutant in row if mutant]


class Copy:
    """One copy of the sources with a build of its own."""

    def __init__(self, root, folder, files, ninja, rooms):
        self.root, self.folder, self.ninja = root, folder, ninja
        wanted = lambda room: not rooms or any(name.startswith(room) for name in rooms)
        enabled = lambda room: "enabled" if wanted(room) else "disabled"
        for path in files:
            to = os.path.join(folder, path)
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copy2(os.path.join(root, path), to)
        self.build = os.path.join(folder, "build")
        subprocess.run(["meson", "setup", self.build, folder, f"-Dgui={enabled('ui')}", f"-Dmpi={enabled('cluster')}",
                        "-Dwerror=false", "-Ddebug=false"], check=True, stdout=subprocess.DEVNULL)
        self.tests = {test["name"]: test for test in self.ask("--tests")
                      if "tomodesk:slow" not in test["suite"]}
        self.files = {target["id"]: target["filename"] for target in self.ask("--targets")}
        self.seconds, self.hashes = {}, {}

    def ask(self, what):
        return json.loads(subprocess.run(["meson", "introspect", what, self.build], check=True,
                                         capture_output=True, text=True).stdout)

    def programs(self, name):
        """What a test runs, itself and the command line."""
        return [path for program in self.tests[name]["depends"] for path in self.files[program]]

    def make(self, names):
        targets = {os.path.relpath(path, self.build) for name in names for path in self.programs(name)}
        if any("ui" in suite.split(":")[-1] for name in names for suite in self.tests[name]["suite"]):
            targets.add("data/gschemas.compiled")
        return subprocess.run([*self.ninja, "-C", self.build, *sorted(targets)],
                              stdout=subprocess.DEVNULL).returncode == 0

    def run(self, name):
        """TRUE: the test passes. Hanging is failing."""
        test = self.tests[name]
        limit = 4 * self.seconds.get(name, 300) + 20
        start = time.monotonic()
        try:
            result = subprocess.run(test["cmd"], env={**os.environ, **test["env"]}, cwd=self.build,
                                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=limit)
        except subprocess.TimeoutExpired:
            return False
        self.seconds.setdefault(name, time.monotonic() - start)
        return result.returncode in (0, 77) and not re.search(rb"^not ok", result.stdout, re.M)

    def program_hash(self, name):
        """Of what it runs, and of the library that it shares with the others: the program itself is in there."""
        whole = hashlib.sha256()
        for path in (*self.programs(name), os.path.join(self.build, "tests", "libtested.so")):
            with open(path, "rb") as part:
                whole.update(part.read())
        return whole.hexdigest()

    def prepare(self, names):
        """Builds the sources as they are, once; a test that fails now says nothing later."""
        names = [name for name in names if name in self.tests and name not in self.hashes]
        if names and not self.make(names):
            sys.exit("the sources do not build")
        for name in names:
            self.hashes[name] = self.program_hash(name)
            if not self.run(name):
                print(f"the test {name} fails without any change, and is left out", flush=True)
                del self.tests[name]

    def try_mutant(self, mutant, names):
        """"noticed by …", "not noticed", or None: it is no mutant."""
        self.prepare(names)
        names = sorted((name for name in names if name in self.tests), key=self.seconds.get)
        path = os.path.join(self.folder, mutant.path)
        with open(path, encoding="utf-8") as source:
            text = source.read()
        lines = text.split("\n")
        line = lines[mutant.line]
        lines[mutant.line] = line[:mutant.column] + mutant.new + line[mutant.column + len(mutant.old):]
        try:
            with open(path, "w", encoding="utf-8") as source:
                source.write("\n".join(lines))
            if not self.make(names) or all(self.program_hash(n) == self.hashes[n] for n in names):
                return None
            for name in names:
                if not self.run(name):
                    return f"noticed by {name}"
            return "not noticed"
        finally:
            with open(path, "w", encoding="utf-8") as source:
                source.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("rooms", nargs="*", help="folders or files, as compute/prepare (all)")
    parser.add_argument("--count", type=int, default=40, help="mutants that are tried (40)")
    parser.add_argument("--seed", type=int, default=1, help="another seed tries other places (1)")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2),
                        help="copies that work side by side (half the cores)")
    parser.add_argument("--ninja", default="ninja", help="how to build")
    options = parser.parse_args()
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    files = subprocess.run(["git", "ls-files"], cwd=root, check=True, capture_output=True,
                           text=True).stdout.split("\n")[:-1]
    chosen = [f for f in files if f.endswith((".c", ".h", ".cl")) and room_of(f)[0]
              and not f.startswith(LEFT_OUT)
              and (not options.rooms or f.startswith(tuple(options.rooms)))]
    mutants = [m for f in chosen for m in mutants_of(root, f)]
    random.Random(options.seed).shuffle(mutants)
    mutants = in_turns(mutants)
    if not mutants:
        sys.exit("there is no place to change in these rooms")
    score = collections.defaultdict(lambda: [0, 0])

    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copies = queue.SimpleQueue()
        for i in range(options.jobs):
            copy = Copy(root, os.path.join(folder, str(i)), files, shlex.split(options.ninja), options.rooms)
            copies.put(copy)

        def work(mutant):
            copy = copies.get()
            try:
                tests = [name for name in room_of(mutant.path)[1] if name in copy.tests]
                return mutant, copy.try_mutant(mutant, tests)
            finally:
                copies.put(copy)

        tried, rest = 0, iter(mutants)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            waiting = {pool.submit(work, m) for m, _ in zip(rest, range(options.jobs))}
            while waiting and tried < options.count:
                done, waiting = concurrent.futures.wait(
                    waiting, return_when=concurrent.futures.FIRST_COMPLETED)
                for mutant, verdict in (future.result() for future in done):
                    if verdict:
                        tried += 1
                        count = score[room_of(mutant.path)[0]]
                        count[0] += verdict != "not noticed"
                        count[1] += 1
                        print(f"{mutant.path}:{mutant.line + 1}: {mutant.old.strip()} → {mutant.new}: "
                              f"{verdict}", flush=True)
                    following = next(rest, None)
                    if following and tried + len(waiting) < options.count:
                        waiting.add(pool.submit(work, following))
    print()
    for room, (noticed, tried) in sorted(score.items()):
        print(f"{room:30} {noticed:4} of {tried:4} noticed, {100 * noticed / tried:.0f} %")


main()

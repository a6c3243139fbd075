#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts how many small faults the tests notice: mutants.py [--count N] [--seed N] [FOLDER…].

The script copies the sources. One copy is built with gcov, and runs every quick test once: so it is known which
tests run which lines. In the other copies, one for each core, one place is changed at a time, what depends on it
is built, and the quick tests that run its line are run. A mutant that no test notices is printed with its place.
At the end there is a line for each folder: how many mutants were noticed. docs/reliability.md says how to read it.

A mutant that does not compile as ./test does, or compiles to the same program, is replaced by another one. A test
begins each time with the kernels that it left without any change, and has failed when it fails twice.
"""
import argparse
import collections
import concurrent.futures
import contextlib
import filecmp
import hashlib
import itertools
import json
import math
import os
import pickle
import queue
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

FOLDERS = ("kernels/", "compute/", "dataset/", "cluster/", "ui/")
# Which tests run a kernel, which gcov does not see. The first prefix that a file's path begins with decides.
KERNELS = (
    ("kernels/rings", ("rings-shade", "rings", "rings-offsets")),
    ("kernels/prepare", ("prepare-scans", "prepare", "engine")),
    ("kernels/paganin", ("paganin",)),
    ("kernels/fourier", ("fourier",)),
    ("kernels/filter", ("row-filter",)),
    ("kernels/cone-rectify", ("cone-rectify", "cone")),
    ("kernels/cone", ("cone", "cone-cuts")),
    ("kernels/rays", ("rays",)),
    ("kernels/total-variation", ("solver", "iterative")),
    ("kernels/stored", ("stored-samples",)),
    ("kernels/raw-samples", ("stored-samples",)),
    ("kernels/rows-gather", ("fdk",)),
    ("kernels/backproject-cone", ("cone", "cone-cuts")),
    ("kernels/check", ("device", "device-program")),
    ("kernels/backproject-host", ("backproject", "backproject-pocl-avx2", "parallel-random", "pipeline", "families")),
    ("kernels", ("parallel-random", "pipeline", "backproject", "families")),
)
OF_KERNELS = {name for _, names in KERNELS for name in names}
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

# Tests whose programs are built before the others'.
AT_ONCE = 4
# Caches of what this computer was timed at.
TIMED = ("rates.ini", "tuned.json")

Mutant = collections.namedtuple("Mutant", "path line column old new")


def folder_of(path):
    return "/".join(os.path.dirname(path).split("/")[:2])


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
        folders[folder_of(mutant.path)].append(mutant)
    rows = itertools.zip_longest(*(folders[name] for name in sorted(folders)))
    return [mutant for row in rows for mutant in row if mutant]


class Copy:
    """One copy of the sources with a build of its own."""

    def __init__(self, root, folder, files, ninja, options=("-Db_pch=false",)):  # so that ccache helps, if it is there
        self.folder, self.ninja = folder, ninja
        for path in files:
            to = os.path.join(folder, path)
            os.makedirs(os.path.dirname(to), exist_ok=True)
            if not os.path.exists(to) or not filecmp.cmp(os.path.join(root, path), to, shallow=False):
                shutil.copy(os.path.join(root, path), to)
        self.build = os.path.join(folder, "build")
        if not os.path.exists(os.path.join(self.build, "build.ninja")):
            subprocess.run(["meson", "setup", self.build, folder, "-Dgui=enabled", "-Dmpi=enabled", "-Dwerror=true",
                            "-Ddebug=false", *options], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([*ninja, "-C", self.build, "build.ninja"], check=True, stdout=subprocess.DEVNULL)
        self.tests = {test["name"]: test for test in self.ask("--tests")
                      if test["depends"] and ("tomodesk:slow" not in test["suite"] or test["name"] in OF_KERNELS)}
        self.files = {target["id"]: target["filename"] for target in self.ask("--targets")}

    def ask(self, what):
        return json.loads(subprocess.run(["meson", "introspect", what, self.build], check=True,
                                         capture_output=True, text=True).stdout)

    def programs(self, name):
        """What a test runs, itself and the command line, and the library that it shares with the others."""
        programs = [path for program in self.tests[name]["depends"] for path in self.files[program]]
        return [*programs, os.path.join(self.build, "tests", "libtested.so")]

    def make(self, names):
        """What ninja says if it fails."""
        targets = {os.path.relpath(path, self.build) for name in names for path in self.programs(name)}
        made = subprocess.run([*self.ninja, "-C", self.build, "data/gschemas.compiled", *sorted(targets)],
                              capture_output=True, text=True)
        return made.stdout + made.stderr if made.returncode else None

    def make_unchanged(self, names):
        problem = self.make(names)
        if problem:
            sys.exit(f"the sources do not build:\n{problem[-4000:]}")

    def home(self, name):
        return os.path.join(self.folder, "home", name)

    def run(self, name, limit, kept=None, **env):
        """True: the test passes; False: it fails; None: it hangs. It begins with the caches in the folder kept."""
        test, home = self.tests[name], self.home(name)
        shutil.rmtree(home, ignore_errors=True)
        if kept and os.path.exists(kept):  # kernels and plans: what is timed is timed anew
            shutil.copytree(kept, home, ignore=lambda folder, files: [f for f in files if f in TIMED or not (
                os.path.isdir(os.path.join(folder, f)) or os.path.isfile(os.path.join(folder, f)))])
        env["POCL_CACHE_DIR"] = os.path.join(self.build, "pocl-cache")  # under hashes of what it was made from
        for variable, folder in (("HOME", ""), ("XDG_CACHE_HOME", "cache"), ("XDG_CONFIG_HOME", "config"),
                                 ("XDG_DATA_HOME", "share")):
            env[variable] = os.path.join(home, folder)
            os.makedirs(env[variable], exist_ok=True)
        with subprocess.Popen(test["cmd"], env={**os.environ, **test["env"], **env}, cwd=self.build,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              start_new_session=True) as process:
            try:
                output, _ = process.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                return None
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        return process.returncode in (0, 77) and not re.search(rb"^not ok", output, re.M)

    def file_hashes(self, names):
        paths = {path for name in names for path in self.programs(name)}
        return {path: hashlib.sha256(open(path, "rb").read()).hexdigest() for path in paths}


class Tried(Copy):
    """The copy in which one place at a time is changed."""

    def __init__(self, root, folder, files, ninja, lines):
        super().__init__(root, folder, files, ninja)
        self.lines = lines
        self.make_unchanged(self.tests)
        self.hashes = self.file_hashes(self.tests)
        self.passing = {}

    def fails(self, name):
        """How a test fails, if it does. One that a busy computer disturbed passes the second time."""
        limit, kept = 4 * self.lines.seconds[name] + 20, self.lines.copy.home(name)
        first = self.run(name, limit, kept)
        if first is None:
            return "which hangs"
        return None if first or self.run(name, limit, kept) else "which fails"

    def passes_unchanged(self, name):
        """A test that fails without any change says nothing. It is asked when it notices something first."""
        if name not in self.passing:
            self.make_unchanged([name])
            self.passing[name] = not self.fails(name)
            if not self.passing[name]:
                print(f"the test {name} fails without any change, and is left out", flush=True)
        return self.passing[name]

    def try_mutant(self, mutant, names, built):
        """"noticed by …", "not noticed …", or None: it is no mutant."""
        names = sorted((name for name in names if self.passing.get(name, True)), key=self.lines.seconds.get)
        path = os.path.join(self.folder, mutant.path)
        with open(path, encoding="utf-8") as source:
            text = source.read()
        lines = text.split("\n")
        line = lines[mutant.line]
        lines[mutant.line] = line[:mutant.column] + mutant.new + line[mutant.column + len(mutant.old):]
        try:
            with open(path, "w", encoding="utf-8") as source:
                source.write("\n".join(lines))
            name, how = self.noticed_by(names, built)
        finally:
            with open(path, "w", encoding="utf-8") as source:
                source.write(text)
        if not name:
            return how
        return f"noticed by {name}, {how}" if self.passes_unchanged(name) else self.try_mutant(mutant, names, built)

    def noticed_by(self, names, built):
        """The test that notices what was changed, and how; or None and what is said of it."""
        changed = False
        # Most are noticed by the first tests: the other programs need not be linked then.
        for some in [names[:AT_ONCE], names[AT_ONCE:]] if names else [built]:
            if self.make(some):
                return None, None
            if all(self.hashes[path] == value for path, value in self.file_hashes(some).items()):
                continue
            changed = True
            for name in some if names else ():
                how = self.fails(name)
                if how:
                    return name, how
        if not changed:
            return None, None
        return None, f"not noticed by {', '.join(names)}" if names else "not noticed, for no test runs it"


class Lines:
    """Which lines each test runs, as gcov saw it."""

    def __init__(self, root, folder, files, ninja, known_stays):
        # Programs that end by _exit () tell what they ran, too.
        os.makedirs(folder, exist_ok=True)
        dump = os.path.join(folder, "dump.h")
        if not os.path.exists(dump):  # all that is compiled depends on it
            with open(dump, "w", encoding="utf-8") as header:
                header.write('#pragma once\n'  # a precompiled header holds it, too
                             'void __gcov_dump (void);\n'
                             'void covered_end (int) __asm__ ("_exit") __attribute__ ((noreturn));\n'
                             'static inline __attribute__ ((noreturn, unused)) void covered_exit (int status)\n'
                             '{ __gcov_dump (); covered_end (status); }\n'
                             '#define _exit covered_exit\n')
        self.copy = Copy(root, folder, files, ninja, ("-Doptimization=1", "-Db_coverage=true",
                                                      f"-Dc_args=-include {dump}",
                                                      "-Dwerror=false"))
        self.known = collections.defaultdict(set)
        self.ran, self.all, self.seconds = {}, {}, {}
        tests = sorted(self.copy.tests)
        self.stay = {name for name in tests if known_stays and os.path.exists(self.kept(name))}
        self.copy.make_unchanged(set(tests) - self.stay)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for name, told in zip(tests, pool.map(self.run_or_kept, tests)):
                self.take(name, *told)

    def kept(self, name):
        return os.path.join(self.copy.folder, "told", name)

    def run_or_kept(self, name):
        """A test whose programs are the same need not be run again, nor one that stays as it was."""
        programs = None if name in self.stay else (sorted(self.copy.file_hashes([name]).items()),
                                                   self.copy.tests[name]["cmd"])
        with contextlib.suppress(FileNotFoundError), open(self.kept(name), "rb") as stored:
            before, told = pickle.load(stored)
            if before == programs or name in self.stay:
                return told
        told = self.run(name)
        os.makedirs(os.path.dirname(self.kept(name)), exist_ok=True)
        with open(self.kept(name), "wb") as stored:
            pickle.dump((programs, told), stored)
        return told

    def run(self, name):
        """Runs a test, and returns its seconds and what gcov says of each file: its lines, and those that ran."""
        data = os.path.join(self.copy.folder, "data", name)
        start = time.monotonic()
        self.copy.run(name, 600, GCOV_PREFIX=data, GCOV_PREFIX_STRIP=str(self.copy.build.count("/")))
        seconds = time.monotonic() - start
        counts = []
        for folder, _, files in os.walk(data):
            for file in (f[:-5] for f in files if f.endswith(".gcda")):
                notes = os.path.join(self.copy.build, os.path.relpath(folder, data), file + ".gcno")
                os.symlink(notes, os.path.join(folder, file + ".gcno"))
                counts.append(os.path.join(folder, file + ".gcda"))
        told = b""
        if counts:
            told = subprocess.run(["gcov", "--json-format", "--stdout", *counts], cwd=self.copy.build, check=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        shutil.rmtree(data, ignore_errors=True)
        known, ran = collections.defaultdict(set), collections.defaultdict(set)
        for part in told.splitlines():
            for file in json.loads(part)["files"]:
                path = os.path.relpath(os.path.join(self.copy.build, file["file"]), self.copy.folder)
                known[path].update(line["line_number"] for line in file["lines"])
                ran[path].update(line["line_number"] for line in file["lines"] if line["count"])
        return seconds, known, ran

    def take(self, name, seconds, known, ran):
        self.seconds[name], self.ran[name], self.all[name] = seconds, ran, sum(map(len, ran.values()))
        for path, lines in known.items():
            self.known[path] |= lines
        print(f"{name}: {seconds:.1f} s, {self.all[name]} lines", flush=True)

    def tests_of(self, mutant, seconds):
        """Those that run its line: those first that run little else, and are short. And one of its file, to build."""
        for prefix, tests in KERNELS:
            if mutant.path.startswith(prefix) and not mutant.path.endswith(".c"):
                return tests, tests
        file, line = mutant.path, mutant.line + 1
        tests = [name for name in self.ran if self.ran[name].get(file)]
        tests.sort(key=lambda name: -len(self.ran[name][file]) / self.all[name] / math.sqrt(self.seconds[name]))
        of_file = tests[:1] or ["cli-phantom"]
        # Tables and the further lines of a statement are no lines to gcov.
        if line in self.known[file]:
            tests = [name for name in tests if line in self.ran[name][file]]
        sums = itertools.accumulate(self.seconds[name] for name in tests)
        return [name for name, total in zip(tests, sums) if name == tests[0] or total <= seconds], of_file


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folders", nargs="*", help="folders or files, as compute/prepare or app (all but app and render)")
    parser.add_argument("--count", type=int, default=40, help="mutants that are tried (40)")
    parser.add_argument("--seed", type=int, default=1, help="another seed tries other places (1)")
    parser.add_argument("--seconds", type=float, default=300,
                        help="of a mutant's tests, as many run as take so long with gcov (300)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1,
                        help="copies that work side by side (all cores)")
    parser.add_argument("--ninja", default="ninja", help="how to build")
    parser.add_argument("--keep", help="a folder for the copies, from which a series goes on later")
    parser.add_argument("--known", action="store_true",
                        help="only tests that are new run with gcov: the others run the lines that they ran before")
    parser.add_argument("--skip", type=int, default=0, help="places that an earlier run has tried (0)")
    options = parser.parse_args()
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    ninja = shlex.split(options.ninja)
    files = subprocess.run(["git", "ls-files"], cwd=root, check=True, capture_output=True,
                           text=True).stdout.split("\n")[:-1]
    chosen = [f for f in files if f.endswith((".c", ".h", ".cl"))
              and f.startswith(tuple(options.folders) or FOLDERS) and not f.startswith(LEFT_OUT)]
    mutants = [m for f in chosen for m in mutants_of(root, f)]
    random.Random(options.seed).shuffle(mutants)
    mutants = list(enumerate(in_turns(mutants)))[options.skip:]
    if not mutants:
        sys.exit("there is no place to change in these folders")
    score = collections.defaultdict(lambda: [0, 0])

    with contextlib.ExitStack() as stack:
        folder = os.path.abspath(options.keep or stack.enter_context(tempfile.TemporaryDirectory(prefix="mutants-")))
        shared = os.path.join(os.path.dirname(root), "shared")  # measured scans, which tests look for beside a copy
        os.makedirs(folder, exist_ok=True)
        if os.path.exists(shared) and not os.path.lexists(os.path.join(folder, "shared")):
            os.symlink(shared, os.path.join(folder, "shared"))
        ran = Lines(root, os.path.join(folder, "lines"), files, ninja, options.known)
        copies = queue.SimpleQueue()
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for copy in pool.map(lambda i: Tried(root, os.path.join(folder, str(i)), files, ninja, ran),
                                 range(options.jobs)):
                copies.put(copy)

        def work(place):
            copy = copies.get()
            try:
                return place, copy.try_mutant(place[1], *ran.tests_of(place[1], options.seconds))
            finally:
                copies.put(copy)

        tried, rest = 0, iter(mutants)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            waiting = {pool.submit(work, place) for place, _ in zip(rest, range(options.jobs))}
            while waiting and tried < options.count:
                done, waiting = concurrent.futures.wait(
                    waiting, return_when=concurrent.futures.FIRST_COMPLETED)
                for (number, mutant), verdict in (future.result() for future in done):
                    if verdict:
                        tried += 1
                        count = score[folder_of(mutant.path)]
                        count[0] += verdict.startswith("noticed")
                        count[1] += 1
                        print(f"{number} {mutant.path}:{mutant.line + 1}:{mutant.column}: {mutant.old.strip()} → "
                              f"{mutant.new}: {verdict}", flush=True)
                    following = next(rest, None)
                    if following and tried + len(waiting) < options.count:
                        waiting.add(pool.submit(work, following))
    print()
    for room, (noticed, tried) in sorted(score.items()):
        print(f"{room:30} {noticed:4} of {tried:4} noticed, {100 * noticed / tried:.0f} %")


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts how many small faults the tests notice: mutants.py [--count N] [--seed N] [FOLDER…].

The script copies the sources twice. One copy is built with gcov, and runs every quick test once: so it is
known which tests run which lines. In the other copy one place is changed at a time, what depends on it is
built, and the quick tests that run its line are run. A mutant that no test notices is printed with its place.
At the end there is a line for each folder: how many mutants were noticed. docs/reliability.md says how to
read it.

A mutant that does not compile as ./test does, or compiles to the same program, is replaced by another one. A test
begins each time with the caches that it left without any change, and has failed when it fails twice.
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
import threading
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
    ("kernels/stored", ("stored-samples",)),
    ("kernels/check", ("device", "device-program")),
    ("kernels", ("parallel-random", "pipeline", "backproject", "families")),
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

# Tests whose programs are built before the others'.
AT_ONCE = 4

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

    def __init__(self, root, folder, files, ninja, options=(), unchanged=None):
        self.folder, self.ninja, self.unchanged = folder, ninja, unchanged
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
                      if test["depends"] and "tomodesk:slow" not in test["suite"]}
        self.files = {target["id"]: target["filename"] for target in self.ask("--targets")}
        self.hashes = {}

    def ask(self, what):
        return json.loads(subprocess.run(["meson", "introspect", what, self.build], check=True,
                                         capture_output=True, text=True).stdout)

    def programs(self, name):
        """What a test runs, itself and the command line, and the library that it shares with the others."""
        programs = [path for program in self.tests[name]["depends"] for path in self.files[program]]
        return [*programs, os.path.join(self.build, "tests", "libtested.so")]

    def make(self, names):
        targets = {os.path.relpath(path, self.build) for name in names for path in self.programs(name)}
        return subprocess.run([*self.ninja, "-C", self.build, "data/gschemas.compiled", *sorted(targets)],
                              stdout=subprocess.DEVNULL).returncode == 0

    def home(self, name):
        return os.path.join(self.folder, "home", name)

    def run(self, name, limit, **env):
        """True: the test passes; False: it fails; None: it hangs. It begins with the caches kept for it."""
        test, home = self.tests[name], self.home(name)
        shutil.rmtree(home, ignore_errors=True)
        if self.unchanged and os.path.exists(self.unchanged.home(name)):
            shutil.copytree(self.unchanged.home(name), home)
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

    def prepare(self, names):
        """Builds the sources as they are, once, and sees that the tests pass."""
        names = [name for name in names if name not in self.unchanged.seconds
                 or not all(path in self.hashes for path in self.programs(name))]
        if names and not self.make(names):
            sys.exit("the sources do not build")
        self.hashes.update(self.file_hashes(names))
        for name in names:
            self.unchanged.see(self, name)

    def fails(self, name):
        """A test that a busy computer disturbed passes the second time."""
        limit = 4 * self.unchanged.seconds[name] + 20
        first = self.run(name, limit)
        return first is None or (not first and not self.run(name, limit))

    def try_mutant(self, mutant, names, built):
        """"noticed by …", "not noticed …", or None: it is no mutant."""
        self.prepare(names or built)
        names = sorted((name for name in names if self.unchanged.seconds[name]), key=self.unchanged.seconds.get)
        path = os.path.join(self.folder, mutant.path)
        with open(path, encoding="utf-8") as source:
            text = source.read()
        lines = text.split("\n")
        line = lines[mutant.line]
        lines[mutant.line] = line[:mutant.column] + mutant.new + line[mutant.column + len(mutant.old):]
        changed = False
        try:
            with open(path, "w", encoding="utf-8") as source:
                source.write("\n".join(lines))
            # Most are noticed by the first tests: the other programs need not be linked then.
            for some in [names[:AT_ONCE], names[AT_ONCE:]] if names else [built]:
                if not self.make(some):
                    return None
                if all(self.hashes[path] == value for path, value in self.file_hashes(some).items()):
                    continue
                changed = True
                for name in some if names else ():
                    if self.fails(name):
                        return f"noticed by {name}"
            if not changed:
                return None
            return f"not noticed by {', '.join(names)}" if names else "not noticed, for no test runs it"
        finally:
            with open(path, "w", encoding="utf-8") as source:
                source.write(text)


class Unchanged:
    """How long each test takes without any change, and the caches that it leaves: the same for all copies."""

    def __init__(self, folder):
        self.folder, self.seconds = folder, {}
        self.locks = collections.defaultdict(threading.Lock)

    def home(self, name):
        return os.path.join(self.folder, name)

    def see(self, copy, name):
        """A test that fails now says nothing later: it has no time then."""
        with self.locks[name]:
            if name in self.seconds:
                return
            shutil.rmtree(self.home(name), ignore_errors=True)
            start = time.monotonic()
            passes = copy.run(name, 300)
            self.seconds[name] = time.monotonic() - start if passes else None
            if passes:
                shutil.copytree(copy.home(name), self.home(name), dirs_exist_ok=True,
                                ignore=lambda folder, files: [f for f in files if not os.path.isdir(
                                    os.path.join(folder, f)) and not os.path.isfile(os.path.join(folder, f))])
            else:
                print(f"the test {name} fails without any change, and is left out", flush=True)


class Lines:
    """Which lines each test runs, as gcov saw it."""

    def __init__(self, root, folder, files, ninja, known_stays):
        # Programs that end by _exit () tell what they ran, too.
        os.makedirs(folder, exist_ok=True)
        dump = os.path.join(folder, "dump.h")
        if not os.path.exists(dump):  # all that is compiled depends on it
            with open(dump, "w", encoding="utf-8") as header:
                header.write('void __gcov_dump (void);\n'
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
        if not self.copy.make(set(tests) - self.stay):
            sys.exit("the sources do not build")
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
        self.copy.run(name, 120, GCOV_PREFIX=data, GCOV_PREFIX_STRIP=str(self.copy.build.count("/")))
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
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2),
                        help="copies that work side by side (half the cores)")
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
        copies, unchanged = queue.SimpleQueue(), Unchanged(os.path.join(folder, "unchanged"))
        for i in range(options.jobs):
            copies.put(Copy(root, os.path.join(folder, str(i)), files, ninja, unchanged=unchanged))

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

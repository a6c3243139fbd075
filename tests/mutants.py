#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts how many small faults the tests notice: mutants.py [--count N] [--seed N] [FOLDER…].

The script copies the sources. One copy is built with gcov, and runs every quick test once: so it is known which
tests run which lines. In the other copies, one for each core, one place is changed at a time, what depends on it
is built, and the quick tests that run its line are run: those first that run little else. What these do not notice
is tried by the dearer ones, and by those that ./test runs under the sanitizers, in further copies. A mutant that no
test notices is printed with its place. At the end there is a line for each folder: how many mutants were noticed.
docs/reliability.md says how to read it.

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
import multiprocessing
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
# Tests of one place that run side by side where the first ones have noticed nothing.
SIDE_BY_SIDE = 6
# In which a test that is asked to end does so.
END_S = 10
# Those that take longest with gcov begin first.
LONGEST = ("worker", "cli-out-of-core", "iterative-start", "ctsimu", "cone-scans", "error-bounds", "sweep",
           "cluster-remote-local", "axis-turns", "cone", "cone-rectify", "axis-methods", "device-errors", "rings-scans")
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


def sanitizers_of(root):
    """How ./test builds under the sanitizers, and the variables that its tests get there."""
    with open(os.path.join(root, "test"), encoding="utf-8") as script:
        text = script.read().replace("\\\n", " ")
    return (shlex.split(re.search(r"configure build-asan (.*)", text)[1]),
            dict(re.findall(r"^export (\w+SAN_OPTIONS)=(.*)$", text, re.M)))


class TimeIsUp(Exception):
    """The series ends before this is done."""


class Clock:
    end = math.inf

    def left(self, limit=math.inf):
        """Seconds that may still be waited, None if there is no limit."""
        left = min(limit, self.end - time.monotonic())
        if left <= 0:
            raise TimeIsUp
        return None if left == math.inf else left

    def is_up(self):
        return time.monotonic() >= self.end


CLOCK = Clock()


class Slots:
    """Where tests run: as many as there are processors, each on two of them, as on a small computer."""

    def __init__(self):
        cores = sorted(os.sched_getaffinity(0))
        self.free = queue.SimpleQueue()
        for number, core, beside in zip(itertools.count(), cores, cores[1:] + cores[:1]):
            self.free.put((number, {core, beside}))

    @contextlib.contextmanager
    def one(self):
        slot = self.free.get()
        try:
            yield slot
        finally:
            self.free.put(slot)

    def start(self, slot, command, **how):
        """A child inherits its processors from the thread that starts it. Displays have numbers of their own: xvfb-run
        finds none where many look for one at once."""
        number, pair = slot
        if os.path.basename(command[0]) == "xvfb-run":
            command = [command[0], "-n", str(100 + 50 * number), *command[1:]]
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, pair)
        try:
            return subprocess.Popen(command, **how)
        finally:
            os.sched_setaffinity(0, before)


SLOTS = Slots()
# Tests whose figures (tests/pins) are others on this computer: these are not compared then.
UNPINNED = set()


class Copy:
    """One copy of the sources with a build of its own."""
    options, needed, env = ("-Dgui=enabled",), ("data/gschemas.compiled",), {}

    def __init__(self, root, folder, files, ninja):
        self.folder, self.ninja = folder, ninja
        for path in files:
            to = os.path.join(folder, path)
            os.makedirs(os.path.dirname(to), exist_ok=True)
            if not os.path.exists(to) or not filecmp.cmp(os.path.join(root, path), to, shallow=False):
                shutil.copy(os.path.join(root, path), to)
        self.build = os.path.join(folder, "build")
        if not os.path.exists(os.path.join(self.build, "build.ninja")):
            # Without a precompiled header ccache helps, if it is there.
            subprocess.run(["meson", "setup", self.build, folder, "-Dmpi=enabled", "-Dwerror=true", "-Ddebug=false",
                            "-Db_pch=false", *self.options], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([*ninja, "-C", self.build, "build.ninja"], check=True, stdout=subprocess.DEVNULL)
        self.tests = {test["name"]: test for test in self.ask("--tests") if test["depends"] and self.tries(test)}
        self.files = {target["id"]: target["filename"] for target in self.ask("--targets")}
        self.said = {}  # by tests that failed

    def tries(self, test):
        return "tomodesk:slow" not in test["suite"] or test["name"] in OF_KERNELS

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
        try:
            made = subprocess.run([*self.ninja, "-C", self.build, *self.needed, *sorted(targets)],
                                  capture_output=True, text=True, timeout=CLOCK.left())
        except subprocess.TimeoutExpired:
            raise TimeIsUp from None
        return made.stdout + made.stderr if made.returncode else None

    def make_unchanged(self, names):
        problem = self.make(names)
        if problem:
            sys.exit(f"the sources do not build:\n{problem[-4000:]}")

    def home(self, name):
        return os.path.join(self.folder, "home", name)

    def run(self, name, limit, kept=None, **env):
        """True: the test passes; False: it fails; None: it hangs. It begins with the caches in the folder kept."""
        with SLOTS.one() as slot:
            return self.run_on(slot, name, limit, kept, env)

    def run_on(self, slot, name, limit, kept, env):
        test, home = self.tests[name], self.home(name)
        shutil.rmtree(home, ignore_errors=True)
        if kept and os.path.exists(kept):  # kernels and plans: what is timed is timed anew
            shutil.copytree(kept, home, ignore=lambda folder, files: [f for f in files if f in TIMED or not (
                os.path.isdir(os.path.join(folder, f)) or os.path.isfile(os.path.join(folder, f)))])
        # As meson test has it: what nobody has set is not 0. And figures are compared beside a card, which is hidden.
        env.update({"MALLOC_PERTURB_": "165", "CUDA_VISIBLE_DEVICES": "-1", "TOMODESK_PINS_HERE": "1"})
        if name in UNPINNED:
            env["TOMODESK_PINS"] = "/nowhere"
        # All copies share it: a kernel lies there under a hash of what it was made from.
        env["POCL_CACHE_DIR"] = os.path.join(os.path.dirname(self.folder), "lines", "build", "pocl-cache")
        for variable, folder in (("HOME", ""), ("XDG_CACHE_HOME", "cache"), ("XDG_CONFIG_HOME", "config"),
                                 ("XDG_DATA_HOME", "share")):
            env[variable] = os.path.join(home, folder)
            os.makedirs(env[variable], exist_ok=True)
        with SLOTS.start(slot, test["cmd"], env={**os.environ, **test["env"], **self.env, **env}, cwd=self.build,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         start_new_session=True) as process:
            try:
                output, _ = process.communicate(timeout=CLOCK.left(limit))
            except subprocess.TimeoutExpired:
                self.ask_to_end(process)
                CLOCK.left()
                return None
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        wrong = re.search(rb"^(not ok|Bail out).*", output, re.M)
        if process.returncode in (0, 77) and not wrong:
            return True
        self.said[name] = wrong.group().decode(errors="replace") if wrong else f"exit {process.returncode}"
        return False

    @staticmethod
    def ask_to_end(process):
        """Tests of remote jobs end what they started in other groups."""
        with contextlib.suppress(subprocess.TimeoutExpired, ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
            process.communicate(timeout=END_S)

    def file_hashes(self, names):
        paths = {path for name in names for path in self.programs(name)}
        return {path: hashlib.sha256(open(path, "rb").read()).hexdigest() for path in paths}


class Tried(Copy):
    """The copy in which one place at a time is changed."""
    passing, build_name, slower = {}, "", 1

    def __init__(self, root, folder, files, ninja):
        super().__init__(root, folder, files, ninja)
        self.lines = None
        self.make_unchanged(self.tests)
        self.hashes = self.file_hashes(self.tests)

    def fails(self, name):
        """How a test fails, if it does. One that a busy computer disturbed passes the second time."""
        limit, kept = self.slower * (3 * self.lines.seconds[name] + 20), self.lines.copy.home(name)
        first = self.run(name, limit, kept)
        if first is None:
            return "which hangs"
        return None if first or self.run(name, limit, kept) else "which fails"

    def passes_unchanged(self, name):
        """A test that fails without any change says nothing. It is asked when it notices something first."""
        if name not in self.passing:
            self.make_unchanged([name])
            how = self.fails(name)
            if how and name not in UNPINNED:
                UNPINNED.add(name)
                how = self.fails(name)
                if not how:
                    print(f"the figures of {name} are others here, and are not compared", flush=True)
            if how:
                print(f"the test {name}{self.build_name} fails without any change, and is left out", flush=True)
            self.passing[name] = not how
        return self.passing[name]

    def try_mutant(self, mutant, groups, built):
        """"noticed by …", "not noticed …", or None: it is no mutant. Of the groups the first runs one by one."""
        groups = [sorted((name for name in names if self.passing.get(name, True)), key=self.lines.seconds.get)
                  for names in groups]
        path = os.path.join(self.folder, mutant.path)
        with open(path, encoding="utf-8") as source:
            text = source.read()
        lines = text.split("\n")
        line = lines[mutant.line]
        lines[mutant.line] = line[:mutant.column] + mutant.new + line[mutant.column + len(mutant.old):]
        unpinned = set(UNPINNED)
        try:
            with open(path, "w", encoding="utf-8") as source:
                source.write("\n".join(lines))
            name, how = self.noticed_by(groups, built)
        finally:
            with open(path, "w", encoding="utf-8") as source:
                source.write(text)
        if not name:
            return how
        if self.passes_unchanged(name) and (name in unpinned) == (name in UNPINNED):
            return f"noticed by {name}{self.build_name}, {how}"
        return self.try_mutant(mutant, groups, built)

    def noticed_by(self, groups, built):
        """The test that notices what was changed, and how; or None and what is said of it."""
        changed = False
        # Most are noticed by the first tests: the other programs need not be linked then.
        groups = [[group, 1] for group in (groups[0][:AT_ONCE], groups[0][AT_ONCE:]) if group] \
            + [[group, SIDE_BY_SIDE] for group in groups[1:] if group]
        for some, at_once in groups or [[built, 1]]:
            if self.make(some):
                return None, None
            if all(self.hashes[path] == value for path, value in self.file_hashes(some).items()):
                continue
            changed = True
            name, how = self.first_to_fail(some, at_once) if groups else (None, None)
            if name:
                return name, how
        if not changed:
            return None, None
        names = [name for some, _ in groups for name in some]
        return None, f"not noticed by {', '.join(names)}" if names else "not noticed, for no test runs it"

    def first_to_fail(self, names, at_once):
        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            for name, how in zip(names, pool.map(self.fails, names)):
                if how:
                    pool.shutdown(wait=False, cancel_futures=True)
                    return name, how
        return None, None


class Sanitized(Tried):
    """A copy that is built as ./test builds it for the sanitizers, with the tests that it runs there."""
    passing, build_name, slower, needed = {}, " under the sanitizers", 4, ()

    def __init__(self, root, *how):
        self.options, env = sanitizers_of(root)
        self.env = {name: value.replace("$PWD", root) for name, value in env.items()}
        super().__init__(root, *how)

    def tries(self, test):
        suites = {suite.split(":")[-1] for suite in test["suite"]}
        return suites & {"unit", "faults"} and not suites & {"once", "slow"}


def lines_in(folder, build, data):
    """What gcov says of each file of a copy: its lines, and those that ran. The data are those of one test."""
    counts = []
    for below, _, files in os.walk(data):
        for file in (f[:-5] for f in files if f.endswith(".gcda")):
            notes = os.path.join(build, os.path.relpath(below, data), file + ".gcno")
            os.symlink(notes, os.path.join(below, file + ".gcno"))
            counts.append(os.path.join(below, file + ".gcda"))
    told = b""
    if counts:
        # A program that was killed may have left half of its counts, of which gcov says what it can.
        told = subprocess.run(["gcov", "--json-format", "--stdout", *counts], cwd=build, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    known, ran = collections.defaultdict(set), collections.defaultdict(set)
    for part in told.splitlines():
        for file in json.loads(part)["files"] if part.endswith(b"}") else ():
            path = os.path.relpath(os.path.join(build, file["file"]), folder)
            known[path].update(line["line_number"] for line in file["lines"])
            ran[path].update(line["line_number"] for line in file["lines"] if line["count"])
    return known, ran


class Counted(Copy):
    """The copy that counts which lines run."""

    def __init__(self, root, folder, *how):
        self.options = ("-Dgui=enabled", "-Doptimization=1", "-Db_coverage=true",
                        f"-Dc_args=-include {os.path.join(folder, 'dump.h')}", "-Dwerror=false")
        super().__init__(root, folder, *how)


class Lines:
    """Which lines each test runs, as gcov saw it."""

    def __init__(self, root, folder, files, options):
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
                             '#define _exit covered_exit\n'
                             # So do those that are asked to end. Each library has counters of its own, and what
                             # meson tries has none.
                             '#ifdef G_LOG_DOMAIN\n'
                             'typedef void (*covered_asked) (int);\n'
                             'covered_asked covered_signal (int, covered_asked) __asm__ ("signal");\n'
                             'int covered_raise (int) __asm__ ("raise");\n'
                             '#define COVERED_ONE __attribute__ ((weak, visibility ("hidden")))\n'
                             'COVERED_ONE covered_asked covered_before;\n'
                             'COVERED_ONE int covered_begun;\n'
                             'COVERED_ONE void covered_ask (int number)\n'
                             '{ __gcov_dump (); if ((unsigned long) covered_before > 1) covered_before (number);\n'
                             '  covered_signal (number, 0); covered_raise (number); }\n'
                             'static __attribute__ ((constructor, unused)) void covered_begin (void)\n'
                             '{ if (!covered_begun++) '
                             f'covered_before = covered_signal ({int(signal.SIGTERM)}, covered_ask); }}\n'
                             '#endif\n')
        self.copy, self.limit = Counted(root, folder, files, shlex.split(options.ninja)), options.counted
        self.known = collections.defaultdict(set)
        self.ran, self.all, self.seconds, self.ended = {}, {}, {}, set()
        tests = sorted(self.copy.tests, key=lambda name: (name not in LONGEST, name))
        self.stay = {name for name in tests if options.known and os.path.exists(self.kept(name))}
        self.copy.make_unchanged(set(tests) - self.stay)
        # What gcov says is read in other processes, for Python's threads take turns.
        readers = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(os.cpu_count(), readers) as self.readers, \
                concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
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
        """Runs a test, and returns its seconds, whether it was ended, and what gcov says: of each file its lines, and
        those that ran."""
        data = os.path.join(self.copy.folder, "data", name)
        start = time.monotonic()
        passed = self.copy.run(name, self.limit, GCOV_PREFIX=data, GCOV_PREFIX_STRIP=str(self.copy.build.count("/")),
                               TOMODESK_PINS="/nowhere")  # what fails does not tell its lines
        seconds = time.monotonic() - start
        told = self.readers.submit(lines_in, self.copy.folder, self.copy.build, data).result()
        shutil.rmtree(data, ignore_errors=True)
        return seconds, passed is None, *told

    def take(self, name, seconds, ended, known, ran):
        self.seconds[name], self.ran[name], self.all[name] = seconds, ran, sum(map(len, ran.values()))
        if ended:
            self.ended.add(name)
        for path, lines in known.items():
            self.known[path] |= lines
        wrong = self.copy.said.get(name)
        print(f"{name}: {seconds:.1f} s, {self.all[name]} lines{ended and ', ended' or ''}"
              f"{wrong and f', failed: {wrong}' or ''}", flush=True)

    def tests_of(self, mutant):
        """Those that run its line: those first that run little else, and are short. Those that were ended come last,
        and any line of a file that they began with may be theirs. And one of the mutant's file, to build."""
        listed = ()
        if not mutant.path.endswith(".c"):
            listed = next((names for prefix, names in KERNELS if mutant.path.startswith(prefix)), ())
        file, line = mutant.path, mutant.line + 1
        tests = [name for name in self.ran if self.ran[name].get(file)]
        tests.sort(key=lambda name: (name in self.ended,
                                     -len(self.ran[name][file]) / self.all[name] / math.sqrt(self.seconds[name])))
        of_file = tests[:1] or listed or ["cli-phantom"]
        # Tables and the further lines of a statement are no lines to gcov.
        if line in self.known[file]:
            tests = [name for name in tests if line in self.ran[name][file] or name in self.ended]
        return [*listed, *(name for name in tests if name not in listed)], of_file

    def within(self, names, seconds):
        """The first of them that take so long, and one at least."""
        sums = itertools.accumulate(self.seconds[name] for name in names)
        return [name for name, total in zip(names, sums) if name == names[0] or total <= seconds]


class Series:
    """The copies, and how one place is tried in them."""

    def __init__(self, root, folder, files, options):
        def copy(kind, name):
            return kind(root, os.path.join(folder, name), files, shlex.split(options.ninja))

        def copies(kind, names, into):
            """The first one fills a compiler's cache, if there is one. Returns the names of its tests."""
            first = copy(kind, names[0])
            into.put(first)
            with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
                for made in pool.map(lambda name: copy(kind, name), names[1:]):
                    into.put(made)
            return set(first.tests)

        self.options, self.copies, self.sanitized = options, queue.SimpleQueue(), queue.SimpleQueue()
        n_sanitized = (options.jobs + 3) // 4
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            # Copies are made while tests run with gcov.
            made = [pool.submit(copies, Tried, [str(i) for i in range(options.jobs)], self.copies),
                    pool.submit(copies, Sanitized, [f"sanitized-{i}" for i in range(n_sanitized)], self.sanitized)]
            self.lines = Lines(root, os.path.join(folder, "lines"), files, options)
            made[0].result()
            try:
                self.sanitized_names = made[1].result()
            except (SystemExit, subprocess.CalledProcessError) as problem:
                print(f"nothing is tried under the sanitizers, which do not build here: {problem}", flush=True)
                self.sanitized_names = set()
        self.threads = options.jobs + n_sanitized

    def tried_in(self, copies, *what):
        copy = copies.get()
        copy.lines = self.lines
        try:
            return copy.try_mutant(*what)
        finally:
            copies.put(copy)

    def attempt(self, place):
        """A place, what its first tests say of it, and the dearer ones and those under the sanitizers that run it."""
        names, of_file = self.lines.tests_of(place[1])
        first = self.lines.within([name for name in names if name not in self.lines.ended], self.options.seconds)
        dear = self.lines.within([name for name in names if name not in first], self.options.survivors)
        sanitized = self.lines.within([name for name in names if name in self.sanitized_names], self.options.sanitized)
        try:
            verdict = self.tried_in(self.copies, place[1], [first], of_file)
        except TimeIsUp:
            verdict = "not tried to the end"
        return place, verdict, dear, sanitized

    def go_on(self, place, verdict, dear, sanitized):
        """What no first test notices is tried by the others."""
        try:
            told = dear and self.tried_in(self.copies, place[1], [[], dear], [])
            if told and told.startswith("noticed"):
                return place, told
            if told:
                others = told.removeprefix("not noticed by ")
                verdict = told if verdict.endswith("no test runs it") else f"{verdict}, {others}"
            told = sanitized and self.tried_in(self.sanitized, place[1], [[], sanitized], [])
            if told and told.startswith("noticed"):
                return place, told
            verdict += f"; under the sanitizers by {', '.join(sanitized)}" if told else ""
        except TimeIsUp:
            verdict += "; no time was left for others"
        return place, verdict


class Score:
    """What is said of each place, and how many of each folder were noticed."""

    def __init__(self):
        self.folders = collections.defaultdict(lambda: [0, 0])

    def take(self, place, verdict):
        count = self.folders[folder_of(place[1].path)]
        count[0] += verdict.startswith("noticed")
        count[1] += 1
        self.say(place, verdict)

    def say(self, place, verdict):
        number, mutant = place
        print(f"{number} {mutant.path}:{mutant.line + 1}:{mutant.column}: {mutant.old.strip()} → {mutant.new}: {verdict}",
              flush=True)

    def print(self):
        print()
        for room, (noticed, tried) in sorted(self.folders.items()):
            print(f"{room:30} {noticed:4} of {tried:4} noticed, {100 * noticed / tried:.0f} %")
        sums = [sum(pair) for pair in zip(*self.folders.values())]
        if sums:
            print(f"{'all':30} {sums[0]:4} of {sums[1]:4} noticed, {100 * sums[0] / sums[1]:.0f} %", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folders", nargs="*", help="folders or files, as compute/prepare or app (all but app and render)")
    parser.add_argument("--count", type=int, default=40, help="mutants that are tried (40)")
    parser.add_argument("--seed", type=int, default=1, help="another seed tries other places (1)")
    parser.add_argument("--seconds", type=float, default=300,
                        help="of a mutant's tests, as many run first as take so long with gcov (300)")
    parser.add_argument("--survivors", type=float, default=300,
                        help="of the dearer ones, if those notice nothing (300)")
    parser.add_argument("--sanitized", type=float, default=120,
                        help="of those under the sanitizers, if these notice nothing either (120)")
    parser.add_argument("--counted", type=float, default=600,
                        help="seconds after which a test with gcov is ended, and is one of the dear ones (600)")
    parser.add_argument("--within", type=float, default=math.inf,
                        help="seconds from the start after which the series ends, whatever runs (all are tried)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1,
                        help="copies that work side by side (all cores)")
    parser.add_argument("--ninja", default="ninja", help="how to build")
    parser.add_argument("--keep", help="a folder for the copies, from which a series goes on later")
    parser.add_argument("--known", action="store_true",
                        help="only tests that are new run with gcov: the others run the lines that they ran before")
    parser.add_argument("--skip", type=int, default=0, help="places that an earlier run has tried (0)")
    parser.add_argument("--places", type=lambda text: {int(number) for number in text.split(",")},
                        help="only these, by the numbers of an earlier run, as 3,17")
    options = parser.parse_args()
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    files = subprocess.run(["git", "ls-files"], cwd=root, check=True, capture_output=True,
                           text=True).stdout.split("\n")[:-1]
    chosen = [f for f in files if f.endswith((".c", ".h", ".cl"))
              and f.startswith(tuple(options.folders) or FOLDERS) and not f.startswith(LEFT_OUT)]
    mutants = [m for f in chosen for m in mutants_of(root, f)]
    random.Random(options.seed).shuffle(mutants)
    mutants = list(enumerate(in_turns(mutants)))[options.skip:]
    if options.places:
        mutants = [place for place in mutants if place[0] in options.places]
        options.count = len(mutants)
    if not mutants:
        sys.exit("there is no place to change in these folders")
    CLOCK.end = time.monotonic() + options.within

    with contextlib.ExitStack() as stack:
        folder = os.path.abspath(options.keep or stack.enter_context(tempfile.TemporaryDirectory(prefix="mutants-")))
        shared = os.path.join(os.path.dirname(root), "shared")  # measured scans, which tests look for beside a copy
        os.makedirs(folder, exist_ok=True)
        os.environ.setdefault("CCACHE_BASEDIR", folder)  # one copy's objects serve the others
        os.environ.setdefault("CCACHE_NOHASHDIR", "1")
        if os.path.exists(shared) and not os.path.lexists(os.path.join(folder, "shared")):
            os.symlink(shared, os.path.join(folder, "shared"))
        try:
            series = Series(root, folder, files, options)
        except TimeIsUp:
            sys.exit("no place was tried: the time was up before the lines were counted")
        try_all(series, mutants, options.count)


def try_all(series, mutants, most):
    """First tests come first, so that a series whose time ends has tried as many places as it can."""
    rest, missed, waiting = iter(mutants), collections.deque(), set()
    score, begun = Score(), 0
    with concurrent.futures.ThreadPoolExecutor(series.threads) as pool:
        while True:
            while len(waiting) < series.threads and not CLOCK.is_up():
                place = next(rest, None) if begun < most else None
                if place:
                    begun += 1
                    waiting.add(pool.submit(series.attempt, place))
                elif missed:
                    waiting.add(pool.submit(series.go_on, *missed.popleft()))
                else:
                    break
            if not waiting:
                break
            for future in concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED).done:
                waiting.remove(future)
                place, verdict, *others = future.result()
                if not verdict:
                    begun -= 1
                elif verdict.startswith("not tried"):
                    score.say(place, verdict)
                    begun -= 1
                elif any(others) and verdict.startswith("not noticed"):
                    missed.append((place, verdict, *others))
                else:
                    score.take(place, verdict)
    for place, verdict, *_ in missed:
        score.take(place, verdict + "; no time was left for others")
    if CLOCK.is_up() and begun < most:
        print(f"no time was left for {most - begun} places")
    score.print()


if __name__ == "__main__":
    main()

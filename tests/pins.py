#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the figures anew that tests are compared with (tests/common/pins.h): pins.py BUILD [PROGRAM…].

Each program that has a file in tests/pins, or that is named ("test-truth-axis"), is run as its quick tests run it,
twice, and once more by fewer threads, without OpenCL and by another instruction set. What is the same in all
runs, and is no error of rounding and nothing of this computer, becomes the file. A word that differs becomes "#",
and so do times, memory and numbers of threads. Of a window, lines that differ become "…", and several that an
earlier place shows as well become "… N SUM". Look at each line of the diff: it is what a change did.
"""
import concurrent.futures
import difflib
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pins")
OTHERWISE = {"OCL_ICD_VENDORS": "/nowhere", "TOMODESK_THREADS": "3", "TOMODESK_ISA": "avx2"}
WINDOW = "test-window-access"
NUMBER = re.compile(r"[(“]*([-+]?\d+\.(\d*)(e[-+]?\d+)?)[,;:%)”]*$")
OF_THIS_COMPUTER = re.compile(r"e-0[6-9]|e-[1-9]\d|psnr_db. : 1\d\d\.|not known yet|times the computing|opencl|cuda|PoCL"
                              r"|CPU|EPYC|Intel|[Aa][Vv][Xx]|/home|/root|/work|/var|FFTW|[Vv]ersion"
                              r"|free there|at most .{1,9}[GT]iB now|gives this program no|cannot be unpacked"
                              r"|(this computer's|this system's) HDF5|Error opening")
# Numbers before such a word are this computer's, and in lines with other such words all are.
UNIT = re.compile(r"(ms|s|min|h|[kKMGT]i?B|bytes|threads|cores|GU/s)\b")
FIGURES_OF_IT = re.compile(r"seconds|took|threads|cores|[Mm]emory|_s\" :|_ms\" :|(host|device|memory)\w*_bytes\" :|per_second|gups|/s\b")
LONGEST = 600
SHORTEST = 5
BY_CHANCE = ("/cli/interrupt",)  # what these say turns on when a signal comes


def runs_of(build, program):
    """What each run says: its figures by their keys."""
    with open(os.path.join(build, "meson-info", "intro-tests.json"), encoding="utf-8") as tests:
        tests = [test for test in json.load(tests) if os.path.basename(test["cmd"][-1]) == program
                 and not any(suite.endswith("slow") for suite in test["suite"])]
    if not tests:
        sys.exit(f"no quick test runs {program}")
    with tempfile.TemporaryDirectory(prefix="pins-") as folder, concurrent.futures.ThreadPoolExecutor(4) as pool:
        ways = [*((test, {}) for test in tests), (tests[0], {}), (tests[0], OTHERWISE)]
        for run in pool.map(lambda way: run_of(build, os.path.join(folder, str(way[0])), way[0], *way[1]),
                            enumerate(ways)):
            if run:  # in other languages nothing is said
                yield run


def run_of(build, folder, number, test, env):
    """What one run says. The first knows the build's settings and this computer's rates, the others nothing."""
    file = os.path.join(folder, "run")
    os.mkdir(folder)
    time.sleep(number)  # so that each finds a display of its own
    env = {**os.environ, **test["env"], **env, "TOMODESK_PINS_NEW": file}
    if number:
        env["POCL_CACHE_DIR"] = os.path.expanduser("~/.cache/pocl")
        env["XDG_CONFIG_HOME"] = env["XDG_CACHE_HOME"] = folder
    subprocess.run(test["cmd"], cwd=build, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if not os.path.exists(file):
        return {}
    with open(file, encoding="utf-8") as run:
        return dict(line.rstrip("\n").split(": ", 1) for line in run if ": " in line)


def number(word):
    """The number, and a third of what the test allows it to differ by."""
    match = NUMBER.match(word)
    if not match:
        return None
    value = float(match[1])
    return value, (1e-3 * abs(value) + (0 if match[3] else 1.5 * 10 ** -len(match[2]))) / 3


def same(one, other):
    a, b = one.split(" "), other.split(" ")
    numbers = [(number(x), number(y)) for x, y in zip(a, b) if x != y]
    return len(a) == len(b) and all(x and y and abs(x[0] - y[0]) <= max(x[1], y[1]) for x, y in numbers)


def masked(figures, others):
    """The line with "#" for each word that is another in others; None: too little is left."""
    words = figures.split(" ")
    columns = [words, *(other.split(" ") for other in others)]
    if any(len(column) != len(words) for column in columns):
        return None
    refused = figures.startswith("refused: ")  # by numbers that its test chose
    all_of_it = FIGURES_OF_IT.search(figures)
    of_it = [bool(not refused and re.search(r"\d", word) and (all_of_it or UNIT.match(after)))
             for word, after in zip(words, [*words[1:], ""])]
    words = ["#" if mine or any(not same(word, other) for other in rest) else word
             for mine, word, *rest in zip(of_it, *columns)]
    return " ".join(words) if any(re.search(r"\w", word) for word in words) else None


def aligned(first, other):
    """For each line of first, the one of other that stands in its place, or None."""
    found = [None] * len(first)
    shapes = [[re.sub(r"\S*\d\S*", "#", line) for line in lines] for lines in (first, other)]
    for what, a0, a1, b0, b1 in difflib.SequenceMatcher(None, *shapes, autojunk=False).get_opcodes():
        if what == "equal" or what == "replace" and a1 - a0 == b1 - b0:
            found[a0:a1] = other[b0:b1]
    return found


def by_place(run):
    """The lines of each test, or place in a window, in their order."""
    places = {}
    for key, figures in run.items():
        places.setdefault(key.rsplit(" ", 1)[0], []).append(figures)
    return places


def shortened(lines, exact, places):
    """The lines, with "… N SUM" for N ≥ SHORTEST that stand in one of the places as well, and are exact."""
    at, short = 0, []
    while at < len(lines):
        most = 0
        for place in places:
            for start in (i for i, line in enumerate(place) if line == lines[at]):
                n = 0
                while (at + n < len(lines) and start + n < len(place) and lines[at + n] == place[start + n]
                       and exact[at + n]):
                    n += 1
                most = max(most, n)
        if most >= SHORTEST:
            text = "".join(line + "\n" for line in lines[at:at + most])
            short.append(f"… {most} {hashlib.md5(text.encode()).hexdigest()[:8]}")
        else:
            short += lines[at:at + max(most, 1)]
        at += max(most, 1)
    return short


def make(build, program, places):
    """Writes the file; appends what the places of a window show to places."""
    first, *others = map(by_place, runs_of(build, program))
    with open(os.path.join(FOLDER, program), "w", encoding="utf-8") as pins:
        for place, lines in first.items():
            same_place = [aligned(lines, run.get(place, [])) for run in others]
            kept, exact = [], []
            for figures, *rest in zip(lines, *same_place):
                line = None if OF_THIS_COMPUTER.search(figures) or None in rest else masked(figures, rest)
                kept.append(line if line and len(line) <= LONGEST else None)
                exact.append(kept[-1] and all(figures == other for other in [line, *rest]) and " drawn " not in line)
            if not any(kept) or place.startswith(BY_CHANCE):
                continue
            pins.write(place + "\n")
            of_window = " " in place
            whole, kept = kept, shortened(kept, exact, places) if of_window else kept
            if of_window:
                places.append(whole)
            for line, before in zip(kept, ["", *kept]):
                if line:
                    pins.write(f"  {line}\n")
                elif of_window and before is not None:
                    pins.write("  …\n")
    print(f"{program}: {len(others) + 1} runs", flush=True)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    programs = sys.argv[2:] or sorted(os.listdir(FOLDER))
    build = os.path.abspath(sys.argv[1])
    places = []
    for program in sorted(programs, key=lambda program: (program != WINDOW, program)):
        make(build, program, places)


main()

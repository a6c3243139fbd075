#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the figures anew that tests are compared with (tests/common/pins.h): pins.py BUILD [PROGRAM…].

Each program that has a file in tests/pins, or that is named ("test-truth-axis"), is run as its quick tests run it,
twice, and once more by fewer threads, without OpenCL and by another instruction set. What is the same in all
runs, and is no error of rounding and nothing of this computer, becomes the file. Of a window, only what
test-window-access does not show as well. Look at each line of the diff: it is what a change did.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pins")
OTHERWISE = {"OCL_ICD_VENDORS": "/nowhere", "TOMODESK_THREADS": "3", "TOMODESK_ISA": "avx2"}
WINDOW = "test-window-access"
NUMBER = re.compile(r"([-+]?\d+\.(\d*)(e[-+]?\d+)?)[,;:%)]*$")
OF_THIS_COMPUTER = re.compile(r"e-0[6-9]|e-[1-9]\d|psnr_db. : 1\d\d\.|\d (ms|s|min)\b|seconds|took|not known yet|times the computing|threads|cores|estimate|opencl|cuda|PoCL"
                              r"|[kKGM]i?B|[Mm]emory|[Hh]ost|CPU|EPYC|Intel|[Aa][Vv][Xx]|/home|/root|/work|/var|FFTW|[Vv]ersion")
LONGEST = 400


def runs_of(build, program):
    """What each run says: its figures by their keys."""
    with open(os.path.join(build, "meson-info", "intro-tests.json"), encoding="utf-8") as tests:
        tests = [test for test in json.load(tests) if os.path.basename(test["cmd"][-1]) == program
                 and not any(suite.endswith("slow") for suite in test["suite"])]
    if not tests:
        sys.exit(f"no quick test runs {program}")
    with tempfile.TemporaryDirectory(prefix="pins-") as folder:
        file = os.path.join(folder, "run")
        for test, env in [*((test, {}) for test in tests), (tests[0], {}), (tests[0], OTHERWISE)]:
            subprocess.run(test["cmd"], cwd=build, env={**os.environ, **test["env"], **env, "TOMODESK_PINS_NEW": file},
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if os.path.exists(file):  # in other languages nothing is said
                with open(file, encoding="utf-8") as run:
                    yield dict(line.rstrip("\n").split(": ", 1) for line in run if ": " in line)
                os.remove(file)


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


def shown(key, figures):
    """Of a window: what is shown, wherever."""
    return re.sub(r".* (\S+) \d+$", r"\1", key), figures


def make(build, program, elsewhere):
    first, *others = runs_of(build, program)
    head = None
    with open(os.path.join(FOLDER, program), "w", encoding="utf-8") as pins:
        for key, figures in first.items():
            if OF_THIS_COMPUTER.search(figures) or len(figures) > LONGEST or shown(key, figures) in elsewhere:
                continue
            if not all(key in run and same(figures, run[key]) for run in others):
                continue
            # "TEST NUMBER", or "TEST PLACE WIDGET NUMBER" of a window. Lines of a test come in their order.
            words = key.split(" ")
            place = words[:-2] if len(words) > 3 else words[:-1]
            if place != head:
                pins.write(" ".join(place) + "\n")
                head = place
            name = f"{' '.join(words[-2:])}: " if len(words) > 3 else ""
            pins.write(f"  {name}{figures}\n")
    print(f"{program}: {len(others) + 1} runs", flush=True)
    return {shown(key, figures) for key, figures in first.items()}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    programs = sys.argv[2:] or sorted(os.listdir(FOLDER))
    build = os.path.abspath(sys.argv[1])
    windows = [program for program in programs if program.startswith("test-window")]
    in_access = make(build, WINDOW, set()) if windows else set()
    for program in programs:
        if program != WINDOW:
            make(build, program, in_access if program in windows else set())


main()

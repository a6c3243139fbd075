#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the figures anew that a test program is compared with: pins.py [--but PINS] RUN RUN…

Each RUN is a file that a run of the program wrote for TOMODESK_PINS_NEW (tests/common/pins.h), named like the
program: one run as usual, one with OCL_ICD_VENDORS=/nowhere, TOMODESK_THREADS=3 and TOMODESK_ISA=avx2, and others
if its tests run in other ways. What is the same in all of them, and is no error of rounding and nothing of this
computer, becomes tests/pins/PROGRAM. --but: without what a window shows in those other figures, too.
"""
import os
import re
import sys

NUMBER = re.compile(r"([-+]?\d+\.(\d*)(e[-+]?\d+)?)[,;:%)]*$")
OF_THIS_COMPUTER = re.compile(r"e-0[6-9]|e-[1-9]\d|\d (ms|s|min)\b|seconds|took|threads|cores|estimate|opencl|cuda|PoCL"
                              r"|[kKGM]i?B|[Mm]emory|[Hh]ost|CPU|EPYC|Intel|[Aa][Vv][Xx]|/home|/root|/work|/var|FFTW|[Vv]ersion")
LONGEST = 400


def pins_of(path):
    with open(path, encoding="utf-8") as run:
        return dict(line.rstrip("\n").split(": ", 1) for line in run if ": " in line)


def number(word):
    """The number, and a third of what the test allows it to differ by."""
    match = NUMBER.match(word)
    if not match:
        return None
    value = float(match[1])
    return value, (1e-3 * abs(value) + (0 if match[3] else 1.5 * 10 ** -len(match[2]))) / 3


def same(one, other):
    pairs = list(zip(one.split(" "), other.split(" ")))
    for a, b in pairs:
        x, y = number(a), number(b)
        if a != b and not (x and y and abs(x[0] - y[0]) <= max(x[1], y[1])):
            return False
    return len(one.split(" ")) == len(other.split(" "))


def shown_in(path):
    with open(path, encoding="utf-8") as pins:
        return {tuple(re.sub(r" \d+$", "", part) for part in line.strip().split(": ", 1))[:1] + (line.split(": ", 1)[1],)
                for line in pins if line.startswith("  ")}


def main():
    words = sys.argv[1:]
    but = shown_in(words[1]) if words[0] == "--but" else set()
    paths = words[2:] if but else words
    runs = [pins_of(path) for path in paths]
    name = os.path.basename(paths[0])
    head = None
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "pins", name), "w", encoding="utf-8") as pins:
        for key, figures in runs[0].items():
            if OF_THIS_COMPUTER.search(figures) or len(figures) > LONGEST:
                continue
            if not all(key in run and same(figures, run[key]) for run in runs[1:]):
                continue
            if (re.sub(r".* (\S+) \d+$", r"\1", key), figures + "\n") in but:
                continue
            # "TEST NUMBER", or "TEST PLACE WIDGET NUMBER" of a window.
            words = key.split(" ")
            first = words[:-2] if len(words) > 3 else words[:-1]
            if first != head:
                pins.write(" ".join(first) + "\n")
                head = first
            pins.write(f"  {' '.join(words[len(first):])}: {figures}\n")


main()

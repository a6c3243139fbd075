#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ./test builds: targets.py BUILD plain | sanitized.

Plain: everything but what only tests need that run under the sanitizers alone. Sanitized: what tests need that
run there. The suites are those that ./test names.
"""
import json
import os
import sys


def read(folder, what):
    with open(os.path.join(folder, "meson-info", f"intro-{what}.json"), encoding="utf-8") as file:
        return json.load(file)


def main(folder, kind):
    needed = {"plain": set(), "sanitized": set()}
    for test in read(folder, "tests"):
        suites = {suite.split(":")[-1] for suite in test["suite"]}
        if "slow" in suites:
            continue
        if "sanitized" not in suites:
            needed["plain"].update(test["depends"])
        if suites & {"unit", "faults"} and "once" not in suites:
            needed["sanitized"].update(test["depends"])
    for target in read(folder, "targets"):
        if kind == "sanitized":
            wanted = target["id"] in needed["sanitized"]
        else:
            wanted = target["build_by_default"] and target["id"] not in needed["sanitized"] - needed["plain"]
        if wanted:
            for path in target["filename"]:
                print(os.path.relpath(path, folder))


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]), sys.argv[2])

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sum up meson's test logs: summary.py TESTLOG.json...

Prints each failure with what it said, then the names of all that failed. The last line is "N passed,
N failed, N skipped", counting the sub-tests of programs that speak TAP. The exit status is 1 if
anything failed or nothing ran.
"""
import json
import os
import re
import sys

RESULT = re.compile(r"^(not )?ok\b\s*\d*\s*-?\s*([^#]*)(?:#\s*(\w+))?", re.IGNORECASE)
FINE = ("OK", "EXPECTEDFAIL")


def sub_tests(output):
    """(name, "passed" | "failed" | "skipped", what was said before it) of each TAP line."""
    said = []
    for line in output.splitlines():
        match = RESULT.match(line)
        if not match:
            said.append(line)
            continue
        bad, name, directive = match.groups()
        state = "failed" if bad else "passed"
        if directive and directive.lower() in ("skip", "todo"):
            state = "skipped"
        yield name.strip(), state, said
        said = []


def read_log(path):
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as log:
        return [json.loads(line) for line in log if line.strip()]


failures = []  # titles, in their order


def report(title, lines):
    failures.append(title)
    print(f"FAILED {title}", file=sys.stderr)
    for line in [text for text in lines if text.strip()][-40:]:
        print(f"    {line}", file=sys.stderr)


def count_test(test, where, counts):
    output, errors = test.get("stdout") or "", test.get("stderr") or ""
    title = f"{where}: {test['name']}"
    found = list(sub_tests(output))
    for name, state, said in found:
        counts[state] += 1
        if state == "failed":
            report(f"{title} {name}", said + errors.splitlines())

    if any(state == "failed" for _, state, _ in found):
        return
    if test["result"] == "SKIP" and not found:
        counts["skipped"] += 1
    elif test["result"] in FINE and not found:
        counts["passed"] += 1
    elif test["result"] not in FINE + ("SKIP",):
        # Crashed, timed out, left early, or failed without a TAP line of its own.
        counts["failed"] += 1
        report(f"{title} ({test['result'].lower()}, exit status {test.get('returncode')})",
               output.splitlines()[-20:] + errors.splitlines()[-40:])


def main():
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for path in sys.argv[1:]:
        where = os.path.basename(os.path.dirname(os.path.dirname(path)))
        tests = read_log(path)
        if not tests:
            counts["failed"] += 1
            report(f"{where}: no test ran, {path} is missing or empty", [])
            continue
        for test in tests:
            count_test(test, where, counts)
    sys.stderr.flush()
    for title in failures:
        print(f"failed: {title}")
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
    return 1 if counts["failed"] or not counts["passed"] else 0


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a test program on Oclgrind, which sees accesses outside buffers and data races.

oclgrind.py PROGRAM ARGUMENT...    exit status 77: Oclgrind is not installed
"""
import glob
import os
import subprocess
import sys
import tempfile

LIBRARIES = ["/usr/lib/oclgrind/liboclgrind-rt-icd.so", "/usr/lib*/liboclgrind-rt-icd.so",
             "/usr/lib/*/oclgrind/liboclgrind-rt-icd.so"]


def main():
    found = [path for pattern in LIBRARIES for path in glob.glob(pattern)]
    if not found:
        print("Oclgrind is not installed")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "oclgrind.icd"), "w", encoding="utf-8") as icd:
            icd.write(found[0] + "\n")
        log = os.path.join(folder, "log")
        # Programs that Oclgrind builds are no entries of the cache that a test beside this one looks into.
        environment = dict(os.environ, OCL_ICD_VENDORS=folder, XDG_CACHE_HOME=folder, OCLGRIND_LOG=log,
                           OCLGRIND_DATA_RACES="1", OCLGRIND_CHECK_API="1")
        status = subprocess.run(sys.argv[1:], env=environment, check=False).returncode
        complaints = ""
        if os.path.exists(log):
            with open(log, encoding="utf-8") as text:
                complaints = text.read()
    if complaints:
        print(complaints)
    sys.exit(status or bool(complaints))


main()

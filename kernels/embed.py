#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Embed kernel sources as a C table: embed.py OUTPUT FILE..."""
import os
import sys


def c_string(text):
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
    lines = escaped.split("\n")
    return "\n".join(f'    "{line}\\n"' for line in lines[:-1]) or '    ""'


def main():
    output, files = sys.argv[1], sys.argv[2:]
    with open(output, "w", encoding="utf-8") as out:
        out.write("/* Made by kernels/embed.py. */\n")
        out.write('#include "kernels/source.h"\n\n')
        out.write("const TdKernelSource td_kernel_sources[] = {\n")
        for path in files:
            with open(path, encoding="utf-8") as source:
                text = source.read()
            name = os.path.basename(path)
            out.write(f'  {{ "{name}",\n{c_string(text)} }},\n')
        out.write("  { 0, 0 },\n};\n")


main()

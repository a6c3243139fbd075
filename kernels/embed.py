#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make C from kernel sources.

embed.py text OUTPUT FILE...      the sources as a table of strings, for the run-time compilers
embed.py host OUTPUT FILE         one source compiled as C: a loop over work-items for each kernel
embed.py index OUTPUT FILE...     the table of all sources compiled as C
"""
import os
import re
import sys

KERNEL = re.compile(r"\bTD_KERNEL\b[^;{]*?\bvoid\s+(\w+)\s*\(\s*TD_ITEM\b([^{;]*)\)\s*\{")
QUALIFIERS = re.compile(r"\b(TD_GLOBAL|TD_CONSTANT|const)\b")
ARRAYS = re.compile(r"\bTD_(?:IN|OUT) \((\w+)\)")


def c_string(text):
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
    lines = escaped.split("\n")
    return "\n".join(f'    "{line}\\n"' for line in lines[:-1]) or '    ""'


def read(path):
    with open(path, encoding="utf-8") as source:
        return source.read()


def stem(path):
    return os.path.splitext(os.path.basename(path))[0]


def symbol(path):
    return re.sub(r"\W", "_", stem(path))


def text_table(out, files):
    out.write('#include "kernels/source.h"\n\n')
    out.write("const TdKernelSource td_kernel_sources[] = {\n")
    for path in files:
        out.write(f'  {{ "{os.path.basename(path)}",\n{c_string(read(path))} }},\n')
    out.write("  { 0, 0 },\n};\n")


def parameters(path, kernel, text):
    """(type, is_pointer) of each parameter."""
    result = []
    for part in filter(None, (" ".join(p.split()) for p in text.split(","))):
        match = re.fullmatch(r"(.*?)(\w+)", QUALIFIERS.sub(" ", ARRAYS.sub(r"\1 *", part)).strip())
        kind = " ".join(match.group(1).split()) if match else ""
        if not kind or "TD_LOCAL" in kind or "TD_TEXTURE" in kind:
            sys.exit(f"{path}: {kernel}: the host cannot take the parameter '{part}'")
        result.append((kind, kind.endswith("*")))
    return result


def host_kernel(out, name, params):
    out.write(f"static void\nrun_{name} (const void *const *args, const int groups[3], "
              "const int local[3], int z,\n    int y0, int y1, int x0, int x1)\n{\n")
    for i, (kind, _) in enumerate(params):
        out.write(f"  {kind} a{i};\n")
    for i in range(len(params)):
        out.write(f"  memcpy (&a{i}, args[{i}], sizeof a{i});\n")
    arguments = ", ".join(f"a{i}" for i in range(len(params)))
    out.write(f"""  const int nx = groups[0], ny = groups[1], nz = groups[2];
  const int lx = local[0], ly = local[1], lz = local[2];
  for (int y = y0; y < y1; y++) {{
    _Pragma ("GCC ivdep")
    for (int x = x0; x < x1; x++) {{
      const TdItem item = {{ {{ x, y, z }}, {{ x % lx, y % ly, z % lz }},
                            {{ x / lx, y / ly, z / lz }}, {{ nx, ny, nz }} }};
      {name} (&item, {arguments});
    }}
  }}
}}

""")
    sizes = ", ".join("0" if pointer else f"sizeof ({kind})" for kind, pointer in params)
    out.write(f"static const unsigned sizes_{name}[] = {{ {sizes} }};\n\n")


def host_source(out, path):
    # Comments may hold words that look like code.
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", read(path), flags=re.DOTALL)
    kernels = [(m.group(1), parameters(path, m.group(1), m.group(2)))
               for m in KERNEL.finditer(text)]
    if not kernels or len(kernels) != len(re.findall(r"\bTD_KERNEL\b", text)):
        sys.exit(f"{path}: kernels are to be written TD_KERNEL void name (TD_ITEM type name, …)")
    out.write('#include "kernels/dialect/host.h"\n#include "kernels/source.h"\n'
              f'#include "kernels/params.h"\n#include "kernels/{os.path.basename(path)}"\n\n')
    for name, params in kernels:
        host_kernel(out, name, params)
    table = f"TD_ISA_NAME (td_host_{symbol(path)})"
    out.write(f"extern const TdHostKernel {table}[];\nconst TdHostKernel {table}[] = {{\n")
    for name, params in kernels:
        out.write(f'  {{ "{name}", run_{name}, {len(params)}, sizes_{name} }},\n')
    out.write("  { 0, 0, 0, 0 },\n};\n")


def host_index(out, files):
    out.write('#include "kernels/source.h"\n\n')
    for path in files:
        out.write(f"extern const TdHostKernel TD_ISA_NAME (td_host_{symbol(path)})[];\n")
    out.write("\nconst TdHostSource TD_ISA_NAME (td_host_sources)[] = {\n")
    for path in files:
        out.write(f'  {{ "{stem(path)}", TD_ISA_NAME (td_host_{symbol(path)}) }},\n')
    out.write("  { 0, 0 },\n};\n")


def main():
    mode, output, files = sys.argv[1], sys.argv[2], sys.argv[3:]
    with open(output, "w", encoding="utf-8") as out:
        out.write("/* Made by kernels/embed.py. */\n")
        if mode == "text":
            text_table(out, files)
        elif mode == "host":
            host_source(out, files[0])
        else:
            host_index(out, files)


main()

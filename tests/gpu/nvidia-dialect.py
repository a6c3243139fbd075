#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The OpenCL dialect as NVIDIA's compiler sees it, read by clang: nvidia-dialect.py KERNELS

No compiler of NVIDIA's OpenCL runs without a card. What only it compiles stands behind TD_NV_ARCH in
the dialect; clang parses that for nvptx64, with a kernel that uses what the others are made of.
"""
import pathlib
import shutil
import subprocess
import sys

KERNEL = """
TD_KERNEL void all_of_it (TD_ITEM TD_GLOBAL float *out, TD_GLOBAL const uint *in)
{
  TD_LOCAL float4 wide[2];
  TD_LOCAL float2 narrow[2];
  td_copy16 (&wide[0], (TD_GLOBAL const float4 *) out);
  td_copy8 (&narrow[0], (TD_GLOBAL const float2 *) out);
  td_copy_wait ();
  td_barrier ();
  out[td_global_x ()] = wide[0].x + narrow[0].y + td_saturate (out[0]) + td_rint (out[1]);
}
"""


def main():
    kernels = pathlib.Path(sys.argv[1])
    clang = next((name for name in ("clang", "clang-18", "clang-16", "clang-14") if shutil.which(name)), None)
    print("1..3")
    for n, arch in enumerate((60, 75, 90), 1):
        name = f"nvidia-dialect {arch}"
        if not clang:
            print(f"ok {n} {name} # SKIP clang is not installed")
            continue
        source = (kernels / "dialect/opencl.h").read_text() + (kernels / "params.h").read_text() + KERNEL
        options = ["-Dasm=__asm__", f"-DTD_NV_ARCH={arch}"]
        run = subprocess.run(
            [clang, "-x", "cl", "-cl-std=CL1.2", "-fsyntax-only", "-target", "nvptx64-nvidia-nvcl", "-w",
             "-Xclang", "-finclude-default-header", *options, "-"],
            input=source, capture_output=True, text=True, check=False)
        for line in run.stderr.splitlines()[:20]:
            print(f"# {line}")
        print(f"{'not ok' if run.returncode else 'ok'} {n} {name}")


main()

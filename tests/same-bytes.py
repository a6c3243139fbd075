#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares the volumes of two builds to the last bit: same-bytes.py BUILD-BEFORE BUILD-AFTER [SCANS].

BUILD-BEFORE makes twelve scans, and both builds reconstruct each of them, on the host and on PoCL where it is.
SCANS is a folder of real scans (shared/scans): i13_24737, htc2022 and ctsimu_tetra are taken from it. Each
command states its method, kernel, precision, centre and format, so that another preset makes no difference.
Both builds share one cache, because FFTW's plans of a length differ in the last bits. BUILD-AFTER runs
first: an older build did not remember a plan whose measuring it cut short.

A line tells for each volume whether the bytes are the same. Else it has the relative RMS and the largest
difference. The exit status is 1 where a volume differs, or where only one of the builds makes it.
"""
import argparse
import array
import math
import os
import struct
import subprocess
import sys
import tempfile

PARALLEL = "--columns 96 --rows 6"
CONE = "--cone --columns 48 --rows 36 --views 96 --pixel-mm 1.5"
# name → (the phantom's object and options, kind, options of reconstruct)
MADE = {
    "half turn": (f"shepp-logan {PARALLEL}", "parallel", "--centre 47.5"),
    "full turn": (f"discs {PARALLEL} --range 360 --centre 50.25", "parallel", "--centre 50.25"),
    "half acquisition": (f"discs {PARALLEL} --range 360 --centre 80.5 --offset-field", "parallel",
                         "--centre 80.5 --field-of-view half"),
    "tilted axis": (f"discs {PARALLEL} --tilt 1.5", "parallel", "--centre 47.5 --tilt 1.5"),
    "few views, noise": (f"shepp-logan {PARALLEL} --views 31 --photons 2000", "parallel", "--centre 47.5"),
    "cropped and binned": (f"discs {PARALLEL} --columns 120", "parallel", "--crop 8,0,104,6 --bin 2 --centre 59.5"),
    "cone": (f"ellipsoids {CONE}", "cone", ""),
    "cone, offset": (f"ellipsoids {CONE} --detector-offset-u 3.25", "cone", ""),
    # Odd sides: where two pixels lie in the middle, rounding once chose which one the grid is laid on.
    "cone, tilted": (f"ellipsoids {CONE} --columns 49 --rows 35 --detector-tilt 1,0.5,-0.3", "cone", ""),
    "cone, short": (f"ellipsoids {CONE} --range 220", "cone", ""),
    "cone, not stiff": (f"ellipsoids {CONE} --wobble-mm 0.5", "cone", ""),
    "fan": (f"discs {CONE} --columns 96 --rows 1", "cone", ""),
}
# name → (path, kind, options of reconstruct)
REAL = {
    "i13_24737": ("i13_24737", "parallel", "--centre 85.83 --rows 60:68"),
    "htc2022": ("htc2022/htc2022_ta_sinogram.tif", "cone", "--values attenuations"),
    "ctsimu_tetra": ("ctsimu_tetra/projections/tetra_metadata.json", "cone", ""),
}
COMMON = "--prepare none,flat-field,minus-log --format bigtiff --bits 32"
FILTER = "--padding zero --filter ram-lak --interpolation linear"
ITERATE = "--iterations 2 --start zero --stop-at 0 --tolerance 0"
SOLVER = {
    "sirt": "--subsets 4 --relaxation 1 --non-negative true",
    "fista-tv": "--subsets 4 --tv 0.003 --non-negative true",
    "cgls": "",
}
# kind → device → (method, kernel or "-", precision) of each volume. PoCL iterates on small scans alone.
WAYS = {
    "parallel": {
        "host": ("fbp host single", "fourier - single", "sirt - single"),
        "opencl:0": ("fbp alu single", "fbp alu half", "fbp alu half-run", "fbp texture single",
                     "fbp standard single", "fbp hybrid single", "fbp oversampling single",
                     "fourier - single", "cgls - single"),
    },
    "cone": {
        "host": ("fdk host single", "sirt - single"),
        "opencl:0": ("fdk arithmetic single", "fdk turned half", "fdk texture single",
                     "fdk standard single", "fista-tv - single"),
    },
}


def run(program, *words):
    """What the program says it failed for, or nothing."""
    done = subprocess.run([program, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return done.stderr.strip().removeprefix("tomodesk-cli: ") if done.returncode else ""


def voxels(path):
    """The sizes of the images of a BigTIFF without compression, and all of their samples."""
    with open(path, "rb") as file:
        data = file.read()
    sizes, samples = [], bytearray()
    at, = struct.unpack_from("<Q", data, 8)
    while at:
        count, = struct.unpack_from("<Q", data, at)
        tags = {}
        for entry in range(at + 8, at + 8 + 20 * count, 20):
            tag, kind, number = struct.unpack_from("<HHQ", data, entry)
            if kind not in (3, 4, 16):
                continue
            code = {3: "H", 4: "I", 16: "Q"}[kind]
            size = struct.calcsize(f"<{number}{code}")
            place = entry + 12 if size <= 8 else struct.unpack_from("<Q", data, entry + 12)[0]
            tags[tag] = struct.unpack_from(f"<{number}{code}", data, place)
        sizes.append((tags[256][0], tags[257][0]))
        for offset, length in zip(tags[273], tags[279]):
            samples += data[offset:offset + length]
        at, = struct.unpack_from("<Q", data, at + 8 + 20 * count)
    return sizes, bytes(samples)


def difference(before, after):
    """Two volumes as words: "same bytes", or how far the second is from the first."""
    (sizes, a), (other_sizes, b) = voxels(before), voxels(after)
    if sizes != other_sizes:
        return f"{len(sizes)} slices of {sizes[0]} before, {len(other_sizes)} of {other_sizes[0]} after"
    if a == b:
        return "same bytes"
    a, b = array.array("f", a), array.array("f", b)
    if any(math.isnan(x) or math.isnan(y) for x, y in zip(a, b)):
        return "values that are no numbers"
    squares = math.fsum((x - y) ** 2 for x, y in zip(a, b))
    whole = math.fsum(x * x for x in a)
    largest = max(abs(x - y) for x, y in zip(a, b))
    return (f"relative RMS {math.sqrt(squares / whole) if whole else math.inf:.2e}, largest difference {largest:.2e}"
            f" of {max(map(abs, a)):.3g}")


def compare(folder, programs, scan, words):
    """Reconstructs the scan by both programs and tells how the volumes differ."""
    paths = [os.path.join(folder, f"{name}.tif") for name in ("before", "after")]
    failures = [run(program, "reconstruct", scan, "--overwrite", "--output", path, *words)
                for program, path in reversed(list(zip(programs, paths)))][::-1]
    if all(failures):
        return "refused by both: " + failures[1]
    for name, failure in zip(("before", "after"), failures):
        if failure:
            return f"refused {name}: {failure}"
    return difference(*paths)


def scans(folder, program, real):
    """Name, path, kind and options of each scan."""
    for name, (words, kind, options) in MADE.items():
        path = os.path.join(folder, name.replace(" ", "-").replace(",", "") + ".nxs")
        failure = run(program, "phantom", *words.split(), "--output", path)
        if failure:
            sys.exit(f"{name}: {failure}")
        yield name, path, kind, options
    for name, (path, kind, options) in REAL.items() if real else ():
        yield name, os.path.join(real, path), kind, options


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("before", help="build folder of the program as it was")
    parser.add_argument("after", help="build folder of the program as it is")
    parser.add_argument("scans", nargs="?", help="folder of real scans")
    parser.add_argument("--only", default="", help="scans whose name contains this")
    arguments = parser.parse_args()
    programs = [os.path.join(build, "app", "tomodesk-cli") for build in (arguments.before, arguments.after)]
    differ = total = 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = os.path.join(folder, "cache")
        listed = subprocess.run([programs[1], "devices"], stdout=subprocess.PIPE, text=True).stdout
        for name, path, kind, options in scans(folder, programs[0], arguments.scans):
            for device, ways in WAYS[kind].items() if arguments.only in name else ():
                for way in ways if f"\n{device} " in "\n" + listed else ():
                    method, kernel, precision = way.split()
                    if method in SOLVER and device != "host" and name in REAL:
                        continue
                    words = [*COMMON.split(), *options.split(), "--device", device, "--method", method]
                    if method in SOLVER:
                        words += [*ITERATE.split(), *SOLVER[method].split()]
                    else:
                        words += [*FILTER.split(), "--precision", precision]
                        words += ["--kernel", kernel] if kernel != "-" else []
                    said = compare(folder, programs, path, words)
                    differ += said != "same bytes" and not said.startswith("refused by both")
                    total += 1
                    print(f"{name}: {device} {way.replace(' -', '')}: {said}", flush=True)
    print(f"{total} volumes, {differ} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())

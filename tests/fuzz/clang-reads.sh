#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# clang-reads.sh SOURCE_ROOT BUILD_ROOT: clang, which the fuzz targets need, must take the sources that use vectors by
# a compiler's own built-ins, for each set of instructions, and the targets. Nothing is built. Exit status 77: no clang.
set -u
cd "$1"
clang=$(command -v clang || command -v clang-14 || command -v clang-15) || exit 77
read -ra flags <<<"$(pkg-config --cflags glib-2.0 gio-unix-2.0 json-glib-1.0)"
flags+=(-std=gnu17 -D_GNU_SOURCE -w -fsyntax-only -I. "-I$2")
sets=('')
[ "$(uname -m)" != x86_64 ] || sets+=('-mavx2 -mfma -mf16c' '-march=skylake-avx512')
status=0
for source in $(find compute -name '*-isa.c' | sort); do
  for set in "${sets[@]}"; do
    # shellcheck disable=SC2086 # several options
    "$clang" "${flags[@]}" $set '-DTD_ISA_NAME(name)=name##_some' "$source" || { echo "$source $set" >&2; status=1; }
  done
done
for target in tests/fuzz/fuzz-*.c; do
  "$clang" "${flags[@]}" "$target" || { echo "$target" >&2; status=1; }
done
exit $status

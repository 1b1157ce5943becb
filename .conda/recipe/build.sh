#!/usr/bin/env bash
# Copyright 2026 gr-aperture's authors.
# SPDX-License-Identifier: GPL-3.0-or-later
#
# What conda build runs, in the root of the source: PREFIX is the environment that the package is
# made of, CPU_COUNT the number of cores, CMAKE_ARGS what conda's compilers need. Without conda:
#     PREFIX=/tmp/prefix CPU_COUNT=2 bash .conda/recipe/build.sh

set -euo pipefail

cmake ${CMAKE_ARGS:-} -S . -B buildconda -G Ninja \
    -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX="$PREFIX" \
    -DLIB_SUFFIX= \
    -DENABLE_CUDA=OFF \
    -DPYTHON_EXECUTABLE="${PYTHON:-$(command -v python3)}"
cmake --build buildconda -j "${CPU_COUNT:-1}"
cmake --install buildconda

#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Files of powers, of other projects and of ours, as we and other programs read them.

    tools/run python3 tests/outside/compare_powers.py read FOLDER FILE...
    VENV/bin/python tests/outside/compare_powers.py compare FOLDER

The first command writes what power_source reads of each file, all products, into FOLDER. The
second one runs in an environment with `your` or sigpyproc from PyPI, which need another NumPy than
GNU Radio, and says by how much their powers differ: a line for each file and program. The files of
docs/search-files.md are in the repositories FRBs/sigpyproc3 (tests/data), thepetabyteproject/your
(tests/data) and ewanbarr/peasoup (example_data).
"""

import os
import sys

import numpy as np


def read(folder, names):
    """Writes powers [sample][product][channel], ascending in frequency, for the other command."""
    from gnuradio.aperture.formats.power_files import open_power_file

    os.makedirs(folder, exist_ok=True)
    for name in names:
        file = open_power_file(name)
        found = np.empty(
            (file.samples, file.rows, file.count_of_products, len(file.frequencies)), np.float32
        )
        file.read_into(0, found)
        target = os.path.join(folder, os.path.basename(name) + ".npz")
        path = os.path.abspath(name)
        np.savez(target, powers=found[:, 0], path=path, frequencies=file.frequencies)


def by_your(path):
    """Powers as `your` reads them, of the first product, ascending."""
    if path.endswith(".fil"):
        from your.formats.pysigproc import SigprocFile

        file = SigprocFile(path)
        powers = file.get_data(0, file.nspectra())[:, 0]
    else:
        from your.formats.psrfits import PsrfitsFile

        file = PsrfitsFile([path])
        powers = file.get_data(0, file.nspectra(), npoln=file.npoln)[:, 0]
    return powers[:, :: -1 if file.foff < 0 else 1]


def by_sigpyproc(path):
    """Powers as sigpyproc reads them, of filterbank files, ascending."""
    from sigpyproc.readers import FilReader

    file = FilReader(path)
    powers = file.read_block(0, file.header.nsamples).data.T
    return powers[:, :: -1 if file.header.foff < 0 else 1]


def compare(folder):
    """Prints the differences."""
    for name in sorted(os.listdir(folder)):
        case = np.load(os.path.join(folder, name))
        path, ours = str(case["path"]), case["powers"][:, 0]
        for program, reader in (("your", by_your), ("sigpyproc", by_sigpyproc)):
            try:
                theirs = np.asarray(reader(path), float)[: len(ours)]
                there = np.isfinite(ours)
                away = np.abs(theirs - ours)[there].max()
                result = f"{len(ours)} samples, largest difference {away:.6g}"
            # programs of others refuse files in many ways
            except Exception as error:
                result = f"{type(error).__name__}: {error}"
            print(f"{name[:-4]}: {program}: {result}")


if __name__ == "__main__":
    if len(sys.argv) > 3 and sys.argv[1] == "read":
        read(sys.argv[2], sys.argv[3:])
    elif len(sys.argv) == 3 and sys.argv[1] == "compare":
        compare(sys.argv[2])
    else:
        raise SystemExit(__doc__)

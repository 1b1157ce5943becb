# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Makes MSv4 of a measurement set by xradio, and checks it against its schema; by hand.

    python3 -m venv msv4; msv4/bin/pip install "xradio[casacore,zarr]" python-casacore
    msv4/bin/python tests/outside/msv4.py y8.ms y8.ps.zarr

xradio needs NumPy 2, with which GNU Radio's bindings of Debian 12 do not work: it has an
environment of its own. The visibilities of the new set are compared with those that casacore reads
of the old one, number by number. The exit code is 0 if all is as it should be.
"""

import sys

import numpy as np
from casacore.tables import table
from xradio.measurement_set import convert_msv2_to_processing_set, open_processing_set
from xradio.measurement_set.schema import VisibilityXds
from xradio.schema.check import check_dataset


def differences(made, rows):
    """Texts of what differs between a set of MSv4 and the rows of a measurement set."""
    found = [str(issue) for issue in check_dataset(made, VisibilityXds)]
    times = made.time.values  # seconds since 1970
    names = [made.baseline_antenna1_name.values, made.baseline_antenna2_name.values]
    pairs = {tuple(map(str, pair)): number for number, pair in enumerate(zip(*names))}
    antennas = table(rows.getkeyword("ANTENNA"), ack=False).getcol("NAME")
    unix = rows.getcol("TIME") - 3506716800.0  # from 1858-11-17
    compared = 0
    for row, (time, one, two) in enumerate(
        zip(unix, rows.getcol("ANTENNA1"), rows.getcol("ANTENNA2"))
    ):
        place = int(np.argmin(np.abs(times - time)))
        baseline = pairs[antennas[one], antennas[two]]
        theirs = made.VISIBILITY.values[place, baseline]
        if abs(times[place] - time) > 1e-3 or not np.array_equal(theirs, rows.getcell("DATA", row)):
            found.append(f"row {row}: other visibilities")
        compared += theirs.size
    print(f"{compared} visibilities of {len(unix)} rows, {len(times)} times: compared")
    return found


def main(source, target):
    convert_msv2_to_processing_set(in_file=source, out_file=target, persistence_mode="w")
    sets = open_processing_set(target)
    problems = []
    for name in sets.children:
        found = differences(sets[name].ds, table(source, ack=False))
        problems += [f"{name}: {text}" for text in found]
    good = f"{len(sets.children)} set of MSv4: no issue in xradio's schema check"
    print("\n".join(problems) or good)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

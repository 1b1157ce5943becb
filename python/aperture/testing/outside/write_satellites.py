#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Writes where satellites are seen from, for check_satellites.py: write_satellites.py FOLDER"""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from gnuradio.aperture.testing.satellites import EPOCH, ORBITS
from gnuradio.aperture.tracking.directions import azimuth_elevation, distance, parse_direction

SITES = ((52.1, 11.6, 80.0), (-33.9, 18.4, 1500.0), (0.0, -70.0, 0.0))


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    times = EPOCH + np.arange(-86400, 2 * 86400, 1811.0)
    cases = []
    for latitude, longitude, height in SITES:
        site = SimpleNamespace(latitude=latitude, longitude=longitude, height=height)
        for name, lines in ORBITS.items():
            look = parse_direction({"name": name, "tle": lines})
            azimuth, elevation = azimuth_elevation(look, times, site)
            cases.append(
                {
                    "site": [latitude, longitude, height],
                    "name": name,
                    "lines": lines,
                    "azimuth": azimuth.tolist(),
                    "elevation": elevation.tolist(),
                    "distance": distance(look, times, site).tolist(),
                }
            )
    (folder / "satellites.json").write_text(json.dumps({"times": times.tolist(), "cases": cases}))


if __name__ == "__main__":
    main()

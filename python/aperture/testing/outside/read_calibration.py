#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Reads what pyuvdata wrote in check_calibration.py: read_calibration.py FOLDER"""

import sys
from pathlib import Path

from gnuradio import aperture
from write_calibration import same

SKIPPED = 77

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    if not (folder / "again.calh5").exists():
        print("pyuvdata wrote no file: its venv is not there")
        sys.exit(SKIPPED)
    same(
        aperture.load_calibration(folder / "again.calh5"),
        aperture.load_calibration(folder / "cal.yml"),
    )

#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Follows a car that drives past five simulated antennas on a circle, while a mast stands in the
south: prints both azimuths beside the true ones, and draws the window of direction_finder.
Run it with tools/run python3 examples/find_directions.py [PICTURE.png]
"""

import os
import sys

import numpy as np
from gnuradio import aperture, gr

SECONDS, CHANNELS, START = 20, 32, 1704067200

array = aperture.load_array("circle5")
inputs = len(array.inputs)
source = aperture.array_source(
    array, samples=int(SECONDS * array.sample_rate), start_time=START, inputs_per_port=inputs
)
f_engine = aperture.f_engine(
    channels=CHANNELS, inputs=inputs, inputs_per_port=inputs, spectra_per_frame=100
)
x_engine = aperture.xengine(channels=CHANNELS, inputs=inputs, spectra_per_frame=100, integration=16)
finder = aperture.direction_finder(array, CHANNELS, title="Five antennas on a circle, 433.92 MHz")
flowgraph = gr.top_block()
flowgraph.connect(source, f_engine, x_engine, finder)
flowgraph.run()

car, mast = array.sources
begin = car.distance * aperture.geometry.direction(car.azimuth, car.elevation)
print(" time    car: found, true    mast: found, true   (azimuths in degrees)")
for fix in finder.fixes()[::10]:
    east, north, _ = begin + (fix.time - START) * np.array(car.velocity)
    true = np.degrees(np.arctan2(east, north)) % 360
    found = [f"{azimuth:8.2f}" for azimuth in fix.found.azimuths[:2]]
    found += ["       -"] * (2 - len(found))
    print(f"{fix.time - START:5.1f} s  {found[0]} {true:8.2f}    {found[1]} {mast.azimuth:8.2f}")

if len(sys.argv) > 1:
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PyQt5 import QtWidgets

    application = QtWidgets.QApplication(sys.argv[:1])
    window = finder.qwidget()
    window.show()
    application.processEvents()
    window.grab().save(sys.argv[1])

#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Simulates two stations of VLBI, of two antennas each, that look at one source, and writes the VDIF
of each, which check_fringe.py correlates: write_fringe.py FOLDER

The stations share nothing but the sky: they have other filter banks, frames and levels.
"""

import json
import sys
from pathlib import Path

import numpy as np
from gnuradio import aperture, gr

from gnuradio.aperture import array_source, pointing
from gnuradio.aperture.arrays import geometry
from gnuradio.aperture.arrays.array_description import Source
from gnuradio.aperture.beams.beams import Beam
from gnuradio.aperture.testing.arrays import make_array

START = (1704067200, 0.437)
RATE, CENTER = 4e6, 1.4e9
FIRST, WIDTH = 1.39905e9, 2e6  # Hz: where the band of VDIF begins, and its width
SECONDS = 0.6
FLUX = 0.2  # the source's, in powers of the noise of an antenna
#: station -> its place, those of its antennas about it, and what differs of it
STATIONS = {
    "Aa": (
        (0.0, 0.0, 0.0),
        ((0.0, 0.0, 0.0), (37.0, -12.0, 1.0)),
        {"channels": 128, "oversampling": "32/27", "taps": 24},
        {"spectra_per_frame": 64, "bits": 2},
    ),
    "Bb": (
        (2400.0, -1300.0, 15.0),
        ((-20.0, 5.0, 0.0), (11.0, 28.0, -2.0)),
        {"channels": 60, "oversampling": "4/3", "taps": 16},
        {"spectra_per_frame": 100, "bits": 2},
    ),
}


def connect_station(top, source, first, name, folder, target):
    """Connects ports of the source from `first` on to the file of a station."""
    _, offsets, bank, own = STATIONS[name]
    count, channels, spectra = len(offsets), bank["channels"], own["spectra_per_frame"]
    # the station knows its antennas about its own place only
    array = make_array(
        {f"{name}{i}": place for i, place in enumerate(offsets)}, rate=RATE, center=CENTER
    )
    points = pointing(array, [Beam("target", ra=target.ra, dec=target.dec)], channels)
    engine = aperture.f_engine(inputs=count, spectra_per_frame=spectra, **bank)
    shared = {"channels": channels, "spectra_per_frame": spectra, "type": "fc32"}
    former = aperture.beamformer(inputs=count, beams=1, output_type="fc32", **shared)
    samples = aperture.synthesizer(
        beams=1,
        output_type="f32",
        input_rate=RATE,
        sample_rate=2 * WIDTH,
        frequency=FIRST,
        frequency_is="sky",
        oversampling=bank["oversampling"],
        taps=bank["taps"],
        **shared,
    )
    sink = aperture.vdif_sink(
        str(folder / f"{name}.vdif"),
        inputs=1,
        polarizations=1,
        sample_rate=2 * WIDTH,
        bits=own["bits"],
        station=name,
        level_time=0.1,
    )
    for port in range(count):
        top.connect((source, first + port), (engine, port))
    top.connect((source, first), points)
    top.connect(engine, former, samples, sink)
    top.msg_connect(points, "weights", former, "weights")
    return sink, points


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    middle = START[0] + START[1] + SECONDS / 2
    places = {
        f"{name}{i}": tuple(np.add(place, offset))
        for name, (place, offsets, _, _) in STATIONS.items()
        for i, offset in enumerate(offsets)
    }
    array = make_array(places, rate=RATE, center=CENTER)
    site = array.latitude, array.longitude, array.height
    ra, dec = map(float, geometry.azel_to_radec(130.0, 40.0, middle, *site))
    target = Source("target", ra=ra, dec=dec, flux=FLUX)
    source = array_source(array, [target], samples=round(SECONDS * RATE), start_time=START)
    top, first, sinks = gr.top_block(), 0, []
    for name, (_, offsets, _, _) in STATIONS.items():
        sinks.append(connect_station(top, source, first, name, folder, target))
        first += len(offsets)
    top.run()
    for sink, _ in sinks:
        if sink.error() is not None or not sink.counts()["frames"]:
            raise SystemExit(f"{sink.files()}: {sink.error()}, {sink.counts()}")
    directions = []
    for time in np.linspace(middle - 1, middle + 1, 9):
        azimuth, elevation = geometry.radec_to_azel(ra, dec, time, *site)
        directions.append([time - middle, *map(float, geometry.direction(azimuth, elevation))])
    (folder / "fringe.json").write_text(
        json.dumps(
            {
                "middle": middle,
                "first": FIRST,
                "width": WIDTH,
                "flux": FLUX,
                "stations": {name: entry[0] for name, entry in STATIONS.items()},
                "antennas": 2,
                # seconds from the middle, then east, north and up of the source
                "directions": directions,
            }
        )
    )


if __name__ == "__main__":
    main()

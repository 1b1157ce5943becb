#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Beams on simulated sources, from samples to powers: what comes out is the array factor."""

import numpy as np
from gnuradio import aperture, blocks, gr, gr_unittest

from gnuradio.aperture import array_source, pointing
from gnuradio.aperture.arrays import geometry
from gnuradio.aperture.arrays.array_description import Antenna, Input, Source
from gnuradio.aperture.beams.beams import Beam, grid
from gnuradio.aperture.testing import qa_tools
from gnuradio.aperture.testing.arrays import make_array

aperture = qa_tools.on_device(aperture)

START = 1704067200
ANTENNAS = 11
C = 299792458.0


def array_of(sample_rate=1e6):
    """Antennas within 60 m, 150 MHz; every gain and cable another one."""
    rng = np.random.default_rng(5)
    places = [
        Antenna(f"A{i}", (*rng.uniform(-60, 60, 2), rng.uniform(-1, 1))) for i in range(ANTENNAS)
    ]
    inputs = [
        Input(place.name, "x", complex(*rng.uniform(0.5, 2, 2)), rng.uniform(0, 2e-8))
        for place in places
    ]
    return make_array(places, inputs=inputs, rate=sample_rate, center=1.5e8)


def source_at(array, azimuth, elevation, time):
    """A source that moves and is there at that time; its signal drowns the receiver noise."""
    ra, dec = geometry.azel_to_radec(
        azimuth, elevation, time, array.latitude, array.longitude, array.height
    )
    return Source("s", ra=float(ra), dec=float(dec), flux=1e6)


def observe(array, source, beams, start, samples, channels, spectra_per_frame, spectra):
    """Powers float64 [integration][beam][channel] over those of antenna A0, of gain 1."""
    reference = Beam("one", 0.0, 90.0, antennas=("A0",))
    inputs = len(array.inputs)
    feed = array_source(array, [source], samples=samples, start_time=start, inputs_per_port=inputs)
    points = pointing(
        array, [*beams, reference], channels, item_size=8 * inputs, normalise="signal"
    )
    sizes = dict(channels=channels, inputs=inputs)
    power = aperture.beam_power(
        beams=len(beams) + 1,
        spectra_per_frame=spectra_per_frame,
        type="fc32",
        spectra=spectra,
        **sizes,
    )
    sink = blocks.vector_sink_f((len(beams) + 1) * channels)
    top = gr.top_block()
    top.connect(
        feed,
        points,
        aperture.pfb_channelizer(inputs_per_port=inputs, **sizes),
        aperture.corner_turn(
            inputs_per_port=inputs, spectra_per_frame=spectra_per_frame, type="fc32", **sizes
        ),
        power,
        sink,
    )
    top.msg_connect(points, "weights", power, "weights")
    top.run()
    found = np.array(sink.data(), float).reshape(-1, len(beams) + 1, channels)
    return found[:, :-1] / found[:, -1:]


def array_factor(array, beam, source, time, frequency):
    """|sum of the phases' differences|^2 over its maximum, by the definition of a delay."""
    azimuth, elevation = np.radians(
        [
            [beam.azimuth, geometry_of(array, source, time)[0]],
            [beam.elevation, geometry_of(array, source, time)[1]],
        ]
    )
    looks = np.stack(
        [
            np.cos(elevation) * np.sin(azimuth),
            np.cos(elevation) * np.cos(azimuth),
            np.sin(elevation),
        ]
    )
    ahead = array.input_positions() @ (looks[:, 1] - looks[:, 0]) / C
    return np.abs(np.mean(np.exp(2j * np.pi * frequency * ahead))) ** 2


def geometry_of(array, source, time):
    return geometry.radec_to_azel(
        source.ra, source.dec, time, array.latitude, array.longitude, array.height
    )


class qa_beam_chain(gr_unittest.TestCase):
    def test_a_source_crosses_a_grid(self):
        array, channels = array_of(), 64
        beams = grid(Beam("g", 170.0, 55.0), 4, 3, 1.0)
        source = source_at(array, 170.0, 55.2, START)
        frequencies = 1.5e8 + (np.arange(channels) - channels // 2) * 1e6 / channels
        compared = 0
        for minutes in range(-12, 13, 2):
            start = START + 60 * minutes
            # 150 spectra; the middle of them 5 ms after the start
            powers = observe(array, source, beams, start, 157 * channels, channels, 150, 150)[0]
            # the outermost channels that a source of 99 % of the band fills
            for k in (1, 5, channels // 2, channels - 2):
                for m, beam in enumerate(beams):
                    expected = array_factor(array, beam, source, start + 0.005, frequencies[k])
                    if expected > 0.01:
                        self.assertLess(
                            abs(10 * np.log10(powers[m, k] / expected)),
                            0.1,
                            (minutes, beam, k, expected),
                        )
                        compared += 1
        # the source did cross the beams
        self.assertGreater(compared, 200)

    def test_beams_that_track_keep_their_level(self):
        array, channels = array_of(), 16
        source = source_at(array, 170.0, 55.0, START)
        beams = [Beam("tracks", ra=source.ra, dec=source.dec), Beam("stays", 170.0, 55.0)]
        levels = np.array(
            [
                observe(array, source, beams, START + 60 * minute, 10000, channels, 600, 600)[0]
                for minute in range(60)
            ]
        )
        # the edge, which straddles the two ends of the band, is left out
        tracks = 10 * np.log10(levels[:, 0, 1:])
        self.assertLess(np.abs(tracks).max(), 0.1)
        # one that stays where it is loses the source
        self.assertAlmostEqual(10 * np.log10(levels[0, 1, 5]), 0, delta=0.1)
        self.assertLess(np.median(levels[-20:, 1]), 0.1)

    def test_a_beam_that_tracks_for_an_hour(self):
        array, channels = array_of(sample_rate=800.0), 8
        source = source_at(array, 170.0, 55.0, START)
        beams = [Beam("tracks", ra=source.ra, dec=source.dec), Beam("stays", 170.0, 55.0)]
        # a minute each; of so slow a stream the buffers on a GPU hold half an hour
        levels = observe(array, source, beams, START, 3600 * 800, channels, 20, 6000)
        self.assertEqual(len(levels), 60)
        tracks = 10 * np.log10(levels[:, 0, 1:])
        self.assertLess(np.abs(tracks).max(), 0.1)
        self.assertLess(np.median(levels[-20:, 1]), 0.1)


if __name__ == "__main__":
    gr_unittest.run(qa_beam_chain)

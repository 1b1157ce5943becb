#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""A simulated source through the correlator and the beamformer, tracked and not."""

import numpy as np
from astropy.time import Time
from astropy.utils import iers
from gnuradio import aperture, blocks, gr, gr_unittest

from gnuradio.aperture import array_source, delay_tracker, pointing
from gnuradio.aperture.arrays import geometry
from gnuradio.aperture.arrays.array_description import Antenna, Input, Source
from gnuradio.aperture.beams.beams import Beam
from gnuradio.aperture.testing import qa_tools
from gnuradio.aperture.testing.arrays import make_array
from gnuradio.aperture.testing.sky_model import geometric_delays
from gnuradio.aperture.tracking.directions import Direction

aperture = qa_tools.on_device(aperture)
iers.conf.auto_download = False

START = 1577934245  # 2020-01-02T03:04:05Z: astropy's own table of the Earth's rotation has it
FREQUENCY = 1.4e9
CHANNELS = 16
FLUX = 25.0
# noise of channel and spectrum: (26/25)^2 - 1 is the noise's share, half of it in the phase
NOISE = np.degrees(np.sqrt(((1 + FLUX) / FLUX) ** 2 - 1) / np.sqrt(2))


def array_of(extent, sample_rate, cables=0.0):
    places = [
        Antenna("A", (0.0, 0.0, 0.0)),
        Antenna("B", (extent, -0.2 * extent, 0.0)),
        Antenna("C", (-0.4 * extent, 0.7 * extent, 0.01 * extent)),
    ]
    return make_array(
        places,
        inputs=[
            Input(place.name, "x", cable_delay=cables * number)
            for number, place in enumerate(places)
        ],
        rate=sample_rate,
        center=FREQUENCY,
    )


def source_at(array, azimuth, elevation, time=START):
    """A source that moves and is there at that time."""
    ra, dec = geometry.azel_to_radec(
        azimuth, elevation, time, array.latitude, array.longitude, array.height
    )
    return Source("s", ra=float(ra), dec=float(dec), flux=FLUX)


def f_engine_of(array, seconds, source, direction, top, start=START, points=()):
    """Connects a source and an F-engine, which gives frames of 125 spectra; direction: None for
    no tracking; points: blocks between them."""
    inputs = len(array.inputs)
    samples = int(seconds * array.sample_rate) + 7 * CHANNELS
    made = [
        array_source(array, [source], samples=samples, start_time=start, inputs_per_port=inputs)
    ]
    engine = aperture.f_engine(
        channels=CHANNELS,
        inputs=inputs,
        inputs_per_port=inputs,
        spectra_per_frame=125,
        most_delay=int(2e-5 * array.sample_rate) + 2,
    )
    if direction is not None:
        made.append(delay_tracker(array, direction, CHANNELS, item_size=8 * inputs))
        top.msg_connect(made[-1], "delays", engine, "delays")
    made += points
    top.connect(*made, engine)
    return engine, made


def correlate(array, seconds, source, direction, frames, start=START):
    """
    Visibilities [integration][channel][product] of the tracked or untracked array, and the times of
    the middles of the integrations. Channel 0, which straddles the ends of the band, is left out.
    """
    top = gr.top_block()
    inputs = len(array.inputs)
    engine, keep = f_engine_of(array, seconds, source, direction, top, start)
    products = inputs * (inputs + 1) // 2
    sink = blocks.vector_sink_c(CHANNELS * products)
    top.connect(
        engine,
        aperture.xengine(
            channels=CHANNELS,
            inputs=inputs,
            spectra_per_frame=125,
            type="fc32",
            integration=frames,
            integration_unit="frames",
        ),
        sink,
    )
    top.run()
    for block in keep:
        assert not getattr(block, "error", lambda: None)()
    found = np.reshape(sink.data(), (-1, CHANNELS, products))[:, 1:]
    hop = CHANNELS / array.sample_rate
    # the first spectrum is in the middle of its 8 taps
    first = start + (8 * CHANNELS - 1) / 2 / array.sample_rate
    return found, first + (np.arange(len(found)) * frames * 125 + (frames * 125 - 1) / 2) * hop


def expected_phases(array, source, times):
    """Degrees [time][channel][product], by a model that shares nothing with what is tested."""
    a, b = np.tril_indices(len(array.inputs))
    tau = np.array(
        [
            geometric_delays(array, source.ra, source.dec, Time(time, format="unix", scale="utc"))
            for time in times
        ]
    )
    tau += [entry.cable_delay for entry in array.inputs]
    frequencies = FREQUENCY + (np.arange(1, CHANNELS) - CHANNELS // 2) * (
        array.sample_rate / CHANNELS
    )
    return -360 * frequencies[:, None] * (tau[:, a] - tau[:, b])[:, None, :]


def wrapped(degrees):
    return (degrees + 180) % 360 - 180


class qa_tracking(gr_unittest.TestCase):
    def test_an_hour(self):
        """
        One continuous run at a low rate. Untracked, phases are those of the geometry and rotate as
        fast as that says; tracked, those of each integration of 2 s are flat within 2 degrees, and
        the means of a minute within 0.2: the source's place (0.06 arc seconds) and the noise.
        """
        array = array_of(200.0, 2000.0)
        source = source_at(array, 110.0, 50.0)
        a, b = np.tril_indices(3)
        crosses = np.flatnonzero(a != b)
        direction = Direction("s", ra=source.ra, dec=source.dec)
        plain, times = correlate(array, 3600, source, None, 2)
        self.assertGreater(len(plain), 1795)
        expected = expected_phases(array, source, times[::60])
        off = wrapped(np.angle(plain[::60], deg=True) - expected)[..., crosses]
        self.assertLess(np.abs(off).max(), 5.5 * NOISE / np.sqrt(250) + 0.3)
        # rates, in degrees a second: the whole hour on the longest baseline
        rotated = np.diff(np.unwrap(np.angle(plain[:, 7, crosses]), axis=0), axis=0)
        rates = np.degrees(rotated.sum(axis=0)) / (times[-1] - times[0])
        ends = expected_phases(array, source, times[[0, -1]])[:, 7, crosses]
        np.testing.assert_allclose(
            rates, (ends[1] - ends[0]) / (times[-1] - times[0]), atol=2 / 3600
        )
        self.assertGreater(np.abs(rates).max(), 10)

        flat, _ = correlate(array, 3600, source, direction, 2)
        self.assertGreater(len(flat), 1795)
        phases = np.angle(flat[1:, :, crosses], deg=True)
        self.assertLess(np.abs(np.angle(flat[1:, :, crosses].mean(axis=1), deg=True)).max(), 2)
        self.assertLess(np.abs(phases).max(), 5.5 * NOISE / np.sqrt(250) + 0.3)
        minutes = flat[1 : 1 + 30 * 59][..., crosses].reshape(59, 30, 15, 3).mean(axis=(1, 2))
        self.assertLess(np.abs(np.angle(minutes, deg=True)).max(), 0.2)

    def test_snapshots(self):
        """
        60 snapshots in an hour on baselines of 3 km, whose delays are up to 10 samples: from east
        over the zenith to the west. Untracked, the slope over the band has the delay's sign.
        """
        array = array_of(3000.0, 1e6, cables=1e-7)
        source = source_at(array, 88.0, 85.4)
        direction = Direction("s", ra=source.ra, dec=source.dec)
        a, b = np.tril_indices(3)
        crosses = np.flatnonzero(a != b)
        worst, sides = [], []
        for minute in range(60):
            start = START + 60 * minute
            found, times = correlate(array, 0.021, source, direction, 5, start)
            worst.append(np.abs(np.angle(found[:, :, crosses].mean(axis=(0, 1)), deg=True)).max())
            # the coherent part: nothing is lost of a delay of 10 samples
            self.assertGreater(
                np.abs(found[..., crosses].mean()) / np.abs(found[..., a == b].mean()),
                0.98 * FLUX / (1 + FLUX),
            )
            if minute % 20 == 0 or minute == 59:
                plain, _ = correlate(array, 0.021, source, None, 5, start)
                expected = expected_phases(array, source, times)
                off = wrapped(np.angle(plain, deg=True) - expected)[..., crosses]
                # a window of 8 us x 16 and a delay of 10 us: what is not common is lost, and noise
                self.assertLess(np.abs(off.mean(axis=(0, 1))).max(), 5)
                slope = np.angle((plain[:, 1:] * plain[:, :-1].conj()).mean(axis=(0, 1)))
                sides.append(np.sign(slope[1]))
        # 1250 spectra of 15 channels are good to 0.1 degrees; 0.06 arc seconds are 1.5
        self.assertLess(max(worst), 2)
        azimuth = [
            float(
                geometry.radec_to_azel(source.ra, source.dec, START + 60 * minute, 52.0, 5.0, 10.0)[
                    0
                ]
            )
            for minute in (0, 59)
        ]
        self.assertLess(azimuth[0], 180)
        self.assertGreater(azimuth[1], 180)
        self.assertEqual(sides[0], -sides[-1])

    def test_beams(self):
        """
        Delays towards one direction and weights that do the rest give the powers that weights alone
        give: for the direction itself, beside it, and for what stands still.
        """
        array = array_of(60.0, 1e6, cables=2e-8)
        source = source_at(array, 200.0, 50.0)
        direction = Direction("s", ra=source.ra, dec=source.dec)
        beams = [
            Beam("s", ra=source.ra, dec=source.dec),
            Beam("beside", ra=source.ra, dec=source.dec + 0.06),
            Beam("fixed", 200.02, 50.03),
        ]
        powers = {}
        for tracked in (None, direction):
            top = gr.top_block()
            points = pointing(
                array, beams, CHANNELS, item_size=24, normalise="signal", tracked=tracked
            )
            power = aperture.beam_power(
                beams=3,
                spectra_per_frame=125,
                type="fc32",
                channels=CHANNELS,
                inputs=3,
                spectra=125 * 40,
            )
            sink = blocks.vector_sink_f(3 * CHANNELS)
            engine, _ = f_engine_of(array, 0.1, source, tracked, top, points=[points])
            top.connect(engine, power, sink)
            top.msg_connect(points, "weights", power, "weights")
            top.run()
            self.assertIsNone(points.error())
            powers[tracked is None] = np.reshape(sink.data(), (-1, 3, CHANNELS))[0][:, 1:]
        ratio = powers[True] / powers[False]
        # without delays the windows of inputs lie beside each other by up to 0.3 us of 16: that
        # much is not coherent
        np.testing.assert_allclose(ratio, 1, atol=0.03)
        np.testing.assert_allclose(ratio.mean(axis=1), 1, atol=0.01)
        # the beams are different ones
        mean = powers[True].mean(axis=1)
        self.assertGreater(mean[0], 1.05 * mean[1])
        self.assertGreater(mean[0], 1.05 * mean[2])


if __name__ == "__main__":
    gr_unittest.run(qa_tracking)

# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Flags in files: what pyuvdata reads of them, and what AOFlagger finds in visibilities of an array
under transmitters, with our flags and without.
"""

import unittest

from places import enter_environment, fresh_folder, main, need_program, run_or_fail

enter_environment("conversion")

import h5py
import numpy as np
from casacore.tables import table
from gnuradio import aperture, gr
from pyuvdata import UVData

from gnuradio.aperture.commands import convert
from gnuradio.aperture.testing.observations import run as run_main

CHANNELS, FRAME, FRAMES, INTEGRATIONS = 64, 512, 8, 24
#: channels with a transmitter, and the integration in which the first is switched on
STEADY, PULSED, FIRST = 20, 41, 8


def observe(path, flagged):
    """Visibilities of 8 antennas; with `flagged`, spectra under interference are left out."""
    array = aperture.load_array("y8")
    width = array.sample_rate / CHANNELS
    length = FRAME * FRAMES / width
    interference = [
        dict(
            frequency=array.center_frequency + (STEADY + 0.1 - CHANNELS / 2) * width,
            power=3 / CHANNELS,
            start=FIRST * length,
        ),
        dict(
            frequency=array.center_frequency + (PULSED - 0.2 - CHANNELS / 2) * width,
            power=20 / CHANNELS,
            period=6.3 * length,
            duty=0.05,
        ),
    ]
    inputs = len(array.inputs)
    ports = dict(inputs=inputs, inputs_per_port=inputs)
    methods = (
        dict(spectra_per_slice=FRAME, kurtosis_false_alarms=0.003, time_sigma=6.0, grown_slices=1)
        if flagged
        else {}
    )
    source = aperture.array_source(
        array,
        samples=CHANNELS * (FRAME * FRAMES * INTEGRATIONS + 7),
        inputs_per_port=inputs,
        interference=interference,
    )
    engine = aperture.f_engine(
        channels=CHANNELS, spectra_per_frame=FRAME, device="cpu", **ports, **methods
    )
    correlator = aperture.xengine(
        channels=CHANNELS,
        inputs=inputs,
        spectra_per_frame=FRAME,
        type="fc32",
        integration=FRAMES,
        device="cpu",
        spectra_per_slice=FRAME if flagged else 0,
    )
    sink = aperture.uvh5_sink(str(path), array, CHANNELS, counts=flagged)
    top = gr.top_block()
    top.connect(source, engine, correlator, sink)
    if flagged:
        top.connect((engine, 1), (correlator, 1))
        top.connect((correlator, 1), (sink, 1))
    top.run()
    if sink.error():
        raise RuntimeError(sink.error())


class TestFlags(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = fresh_folder("flags")
        for name in ("raw", "flagged"):
            observe(cls.folder / f"{name}.uvh5", name == "flagged")

    def test_pyuvdata(self):
        """pyuvdata has the flags and weights, [baseline, time][channel], that were written."""
        path = self.folder / "flagged.uvh5"
        data = UVData.from_file(path)
        with h5py.File(path) as file:
            flags, weights = (file[f"Data/{name}"][..., 0] for name in ("flags", "nsamples"))
        np.testing.assert_array_equal(data.flag_array[..., 0], flags)
        np.testing.assert_array_equal(data.nsample_array[..., 0], weights)
        np.testing.assert_array_equal(flags, weights == 0)
        number = np.unique(data.time_array, return_inverse=True)[1]
        # interference that is on all the time is flagged from its first integration on, and nothing
        # before
        np.testing.assert_array_equal(flags[:, STEADY], number >= FIRST)
        self.assertFalse(np.delete(flags, STEADY, axis=1).any())
        # pulses that are on for 0.315 of an integration flag the slices that they touch and one
        # beside
        pulsed = weights[:, PULSED]
        self.assertTrue(((0.8 < pulsed.mean()) & (pulsed.min() > 0.1)).all())
        self.assertGreater(np.delete(weights, (STEADY, PULSED), axis=1).mean(), 0.97)

    def found(self, name):
        """Fractions [channel] of visibilities of pairs in which AOFlagger finds interference."""
        path = self.folder / f"{name}.ms"
        code, _, errors = run_main(convert, self.folder / f"{name}.uvh5", path)
        self.assertEqual(code, 0, errors)
        run_or_fail(self, "aoflagger", path)
        with table(str(path), ack=False) as rows:
            pairs = rows.getcol("ANTENNA1") != rows.getcol("ANTENNA2")
            return rows.getcol("FLAG")[pairs, :, 0].mean(axis=0)

    def test_aoflagger(self):
        """
        AOFlagger finds both transmitters in visibilities without flags. In those with flags the
        pulses are gone, and it finds no more than in the channels beside.
        """
        need_program(self, "aoflagger")
        raw, flagged = self.found("raw"), self.found("flagged")
        on = 1 - FIRST / INTEGRATIONS
        self.assertGreater(raw[STEADY], 0.95 * on)
        self.assertGreater(flagged[STEADY], 0.95 * on)  # flags that are there already stay
        # a pulse each 6.3 integrations, of which some reach into two
        self.assertGreater(raw[PULSED], 3 / INTEGRATIONS)
        others = np.delete(flagged, (STEADY, PULSED))
        self.assertLess(others.mean(), 0.05)
        self.assertLess(flagged[PULSED], others.mean() + 5 * others.std())


if __name__ == "__main__":
    main()

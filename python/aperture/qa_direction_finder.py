#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Directions of simulated transmitters, found through the whole correlator."""

import csv
import dataclasses
import errno
import os
from unittest import mock

import numpy as np
import pmt
from gnuradio import aperture, blocks, gr, gr_unittest

from gnuradio.aperture.calibration.calibration import Band, Calibration, InputCalibration
from gnuradio.aperture.displays.direction_widget import words_of
from gnuradio.aperture.testing.folders import InFolder

START = 1704067200
CHANNELS, SPECTRA = 32, 100


class qa_direction_finder(InFolder, gr_unittest.TestCase):
    def observe(self, array, seconds, sent=None, described=None, error=None, **options):
        """Runs the correlator; the finder, and its messages. described: what the finder takes for
        the array; error: what ends it."""
        inputs = len(array.inputs)
        source = aperture.array_source(
            array,
            sources=sent,
            samples=int(seconds * array.sample_rate),
            start_time=START,
            inputs_per_port=inputs,
        )
        f_engine = aperture.f_engine(
            channels=CHANNELS, inputs=inputs, inputs_per_port=inputs, spectra_per_frame=SPECTRA
        )
        x_engine = aperture.xengine(
            channels=CHANNELS, inputs=inputs, spectra_per_frame=SPECTRA, integration=8
        )
        finder = aperture.direction_finder(described or array, CHANNELS, **options)
        messages = blocks.message_debug()
        top = gr.top_block()
        top.connect(source, f_engine, x_engine, finder)
        top.msg_connect(finder, "found", messages, "store")
        top.run()
        self.assertEqual(finder.error(), error)
        found = [messages.get_message(number) for number in range(messages.num_messages())]
        return finder, [pmt.to_python(message) for message in found]

    def test_a_moving_transmitter(self):
        """A car that passes is followed within 1 degree, a mast is where it is; messages, the file
        and the fixes say the same."""
        array = aperture.load_array("circle5")
        path = self.path("a.csv")
        finder, messages = self.observe(array, 4.0, filename=path)
        self.assertGreater(len(messages), 35)
        car, mast = array.sources
        place = car.distance * np.array(aperture.geometry.direction(car.azimuth, car.elevation))
        with open(path) as file:
            lines = list(csv.reader(file.read().splitlines()[1:]))
        self.assertEqual(lines.pop(0), ["time", "azimuth", "elevation", "power"])
        row = 0
        for message, fix in zip(messages, finder.fixes()):
            time = sum(message["time"])
            self.assertAlmostEqual(time, fix.time, places=5)
            east, north, _ = place + (time - START) * np.array(car.velocity)
            expected = [np.degrees(np.arctan2(east, north)) % 360, mast.azimuth]
            self.assertEqual(len(message["azimuth"]), 2)
            np.testing.assert_allclose(message["azimuth"], expected, atol=1.0)
            np.testing.assert_allclose(message["power"], [10.0, 6.0], atol=0.7)
            for azimuth, elevation, power in zip(
                message["azimuth"], message["elevation"], message["power"]
            ):
                self.assertTrue(lines[row][0].startswith("2024-01-01T00:00:0"))
                values = [float(value) for value in lines[row][1:]]
                np.testing.assert_allclose(values, [azimuth, elevation, power], atol=6e-3)
                row += 1
        self.assertEqual(row, len(lines))

    def test_start_again(self):
        """Without overwrite a second start of the same flowgraph goes on in its file; a file of
        somebody else is refused."""
        array, path = aperture.load_array("circle5"), self.path("a.csv")
        products = 15
        tags = [
            gr.tag_utils.python_to_tag((0, pmt.intern(key), value, pmt.PMT_F))
            for key, value in (
                ("rx_time", pmt.make_tuple(pmt.from_uint64(START), pmt.from_double(0.0))),
                ("rx_rate", pmt.from_double(10.0)),
                ("rx_freq", pmt.from_double(array.center_frequency)),
                ("bandwidth", pmt.from_double(1e5)),
                ("samples_per_item", pmt.from_uint64(1000)),
                ("spectra", pmt.from_uint64(100)),
                ("counted", pmt.init_u64vector(1, [100])),
            )
        ]
        a = np.exp(2j * np.pi * np.random.default_rng(1).uniform(size=5))
        matrix = np.outer(a, a.conj()) + 0.1 * np.eye(5)
        item = matrix[np.tril_indices(5)].astype(np.complex64)
        finder = aperture.direction_finder(array, 1, filename=path, overwrite=False)
        finder.set_log_level("off")
        source = blocks.vector_source_c(np.tile(item, 3), False, products, tags)
        top = gr.top_block()
        top.connect(source, finder)
        for runs in (1, 2):
            top.run()
            self.assertIsNone(finder.error())
            with open(path) as file:
                lines = file.read().splitlines()
            self.assertEqual([line.startswith("2024") for line in lines[2:]], [True] * 3 * runs)
            source.rewind()
        with open(path, "a") as file:
            file.write("mine\n")
        top.run()
        self.assertRegex(finder.error(), "the file exists, and overwrite is False")

    def test_elevation(self):
        """With search="sky" the elevation of a source is found, told and written; the window shows
        it."""
        path = self.path("a.csv")
        source = [aperture.Source("a", azimuth=77.0, elevation=41.0, flux=10.0)]
        array = aperture.load_array("circle5")
        finder, messages = self.observe(array, 0.5, source, search="sky", filename=path)
        np.testing.assert_allclose(messages[-1]["elevation"], [41.0], atol=0.6)
        np.testing.assert_allclose(messages[-1]["azimuth"], [77.0], atol=0.6)
        with open(path) as file:
            last = file.read().splitlines()[-1].split(",")
        self.assertAlmostEqual(float(last[2]), 41.0, delta=0.6)
        self.assertTrue(any("level plane" in remark for remark in finder.remarks()))
        self.assertRegex(words_of(finder.fixes()[-1]), r"^1 source: azimuth 7\S+° at elevation 4")

    def test_calibration(self):
        """Gains and cables of the description are taken out, unless they were; a file's are."""
        array = aperture.load_array("circle5")
        rng = np.random.default_rng(3)
        plain = dataclasses.replace(array)
        array.inputs = [
            dataclasses.replace(
                entry,
                gain=complex(np.exp(2j * np.pi * rng.uniform())) * rng.uniform(0.5, 2),
                cable_delay=float(rng.uniform(0, 1e-7)),
            )
            for entry in array.inputs
        ]
        source = [aperture.Source("a", azimuth=77.0, elevation=0.0, flux=10.0)]
        options = dict(sources=1)
        good, _ = self.observe(array, 0.5, source, **options)
        self.assertAlmostEqual(good.fixes()[-1].found.azimuths[0], 77.0, delta=0.5)
        # the F-engine here has not done so
        bad, _ = self.observe(array, 0.5, source, calibration="applied", **options)
        self.assertGreater(abs(bad.fixes()[-1].found.azimuths[0] - 77.0), 2.0)
        # a file with the same, for one who knows of no gains
        middle = array.center_frequency
        calibration = Calibration(
            array.name,
            Band(middle - array.sample_rate / 2, array.sample_rate / CHANNELS, CHANNELS),
            [
                InputCalibration(
                    entry.name,
                    -entry.cable_delay,
                    float(np.angle(np.exp(2j * np.pi * middle * entry.cable_delay))),
                    np.full(CHANNELS, 1 / entry.gain),
                )
                for entry in array.inputs
            ],
        )
        path = self.path("a.yml")
        aperture.save_calibration(calibration, path)
        found, _ = self.observe(array, 0.5, source, described=plain, calibration=path, **options)
        self.assertAlmostEqual(found.fixes()[-1].found.azimuths[0], 77.0, delta=0.5)

    def test_full_disk(self):
        """Lines that do not fit are not there at all; the error names the file."""
        write, left, path = os.write, [600], self.path("a.csv")

        def full(descriptor, data):
            left[0] -= memoryview(data).nbytes
            if left[0] < 0:
                write(descriptor, memoryview(data)[:5])
                raise OSError(errno.ENOSPC, "No space left on device")
            return write(descriptor, data)

        with mock.patch("gnuradio.aperture.files.checked_file.os.write", full):
            finder, _ = self.observe(
                aperture.load_array("circle5"),
                4.0,
                filename=path,
                error=f"{path}: No space left on device",
            )
        with open(path) as file:
            text = file.read()
        lines = text.splitlines()[2:]
        self.assertTrue(text.endswith("\n"))
        self.assertGreater(len(lines), 3)
        self.assertEqual({line.count(",") for line in lines}, {3})

    def test_channels(self):
        """An eighth of the channels is enough; a band elsewhere is refused."""
        array = aperture.load_array("circle5")
        array.sources = []
        rate, middle = array.sample_rate, array.center_frequency
        finder, _ = self.observe(
            array,
            0.5,
            [aperture.Source("a", azimuth=10.0, elevation=0.0, flux=3.0)],
            frequency=middle + rate / 4,
            bandwidth=rate / 8,
            sources=1,
        )
        self.assertAlmostEqual(finder.fixes()[-1].found.azimuths[0], 10.0, delta=1.5)
        self.assertRegex(" ".join(finder.remarks()), "plane from 0.73 m")

    def test_refuses(self):
        for options, text in (
            (dict(array="two-dish"), "antennas: 2.*3 to 16"),
            (dict(method="esprit"), "method"),
            (dict(calibration="none.yml"), "none.yml"),
            (dict(filename="/nowhere/a.csv"), "nowhere"),
            (dict(inputs=4), "inputs"),
            (dict(smoothing="spatial"), "smoothing"),
        ):
            with self.assertRaisesRegex((ValueError, OSError), text):
                aperture.direction_finder(**options)


if __name__ == "__main__":
    gr_unittest.run(qa_direction_finder)

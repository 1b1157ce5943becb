#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Visibilities in UVH5 files, read back with h5py; python/aperture/testing/outside has pyuvdata."""

import functools
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from unittest import mock

import h5py
import numpy as np
from astropy.time import Time
from astropy.utils import iers
from gnuradio import blocks, gr, gr_unittest

from gnuradio.aperture import (
    Beam,
    corner_turn,
    filterbank_sink,
    pfb_channelizer,
    receiver_tags,
    snapshot,
    tags,
    uvh5_sink,
    xengine,
)
from gnuradio.aperture.arrays.array_description import Antenna, Input, save_array
from gnuradio.aperture.parameters.ascii_text import ascii_text
from gnuradio.aperture.streams import publishing
from gnuradio.aperture.testing.arrays import make_array
from gnuradio.aperture.testing.disks import immutable, small_disk
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.qa_tools import (
    PATIENCE,
    ByteSource,
    comes_true,
    gr_tag,
    gr_tags,
    run_chain,
)
from gnuradio.aperture.testing.sky_model import geometric_delays
from gnuradio.aperture.tracking.directions import parse_direction

CODES = {"xx": -5, "yy": -6, "xy": -7, "yx": -8, "rr": -1, "ll": -2, "rl": -3, "lr": -4}

# antennas out of order, so that their numbers are not those of the description
PLACES = {
    "B2": (3.0, 40.0, 1.0),
    "A10": (-20.0, 5.0, 0.0),
    "A9": (0.0, 0.0, 0.0),
    "C": (100.0, -50.0, 2.0),
}


def array_of(inputs, antennas=PLACES):
    """A description; inputs as "A9x"."""
    return make_array(
        {name: PLACES[name] for name in antennas},
        inputs=[Input(name[:-1], name[-1]) for name in inputs],
    )


def tags_of(
    item, time=(1704067200, 0.25), frequency=1e8, bandwidth=1e6, spectra=100, counted=(100,)
):
    """Returns the tags that xengine puts on an integration; None leaves a tag out."""
    values = {
        tags.rx_time: time,
        tags.rx_freq: frequency,
        tags.bandwidth: bandwidth,
        tags.spectra: spectra,
        tags.counted: np.array(counted) if counted else None,
    }
    return gr_tags(item, values)


def visibilities_of(voltages):
    """[input][...][channel][time] of integers -> [...][channel][product]: V[a,b], a >= b."""
    a, b = np.tril_indices(len(voltages))
    return np.moveaxis((voltages[a] * voltages[b].conj()).sum(-1), 0, -1)


class qa_uvh5_sink(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "test.uvh5"
        self.rng = np.random.default_rng(1)

    def run_sink(self, array, items, found, path=None, **arguments):
        """Sends items [integration][channel][product] with tags; gives the sink."""
        items = np.asarray(items, np.complex64)
        source = blocks.vector_source_c(items.ravel().tolist(), False, items[0].size, found)
        sink = uvh5_sink(path or self.path, array, items.shape[1], **arguments)
        run_chain(source, sink)
        return sink

    def read(self, path=None):
        """{name: value} of all datasets."""
        found = {}
        with h5py.File(path or self.path, "r") as file:
            file.visititems(
                lambda name, entry: (
                    found.update({name: entry[()]}) if isinstance(entry, h5py.Dataset) else None
                )
            )
        return found

    def random_voltages(self, inputs, *shape):
        """Small integers: their products, and sums of those, are exact in float32."""
        parts = self.rng.integers(-7, 8, (2, inputs, *shape))
        return parts[0] + 1j * parts[1]

    def expect(self, names, voltages, file):
        """Each product of the file is what its definition says, from voltages by input's name."""
        voltage = dict(zip(names, voltages))
        antennas = [name.decode() for name in file["Header/antenna_names"]]
        codes = {code: name for name, code in CODES.items()}
        products = [codes[code] for code in file["Header/polarization_array"]]
        rows = len(file["Header/ant_1_array"])
        seen = set()
        for row in range(rows):
            one, two = (antennas[file[f"Header/ant_{i}_array"][row]] for i in (1, 2))
            moment = row // file["Header/Nbls"]
            for column, (p, q) in enumerate(products):
                first, second = voltage.get(one + p), voltage.get(two + q)
                values, flags, nsamples = (
                    file[f"Data/{name}"][row, :, column]
                    for name in ("visdata", "flags", "nsamples")
                )
                there = first is not None and second is not None
                np.testing.assert_array_equal(flags, not there)
                np.testing.assert_array_equal(nsamples, 1 if there else 0)
                expected = 0
                if there:
                    expected = (first[moment].conj() * second[moment]).sum(-1)
                    seen |= {(one + p, two + q), (two + q, one + p)}
                np.testing.assert_array_equal(values, expected)
        # every product of the X-engine is in the file
        self.assertEqual(seen, {(a, b) for a in names for b in names})

    # ---- products

    def test_products(self):
        for names in (
            ["B2x", "A10x", "A9x", "Cx"],
            ["A9y", "B2x", "A9x", "Cy", "B2y", "A10x", "A10y", "Cx"],
            ["A9l", "B2l", "B2r", "A9r"],
            ["B2y"],
            ["B2x", "B2y"],
            # antennas with one of two polarisations, and one without inputs
            ["B2y", "A9x", "A10x", "A10y"],
        ):
            voltages = self.random_voltages(len(names), 3, 5, 20)
            found = [tag for i in range(3) for tag in tags_of(i, (1704067200 + i, 0.0))]
            sink = self.run_sink(array_of(names), visibilities_of(voltages), found)
            self.assertIsNone(sink.error())
            self.assertEqual(sink.integrations(), 3)
            file = self.read()
            self.assertEqual(
                [name.decode() for name in file["Header/antenna_names"]], ["A9", "A10", "B2", "C"]
            )
            feeds = {name[-1] for name in names}
            self.assertEqual(
                set(file["Header/polarization_array"]), {CODES[p + q] for p in feeds for q in feeds}
            )
            self.expect(names, voltages, file)

    def assert_same_files(self, one, two):
        one, two = self.read(one), self.read(two)
        self.assertEqual(one.keys(), two.keys())
        for name in one:
            if name != "Header/history":
                np.testing.assert_array_equal(one[name], two[name], name)

    def test_order_of_inputs(self):
        names = ["A9x", "A9y", "B2x", "B2y", "A10x", "A10y", "Cy"]
        voltages = self.random_voltages(len(names), 2, 5, 20)
        counts = {frozenset((a, b)): int(self.rng.integers(0, 101)) for a in names for b in names}
        for i in range(6):
            order = self.rng.permutation(len(names)) if i else np.arange(len(names))
            shuffled = [names[k] for k in order]
            array = array_of(shuffled, self.rng.permutation(list(PLACES)))
            counted = [
                counts[frozenset((shuffled[a], shuffled[b]))]
                for a in range(len(names))
                for b in range(a + 1)
            ]
            found = tags_of(0, counted=counted) + tags_of(1, (1704067201, 0.0), counted=counted)
            self.run_sink(array, visibilities_of(voltages[order]), found, self.folder / f"{i}.uvh5")
            self.assert_same_files(self.folder / "0.uvh5", self.folder / f"{i}.uvh5")

    def test_order_through_the_chain(self):
        names = ["A9x", "A9y", "B2x", "B2y", "A10x"]
        samples = self.rng.integers(-40, 41, (5000, len(names), 2)).astype(np.int8)
        for i, order in enumerate(([0, 1, 2, 3, 4], [4, 1, 3, 0, 2])):
            array = array_of([names[k] for k in order])
            moved = np.ascontiguousarray(samples[:, order])
            start = {tags.rx_time: (1704067200, 0.5), tags.rx_freq: 1e8, tags.rx_rate: 1e6}
            found = gr_tags(0, start)
            n, inputs = 16, len(names)
            source = blocks.vector_source_b(
                moved.view(np.uint8).ravel().tolist(), False, 2 * inputs, found
            )
            sink = uvh5_sink(self.folder / f"{i}.uvh5", array, n)
            run_chain(
                source,
                pfb_channelizer(
                    channels=n,
                    inputs=inputs,
                    inputs_per_port=inputs,
                    input_type="sc8",
                    output_type="sc8",
                    taps=4,
                ),
                corner_turn(
                    channels=n,
                    inputs=inputs,
                    inputs_per_port=inputs,
                    spectra_per_frame=16,
                    type="sc8",
                ),
                xengine(channels=n, inputs=inputs, spectra_per_frame=16, type="sc8", integration=3),
                sink,
            )
            self.assertIsNone(sink.error())
            # 309 spectra: 6 integrations of 48, and one of 21 that a block is filled up to 32
            self.assertEqual(sink.integrations(), 7)
        self.assert_same_files(self.folder / "0.uvh5", self.folder / "1.uvh5")
        file = self.read(self.folder / "0.uvh5")
        self.assertTrue(np.all(np.any(file["Data/visdata"] != 0, axis=(1, 2))))
        # a spectrum is 16 us; the first one's time is (4 16 - 1)/2 samples after the start
        rows = int(file["Header/Nbls"])
        lengths = np.array([48] * 6 + [32])
        np.testing.assert_array_equal(file["Header/integration_time"][::rows], lengths * 16e-6)
        np.testing.assert_array_equal(
            file["Data/nsamples"][::rows, 0, 0], np.array([1] * 6 + [21 / 32], np.float32)
        )
        middles = 31.5e-6 + 16e-6 * (np.cumsum(lengths) - lengths + (lengths - 1) / 2)
        # a double is good to 40 us in a Julian date, half of it when rounded
        np.testing.assert_allclose(
            (file["Header/time_array"][::rows] - 2460310.5) * 86400,
            0.5 + middles,
            rtol=0,
            atol=21e-6,
        )

    # ---- what stands around them

    def test_header(self):
        names = ["A9x", "A9y", "B2x"]
        for channels in (1, 4, 5):
            values = np.zeros((2, channels, 6))
            # 1.5 MHz: a spectrum every channels / 1.5e6 seconds
            found = tags_of(0, (1704067199, 0.75), 1.4e9, 1.5e6, 3000, [3000]) + tags_of(
                1, (1704067201, 0.0), None, None, 1000, [1000]
            )
            self.run_sink(array_of(names), values, found, mount="alt-az", history="as it was")
            file = self.read()
            width = 1.5e6 / channels
            np.testing.assert_allclose(
                file["Header/freq_array"],
                1.4e9 + (np.arange(channels) - channels // 2) * width,
                rtol=1e-15,
            )
            np.testing.assert_array_equal(file["Header/channel_width"], [width] * channels)
            self.assertEqual(file["Header/history"], b"as it was")
            self.assertEqual(file["Header/telescope_name"], b"test")
            self.assertEqual(list(file["Header/mount_type"]), [b"alt-az"] * 4)
            self.assertEqual(
                (
                    file["Header/Ntimes"],
                    file["Header/Nbls"],
                    file["Header/Nblts"],
                    file["Header/Nants_data"],
                    file["Header/Nants_telescope"],
                    file["Header/Nfreqs"],
                    file["Header/Npols"],
                ),
                (2, 3, 6, 2, 4, channels, 4),
            )
            hop = channels / 1.5e6
            np.testing.assert_allclose(
                file["Header/integration_time"][::3], [3000 * hop, 1000 * hop], rtol=1e-15
            )
            np.testing.assert_allclose(
                (file["Header/time_array"][::3] - 2460310.5) * 86400,
                [-0.25 + 2999 / 2 * hop, 1.0 + 999 / 2 * hop],
                rtol=0,
                atol=21e-6,
            )
            # A9 -> B2, east, north, up
            np.testing.assert_array_equal(
                file["Header/uvw_array"][:3], [(0, 0, 0), (3, 40, 1), (0, 0, 0)]
            )
            # geocentric, about the site, at 52 north, 5 east
            east, north, up = (
                np.array(vector)
                for vector in (
                    (-0.08715574, 0.99619470, 0.0),
                    (-0.78501213, -0.06867966, 0.61566148),
                    (0.61331870, 0.05365843, 0.78801075),
                )
            )
            np.testing.assert_allclose(
                file["Header/antenna_positions"][2], 3 * east + 40 * north + up, rtol=0, atol=1e-6
            )

    def test_compression(self):
        """Nothing is lost, and sums of small integers become smaller."""
        rng = np.random.default_rng(8)
        voltages = rng.integers(-7, 8, (3, 4, 64, 300)) + 1j * rng.integers(-7, 8, (3, 4, 64, 300))
        values, sizes = visibilities_of(voltages), {}
        for compression in ("none", "lzf", "gzip"):
            found = [
                tag
                for item in range(4)
                for tag in tags_of(
                    item,
                    (1704067200 + item, 0.25) if item == 0 else None,
                    spectra=300,
                    counted=(300,),
                )
            ]
            self.run_sink(array_of(["A9x", "A9y", "B2x"]), values, found, compression=compression)
            with h5py.File(self.path, "r") as file:
                data = file["Data/visdata"]
                self.assertEqual(data.compression, {"none": None}.get(compression, compression))
                sizes[compression] = data.id.get_storage_size()
                read = data[()]
            if compression == "none":
                plain = read
            np.testing.assert_array_equal(read, plain)
        self.assertGreater(np.abs(plain).max(), 1000)
        self.assertLess(sizes["gzip"], 0.6 * sizes["none"])
        self.assertLess(sizes["lzf"], 0.8 * sizes["none"])

    def test_statistics(self):
        """Statistics that a snapshot takes of the frames come into a group of its own, whole."""
        channels, inputs, spectra, n = 16, 2, 64, 40
        rng = np.random.default_rng(2)
        frames = np.rint(
            rng.normal(size=(n, channels, inputs, spectra, 2)) * [[[[20]], [[5]]]]
        ).astype(np.int8)
        found = [
            (0, tags.rx_time, (1704067200, 0.5)),
            (0, tags.rx_freq, 1e8),
            (0, tags.rx_rate, 1e6 / channels / spectra),
            (0, tags.bandwidth, 1e6),
        ]
        size = 2 * channels * inputs * spectra
        taken = threading.Event()
        # the last integration comes when a frame has been taken
        source = ByteSource(frames.view(np.uint8).reshape(n, size), found, gates={n - 4: taken})
        tap = snapshot(item_size=size, rate=1e6, depth=4)
        sink = uvh5_sink(
            self.path, array_of(["B2x", "A9x"]), channels, statistics=tap, statistics_type="sc8"
        )
        top = gr.top_block()
        top.connect(source, tap)
        top.connect(
            source,
            xengine(
                channels=channels,
                inputs=inputs,
                spectra_per_frame=spectra,
                type="sc8",
                integration=4,
            ),
            sink,
        )
        top.start()
        comes_true(lambda: tap.read() is not None)
        taken.set()
        top.wait()
        self.assertIsNone(sink.error())
        self.assertEqual(sink.integrations(), 10)
        file = self.read()
        self.assertEqual(list(file["InputStatistics/inputs"]), [b"B2x", b"A9x"])
        times = (file["InputStatistics/time_array"] - 2460310.5) * 86400 - 0.5
        self.assertGreater(len(times), 0)
        for row, middle in enumerate(times):
            # the middle of 64 spectra, 31.5 spectra behind the first; a Julian date is good to
            # 40 us, a twentieth of a frame
            number = round((middle - 31.5 * 16e-6) / (64 * 16e-6))
            self.assertAlmostEqual(middle, (64 * number + 31.5) * 16e-6, delta=5e-5)
            part = frames[number].astype(float)
            for name, component in (("rms_re", 0), ("rms_im", 1)):
                np.testing.assert_allclose(
                    file[f"InputStatistics/{name}"][row],
                    np.sqrt((part[..., component] ** 2).mean(axis=(0, 2))),
                    rtol=1e-6,
                )
            self.assertEqual(file["InputStatistics/spectra"][row], 64)
        self.assertAlmostEqual(sink.statistics().kurtosis[0], 1, delta=0.2)

    def test_sidereal_time(self):
        # against astropy, at times that the astropy of a stable distribution knows UT1 of, a
        # leap second's day among them; 5 ms is what pyuvdata allows
        for date in (
            "2001-02-03T04:05:06",
            "2013-07-02T01:39:20",
            "2016-12-31T23:00:00",
            "2021-08-09T10:11:12",
        ):
            moment = Time(date, scale="utc")
            seconds = int(np.datetime64(date).astype("datetime64[s]").astype(int))
            self.run_sink(
                array_of(["A9x"]), [[[1]]], tags_of(0, (seconds, 0.0), spectra=1, counted=[1])
            )
            file = self.read()
            self.assertAlmostEqual(file["Header/time_array"][0], moment.jd, delta=5e-10)
            with iers.conf.set_temp("auto_download", False):
                expected = moment.sidereal_time("apparent", longitude="5d").radian
            error = np.angle(np.exp(1j * (file["Header/lst_array"][0] - expected)))
            self.assertLess(abs(error) / (2 * np.pi) * 86400, 5e-3)

    def test_counted(self):
        # products that lack spectra, and one that has none
        counted = [100, 50, 25, 0, 100, 1]
        values = np.ones((1, 4, 6))
        self.run_sink(array_of(["A9x", "A10x", "B2x"]), values, tags_of(0, counted=counted))
        file = self.read()
        # inputs 0, 1, 2 are antennas 0, 1, 2: rows are (0,0) (0,1) (0,2) (1,1) (1,2) (2,2)
        expected = np.array([100, 50, 0, 25, 100, 1]) / 100
        np.testing.assert_array_equal(
            file["Data/nsamples"][:, :, 0],
            np.repeat(expected[:, np.newaxis].astype(np.float32), 4, axis=1),
        )
        np.testing.assert_array_equal(file["Data/flags"], file["Data/nsamples"] == 0)

    def test_what_was_said_holds(self):
        """Two integrations in a row are lost, and whole again where it is said; times go on at
        rx_rate from the last rx_time."""
        known = dict(time=None, frequency=None, bandwidth=None, spectra=None)
        found = [
            *tags_of(0, (1704067200, 0.9), spectra=3000, counted=[3000]),
            *gr_tags(0, {tags.rx_rate: 2.5}),
            *tags_of(2, **known, counted=[0]),
            *tags_of(4, **known, counted=[3000]),
        ]
        self.run_sink(array_of(["A9x"]), np.ones((7, 100, 1)), found)
        file = self.read()
        np.testing.assert_array_equal(
            file["Data/nsamples"][:, 0, 0], np.array([1, 1, 0, 0, 1, 1, 1], np.float32)
        )
        np.testing.assert_allclose(
            (file["Header/time_array"] - 2460310.5) * 86400,
            0.9 + 0.4 * np.arange(7) + 2999 / 2 * 1e-4,
            rtol=0,
            atol=21e-6,
        )

    def test_clock_goes_on(self):
        # without rx_time an integration follows the one before
        found = [
            tag
            for i in range(4)
            for tag in tags_of(
                i,
                (1704067200, 0.9) if i == 0 else None,
                spectra=4000 - 1000 * (i == 2),
                counted=[3000],
            )
        ]
        self.run_sink(array_of(["A9x"]), np.ones((4, 100, 1)), found)
        # 100 channels of 10 kHz: 0.1 ms a spectrum
        starts = np.array([0.9, 1.3, 1.7, 2.0])
        np.testing.assert_allclose(
            (self.read()["Header/time_array"] - 2460310.5) * 86400,
            starts + np.array([3999, 3999, 2999, 3999]) / 2 * 1e-4,
            rtol=0,
            atol=21e-6,
        )

    # ---- start and end

    def test_restart(self):
        items = np.arange(24, dtype=np.complex64).reshape(4, 6, 1)
        found = [tag for i in range(4) for tag in tags_of(i, (1704067200 + i, 0.0))]
        source = blocks.vector_source_c(items.ravel().tolist(), False, 6, found)
        sink = uvh5_sink(self.path, array_of(["A9x"]), 6)
        top = gr.top_block()
        top.connect(source, sink)
        top.run()
        self.path.rename(self.folder / "first.uvh5")
        source.rewind()
        top.run()
        self.assertEqual(sink.integrations(), 4)
        self.assert_same_files(self.folder / "first.uvh5", self.path)
        self.assertEqual(
            sorted(entry.name for entry in self.folder.iterdir()), ["first.uvh5", "test.uvh5"]
        )

    def test_nothing_came(self):
        self.path.write_text("precious")
        sink = uvh5_sink(self.path, array_of(["A9x"]), 6)
        run_chain(blocks.null_source(48), blocks.head(48, 0), sink)
        self.assertIsNone(sink.error())
        self.assertEqual(sink.integrations(), 0)
        self.assertEqual(self.path.read_text(), "precious")

    def test_many_integrations(self):
        # more than one call of work() takes
        count = 3000
        found = [
            tag
            for i in range(count)
            for tag in tags_of(i, (1704067200 + i, 0.0) if i == 0 else None)
        ]
        items = np.arange(count).reshape(-1, 1, 1)
        sink = self.run_sink(array_of(["A9x"]), items, found)
        self.assertEqual(sink.integrations(), count)
        np.testing.assert_array_equal(self.read()["Data/visdata"][:, 0, 0], np.arange(count))

    # ---- errors

    def expect_error(self, found, *words, items=((1,),), kept=0):
        sink = self.run_sink(array_of(["A9x"]), np.asarray(items)[:, :, np.newaxis], found)
        for word in (str(self.path), *words):
            self.assertIn(word, sink.error())
        self.assertNotIn("\n", sink.error())
        self.assertEqual(sink.integrations(), kept)
        self.assertEqual(self.path.exists(), kept > 0)

    def test_tags_missing(self):
        self.expect_error(tags_of(0, time=None), "no rx_time")
        self.expect_error(tags_of(0, frequency=None), "no rx_freq")
        self.expect_error(tags_of(0, bandwidth=None), "no bandwidth")
        self.expect_error(tags_of(0, spectra=None), "no spectra")
        self.expect_error(tags_of(0, counted=None), "no counted: connect the X-engine's output")
        self.expect_error(
            tags_of(0, None, None, None),
            "no rx_time, rx_freq, bandwidth: ",
            "only if the source tells them",
            "first sample must have the tags rx_time, rx_rate and rx_freq",
            "Sources without tags",
        )
        self.expect_error([], "no rx_time, rx_freq, bandwidth, spectra, counted")

    def test_a_source_without_tags(self):
        """Behind one, the message names what the source has to send, and receiver_tags sends it."""
        for tagged in (False, True):
            sink = uvh5_sink(self.path, array_of(["A9x", "A10x"]), 16)
            transpose = corner_turn(channels=16, inputs=2, type="fc32", spectra_per_frame=16)
            bank = pfb_channelizer(channels=16, inputs=2, output_type="fc32")
            top = gr.top_block()
            kept = [
                receiver_tags(
                    item_size=8,
                    rate=2e6,
                    center_frequency=1.42e9,
                    clock="given",
                    start_time=(1704067200, 0.5),
                )
                for _ in range(2)
            ]
            for port in range(2):
                source = blocks.vector_source_c(self.random_voltages(1, 4000)[0].tolist())
                chain = (source, kept[port]) if tagged else (source,)
                top.connect(*chain, (bank, port), (transpose, port))
            top.connect(
                transpose,
                xengine(channels=16, inputs=2, type="fc32", spectra_per_frame=16, integration=2),
                sink,
            )
            top.run()
            if not tagged:
                self.assertRegex(sink.error(), "no rx_.*rx_rate and rx_freq")
                continue
            self.assertIsNone(sink.error())
            file = self.read()
            self.assertEqual(file["Header/freq_array"][8], 1.42e9)
            self.assertEqual(file["Header/channel_width"][0], 2e6 / 16)
            self.assertAlmostEqual(
                (file["Header/time_array"][0] - 2460310.5) * 86400, 0.5, delta=1e-3
            )

    def test_tags_wrong(self):
        self.expect_error(tags_of(0, bandwidth=-1e6), "bandwidth -1000000.0", "above 0")
        self.expect_error(tags_of(0, frequency=float("nan")), "rx_freq nan", "finite")
        self.expect_error(tags_of(0, counted=[101]), "spectra 100", "101")
        self.expect_error(tags_of(0, counted=[1, 2]), "2 counts", "1 products")
        found = [*tags_of(0, time=None), gr_tag(0, tags.rx_time, 1.5)]
        self.expect_error(found, "rx_time 1.5")

    def test_frequency_changes(self):
        found = tags_of(0) + tags_of(1, frequency=1.1e8)
        sink = self.run_sink(array_of(["A9x"]), np.ones((2, 1, 1)), found)
        self.assertIn("rx_freq 110000000.0 Hz", sink.error())
        self.assertIn("one setting", sink.error())
        self.assertEqual(sink.integrations(), 1)
        self.assertEqual(self.read()["Header/Ntimes"], 1)

    def test_a_file_for_each_frequency(self):
        """With {time} in the name; what a later tag leaves out is as before."""
        start = 1704067200
        found = tags_of(0) + tags_of(3, (start + 7, 0.5), 1.1e8, bandwidth=None)
        # twice within one second, where no clock is said
        found += tags_of(4, time=None, frequency=1.2e8) + tags_of(5, (start + 7, 0.75), 1.1e8)
        for item in (1, 2, 6):
            found += tags_of(item, time=None, frequency=None, bandwidth=None)
        sink = self.run_sink(
            array_of(["A9x"]), np.arange(7).reshape(7, 1, 1), found, self.folder / "vis-{time}.uvh5"
        )
        self.assertIsNone(sink.error())
        expected = [
            ("vis-20240101T000000Z", 1e8, [0, 1, 2], 0.25),
            ("vis-20240101T000007Z", 1.1e8, [3], 7.5),
            ("vis-20240101T000007Z-2", 1.2e8, [4], 7.5 + 1e-4),
            ("vis-20240101T000007Z-3", 1.1e8, [5, 6], 7.75),
        ]
        self.assertEqual(sink.files(), [str(self.folder / f"{name}.uvh5") for name, *_ in expected])
        self.assertEqual(sink.integrations(), 7)
        for path, (_, frequency, values, seconds) in zip(sink.files(), expected):
            file = self.read(path)
            self.assertEqual(file["Header/freq_array"][0], frequency)
            np.testing.assert_array_equal(file["Data/visdata"][:, 0, 0], values)
            # the middle of 100 spectra of a microsecond
            self.assertAlmostEqual(
                (file["Header/time_array"][0] - 2460310.5) * 86400, seconds + 49.5e-6, delta=1e-4
            )

    def test_disk_full(self):
        # a limit of the file size stands for the disk; the limit is this process's
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, before[1]))
        try:
            found = [tag for i in range(200) for tag in tags_of(i, (1704067200 + i, 0.0))]
            items = np.repeat(np.arange(200), 2000).reshape(200, 2000, 1)
            sink = self.run_sink(array_of(["A9x"]), items, found)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        self.assertIn(f"{self.path}: File too large", sink.error())
        # 16 kB an integration, and 350 kB of reserve
        self.assertGreater(sink.integrations(), 50)
        self.assertLess(sink.integrations(), 130)
        file = self.read()
        self.assertEqual(file["Header/Ntimes"], sink.integrations())
        np.testing.assert_array_equal(file["Data/visdata"][:, 0, 0], np.arange(sink.integrations()))
        self.assertEqual(os.listdir(self.folder), ["test.uvh5"])

    def test_disk_nearly_full(self):
        """Before there were 28 kB, HDF5 ended the process with a segmentation fault."""
        count = 200
        found = [tag for i in range(count) for tag in tags_of(i, (1704067200 + i, 0.0))]
        items = np.repeat(np.arange(count), 500).reshape(count, 500, 1)
        with small_disk(self, 600) as disk:
            path = disk / "test.uvh5"
            for free in (8, 12, 20, 27, 28, 40, 200, 400, 560):
                size = os.statvfs(disk).f_bavail * 4096 - free * 1024
                (disk / "ballast").write_bytes(bytes(size))
                sink = self.run_sink(array_of(["A9x"]), items, found, path)
                self.assertRegex(sink.error(), f"^{path}: .*No space left on device$")
                if path.exists():
                    self.assertEqual(self.read(path)["Header/Ntimes"], sink.integrations())
                else:
                    self.assertEqual(sink.integrations(), 0)
                self.assertLessEqual(set(os.listdir(disk)), {"ballast", "test.uvh5"})
                for name in os.listdir(disk):
                    os.unlink(disk / name)

    def test_folder_becomes_immutable(self):
        """The file goes on growing; that the lock's file stays is told at the end."""
        found = [tag for i in range(10) for tag in tags_of(i, (1704067200 + i, 0.0))]
        logged = []
        sink = uvh5_sink(self.path, array_of(["A9x"]), 1, publish_every=0)

        class log:
            error = warn = staticmethod(logged.append)

        class until(gr.sync_block):
            """Hands on one by one, and makes the folder immutable in front of the sixth."""

            def __init__(self):
                gr.sync_block.__init__(self, "until", [np.complex64], [np.complex64])

            def work(self, input_items, output_items):
                item = self.nitems_read(0)
                if item == 5:
                    comes_true(lambda: sink.integrations() >= 5)
                    subprocess.run(["chattr", "+i", folder], check=True)
                output_items[0][0] = input_items[0][0]
                return 1

        folder, sink.logger = str(self.folder), log
        with immutable(self, folder):
            subprocess.run(["chattr", "-i", folder], check=True)
            source, between = blocks.vector_source_c(list(range(1, 11)), False, 1, found), until()
            run_chain(source, between, sink)
            self.assertRegex(sink.error(), f"^{self.path}: .*not permitted$")
            self.assertEqual(logged, [sink.error()])
            self.assertEqual(sink.integrations(), 10)
            np.testing.assert_array_equal(self.read()["Data/visdata"][:, 0, 0], range(1, 11))

    # ---- when what was written is published

    def publishing(self, items, length=0.125, **arguments):
        """Sends items to a sink whose clock is the time that the integrations have taken, one in a
        call; gives the sink, and the file's integrations and the sink's after each."""
        seen, moment = [], [0.0]
        sink = uvh5_sink(self.path, array_of(["A9x"]), 1, **arguments)
        write = sink._write

        def one_by_one(given, *counts):
            moment[0] += length
            write(given, *counts)
            seen.append((int(self.read()["Header/Ntimes"]), sink.integrations()))

        sink._write = one_by_one
        # 100 spectra of a channel of this width
        found = [
            tag
            for item in range(items)
            for tag in tags_of(item, (1704067200, 0.0) if item == 0 else None, 1e8, 100 / length)
        ]
        sink.set_max_noutput_items(1)
        source = blocks.vector_source_c(list(range(items)), False, 1, found)
        with mock.patch("gnuradio.aperture.streams.publishing.clock", lambda: moment[0]):
            run_chain(source, sink)
        self.assertIsNone(sink.error())
        np.testing.assert_array_equal(self.read()["Data/visdata"][:, 0, 0], np.arange(items))
        self.assertEqual(sink.integrations(), items)
        return [pair[0] for pair in seen if self.assertEqual(*pair) is None]

    def test_publish_every(self):
        # the first at once, then as often as that, and all at the end
        self.assertEqual(self.publishing(21), [1] * 8 + [9] * 8 + [17] * 5)
        self.assertEqual(self.publishing(10, publish_every=0.5), [1] * 4 + [5] * 4 + [9] * 2)
        for length, every in ((0.125, 0), (1.0, 1.0), (3.0, 1.0), (0.25, 0.25)):
            self.assertEqual(
                self.publishing(5, length, publish_every=every), [1, 2, 3, 4, 5], (length, every)
            )
        with self.assertRaisesRegex(ValueError, "publish_every: -1"):
            uvh5_sink(self.path, array_of(["A9x"]), 1, publish_every=-1)

    def test_published_while_nothing_comes(self):
        """The sink publishes in time although the stream has stopped."""
        sink = uvh5_sink(self.path, array_of(["A9x"]), 1, publish_every=0.05)
        found = [tag for i in range(9) for tag in tags_of(i, (1704067200 + i, 0.0))]
        more = threading.Event()

        class until(gr.sync_block):
            """Hands on one by one, and waits in front of the last."""

            def __init__(self):
                gr.sync_block.__init__(self, "until", [np.complex64], [np.complex64])

            def work(self, input_items, output_items):
                if self.nitems_read(0) == 8:
                    more.wait(PATIENCE)
                output_items[0][0] = input_items[0][0]
                return 1

        source, between = blocks.vector_source_c(list(range(9)), False, 1, found), until()
        top = gr.top_block()
        top.connect(source, between, sink)
        top.start()
        comes_true(lambda: sink.integrations() == 8)
        np.testing.assert_array_equal(self.read()["Data/visdata"][:, 0, 0], np.arange(8))
        more.set()
        top.wait()
        self.assertIsNone(sink.error())
        self.assertEqual(sink.integrations(), 9)

    def test_roll_over_with_something_unpublished(self):
        """A file that ends is whole, whatever was not published yet."""
        found = tags_of(0) + tags_of(7, time=None, frequency=1.1e8)
        for item in (*range(1, 7), 8, 9):
            found += tags_of(item, time=None, frequency=None, bandwidth=None)
        with mock.patch("gnuradio.aperture.streams.publishing.clock", lambda: 0.0):
            sink = self.run_sink(
                array_of(["A9x"]),
                np.arange(10).reshape(10, 1, 1),
                found,
                self.folder / "{time}.uvh5",
            )
        self.assertIsNone(sink.error())
        self.assertEqual(sink.integrations(), 10)
        for path, values in zip(sink.files(), (range(7), range(7, 10))):
            np.testing.assert_array_equal(self.read(path)["Data/visdata"][:, 0, 0], values)

    # ---- what is no number, or no signal

    def test_not_numbers(self):
        """NaN and infinite products are 0, with no weight in their channels; others stay."""
        names, channels = ["A9x", "B2x", "A9y"], 5
        voltages = self.random_voltages(3, 3, channels, 40)
        items = visibilities_of(voltages).astype(np.complex64)
        bad = np.zeros(items.shape, bool)
        bad[0, 1, 0] = bad[0, 4, 4] = bad[2, :, 2] = True
        items[bad] = self.rng.choice(
            [np.nan, complex(0, np.inf), complex(-np.inf, np.nan)], bad.sum()
        )
        found = [tag for i in range(3) for tag in tags_of(i, (1704067200 + i, 0.0))]
        sink = self.run_sink(array_of(names), items, found)
        self.assertIsNone(sink.error())
        file = self.read()
        samples, flags, values = (file[f"Data/{name}"] for name in ("nsamples", "flags", "visdata"))
        self.assertTrue(np.isfinite(values).all())
        np.testing.assert_array_equal(flags, samples == 0)
        self.assertFalse(values[flags].any())
        everything = self.run_sink(
            array_of(names), visibilities_of(voltages), found, self.folder / "good.uvh5"
        )
        self.assertIsNone(everything.error())
        good = self.read(self.folder / "good.uvh5")
        lost = (good["Data/nsamples"] > 0) & flags
        # each product of the X-engine has one cell, or two of cross-hands within an antenna
        within = {0: 1, 1: 1, 2: 1, 3: 2, 4: 1, 5: 1}  # A9x; B2x A9x; B2x; A9y A9x; A9y B2x; A9y
        self.assertEqual(lost.sum(), sum(within[p] * bad[..., p].sum() for p in range(6)))
        np.testing.assert_array_equal(values[~flags], good["Data/visdata"][~flags])

    def test_stuck_receiver(self):
        """
        No product has a weight while an input is zero, or constant but for what the filter lets
        through and rounding, and a warning names it.
        """
        names, channels = ["A9x", "B2x", "A10x"], 32
        voltages = 20 * self.random_voltages(3, 4, channels, 40)
        voltages[1, 1] = 0
        # a constant of 28 steps behind a filter of 4 taps
        voltages[2, 2:] *= 1e-8
        for distance, level in enumerate((0, -44.4, -74.9, -90, -100.3)):
            for channel in {16 - distance, 16 + distance}:
                voltages[2, 2:, channel] += 2800 * 10 ** (level / 20)
        # a strong carrier in the middle channel is none
        voltages[0, :, 16] *= 1e3
        logged = []

        class log:
            warn = error = staticmethod(logged.append)

        found = [tag for i in range(4) for tag in tags_of(i, (1704067200 + i, 0.0))]
        sink = uvh5_sink(self.path, array_of(names), channels)
        sink.logger = log
        source = blocks.vector_source_c(
            visibilities_of(voltages).astype(np.complex64).ravel().tolist(),
            False,
            channels * 6,
            found,
        )
        run_chain(source, sink)
        self.assertIsNone(sink.error())
        file = self.read()
        antennas = [name.decode() for name in file["Header/antenna_names"]]
        ends = np.array(
            [[antennas[number] for number in file[f"Header/ant_{i}_array"]] for i in (1, 2)]
        )
        moment = np.arange(ends.shape[1]) // file["Header/Nbls"]
        silent = ((ends == "B2").any(axis=0) & (moment == 1)) | (
            (ends == "A10").any(axis=0) & (moment >= 2)
        )
        np.testing.assert_array_equal(
            file["Data/nsamples"][..., 0], np.repeat(~silent[:, np.newaxis], channels, axis=1)
        )
        np.testing.assert_array_equal(file["Data/flags"], file["Data/nsamples"] == 0)
        self.assertEqual(len(logged), 2)
        self.assertRegex(logged[0], "input B2x does not change from 2024-01-01T00:00:01")
        self.assertRegex(logged[1], "input A10x does not change from 2024-01-01T00:00:02")

    # ---- names

    def test_time_in_the_name(self):
        pattern = self.folder / "vis-{time}.uvh5"
        for seconds, text in (
            (1704067200, "20240101T000000Z"),
            (1704110399, "20240101T115959Z"),
            (951825599, "20000229T115959Z"),
        ):
            sink = self.run_sink(array_of(["A9x"]), [[[1]]], tags_of(0, (seconds, 0.25)), pattern)
            self.assertIsNone(sink.error())
            self.assertEqual(sink.files()[0], str(self.folder / f"vis-{text}.uvh5"))
            self.assertTrue(Path(sink.files()[0]).exists())
        self.assertEqual(len(os.listdir(self.folder)), 3)
        self.assertEqual(uvh5_sink(pattern, array_of(["A9x"]), 1).files(), [str(pattern)])
        # known only when it comes
        sink = self.run_sink(
            array_of(["A9x"]), [[[1]]], tags_of(0, (1704067200, 0.0)), pattern, overwrite=False
        )
        self.assertRegex(
            sink.error(), "vis-20240101T000000Z.uvh5: the file exists, and overwrite is False"
        )

    def test_names_that_are_no_utf8(self):
        path = os.path.join(os.fsencode(self.folder), b"caf\xe9.uvh5")
        sink = self.run_sink(array_of(["A9x"]), [[[1]]], tags_of(0), path)
        self.assertIsNone(sink.error())
        self.assertTrue(os.path.exists(path))
        sink = self.run_sink(array_of(["A9x"]), [[[1]]], [], path)
        self.assertRegex(sink.error(), r"caf\\udce9.uvh5: tags: ")
        for history in (None, 5, "caf\udce9"):
            with self.assertRaisesRegex(ValueError, "history: .*UTF-8"):
                uvh5_sink(self.path, array_of(["A9x"]), 1, history=history)

    def test_lock_that_is_a_link_or_a_fifo(self):
        name, elsewhere = self.folder / ".test.uvh5.lock", self.folder / "elsewhere"
        for make in (lambda: name.symlink_to(elsewhere), lambda: os.mkfifo(name)):
            make()
            with self.assertRaisesRegex(FileExistsError, f"which is left as it is.*{name}"):
                uvh5_sink(self.path, array_of(["A9x"]), 1)
            name.unlink()
            # this comes in front of the first integration
            sink = uvh5_sink(self.path, array_of(["A9x"]), 1)
            make()
            run_chain(blocks.vector_source_c([1], False, 1, tags_of(0)), sink)
            self.assertRegex(sink.error(), f"{self.path}: {name}: .*left as it is")
            self.assertEqual(os.listdir(self.folder), [name.name])
            name.unlink()

    def test_a_filterbank_of_the_same_name(self):
        """Whichever comes second is refused, and leaves the first one's file as it is."""
        array = array_of(["A9x"])
        beams = [Beam("zenith", 0.0, 90.0)]
        power = [*tags_of(0), gr_tag(0, tags.rx_rate, 1.0)]
        errors = []

        def visibilities():
            return self.run_sink(array, [[[1]]], tags_of(0))

        def powers():
            sink = filterbank_sink(str(self.path), array, beams, 1, "power")
            run_chain(blocks.vector_source_f([1.0], False, 1, power), sink)
            return sink

        for first, second in ((visibilities, powers), (powers, visibilities)):

            def stop(sink, stop=None):
                """While the first one still has its file."""
                if not errors:
                    errors.append(None)
                    errors.append(second().error())
                return stop(sink)

            kind = uvh5_sink if first is visibilities else filterbank_sink
            errors.clear()
            with mock.patch.object(kind, "_stop", functools.partialmethod(stop, stop=kind._stop)):
                self.assertIsNone(first().error())
            self.assertRegex(errors[1], f"{self.path}: another program or block writes this file")
            content = self.path.read_bytes()
            self.assertEqual(content.startswith(b"\x89HDF"), first is visibilities)
            self.assertEqual(b"HEADER_START" in content, first is powers)
            self.assertEqual(os.listdir(self.folder), ["test.uvh5"])

    # ---- places

    def test_antennas_at_one_place(self):
        """Places of which no two are the same: 2 mm apart, those that are in nobody's way as they
        are."""
        array = array_of(["A9x", "A10x", "B2x", "Cx"])
        array.antennas = [
            Antenna(name, (0.0, 0.0, 0.0) if name != "B2" else PLACES["B2"]) for name in PLACES
        ]
        logged = []
        with mock.patch.object(uvh5_sink, "logger", create=True) as log:
            log.warn = logged.append
            sink = self.run_sink(array, np.ones((1, 1, 10)), tags_of(0))
        self.assertIsNone(sink.error())
        self.assertEqual(len(logged), 1)
        self.assertRegex(logged[0], "2 of them are written a few millimetres.*give their positions")
        file = self.read()
        uvw = file["Header/uvw_array"]
        crosses = file["Header/ant_1_array"] != file["Header/ant_2_array"]
        # antennas 0, 1, 3 at 0, 2 and 4 mm, 2 where it is
        np.testing.assert_allclose(uvw[crosses][[0, 2]], [(0.002, 0, 0), (0.004, 0, 0)], atol=1e-12)
        np.testing.assert_allclose(uvw[crosses][1], PLACES["B2"])
        self.assertGreater(np.linalg.norm(uvw[crosses], axis=1).min(), 0.0019)

    def test_bad_parameters(self):
        array = array_of(["A9x"])
        for arguments, *words in (
            (("", array, 1), "filename"),
            ((self.folder / "absent" / "x.uvh5", array, 1), "absent"),
            ((self.folder, array, 1), str(self.folder)),
            ((self.path, array, 0), "channels", "0"),
            ((self.path, array, 1.5), "channels", "1.5"),
            ((self.path, array, 2**28), "2147483648 bytes"),
            ((self.path, array, 1, True, "", "tripod"), "mount", "tripod", "alt-az"),
            ((self.path, array, 1, True, "", "fixed", 2), "inputs", "2", "must be 1"),
            (
                (
                    self.path,
                    array,
                    1,
                    True,
                    "",
                    "fixed",
                    1,
                    None,
                    None,
                    "",
                    "apply",
                    "model",
                    None,
                    "zip",
                ),
                "compression",
                "'zip'",
                "none, lzf, gzip, bitshuffle",
            ),
            ((None, array, 1), "filename", "None", "the name of a file"),
            (
                (self.folder / "{tim}.uvh5", array, 1),
                "filename",
                "{tim}",
                "{time} and {phase_center} may",
            ),
            ((self.path, array, "a"), "channels", "'a'"),
            ((self.path, array, 1.5), "1.5"),
            ((self.path, array_of(["A9x", "A10l"]), 1), "polarisations l, x"),
        ):
            with self.assertRaises((ValueError, OSError)) as caught:
                uvh5_sink(*arguments)
            for word in words:
                self.assertIn(word, str(caught.exception))

    def test_existing_file(self):
        self.path.write_text("precious")
        with self.assertRaises(FileExistsError):
            uvh5_sink(self.path, array_of(["A9x"]), 1, overwrite=False)
        self.run_sink(array_of(["A9x"]), [[[1]]], tags_of(0), overwrite=True)
        self.assertEqual(self.read()["Header/Ntimes"], 1)

    def test_array_by_name(self):
        save_array(array_of(["A9x"]), self.folder / "array.yml")
        self.run_sink(str(self.folder / "array.yml"), [[[1]]], tags_of(0))
        self.assertEqual(self.read()["Header/telescope_name"], b"test")

    # ---- a flowgraph that is killed, with all its threads and its process group

    def test_killed(self):
        """A killed process loses no more than publish_every says."""
        moments = random.Random(1)
        for turn in range(6):
            # an integration takes a second by the clock of the writer
            every = (0, 10)[turn % 2]
            self.path.unlink(missing_ok=True)
            writer = subprocess.Popen(
                [sys.executable, __file__, "write", str(self.path), str(every)],
                stdout=subprocess.PIPE,
                start_new_session=True,
                text=True,
            )
            reports = [writer.stdout.readline() for _ in range(moments.randrange(1, 100))]
            os.killpg(writer.pid, signal.SIGKILL)
            reports += writer.communicate()[0].splitlines(True)
            last = [report for report in reports if report.endswith("\n")][-1]
            written, published = map(int, last.split())
            file = self.read()
            count = int(file["Header/Ntimes"])
            self.assertGreaterEqual(count, published)
            self.assertGreaterEqual(count, written - max(every, 1))
            if every:
                self.assertEqual(count % 10, 1)
            np.testing.assert_array_equal(file["Data/visdata"][:, 0, 0], np.arange(count) + 1)
            self.assertEqual(len(file["Header/lst_array"]), count)

    # ---- phase centres

    def phased(self, directions, array, frequencies, times, tracked=None, **arguments):
        """
        A source through the sink, at the middles of integrations: what an F-engine gives that
        tracks `tracked` (None: nothing), by a model that shares nothing with the sink.
        """
        iers.conf.auto_download = False
        source = parse_direction(directions[0])
        items = []
        for second in times:
            moment = Time(second, format="unix", scale="utc")
            delays = geometric_delays(array, source.ra, source.dec, moment)
            if tracked is not None:
                center = parse_direction(tracked)
                delays -= geometric_delays(array, center.ra, center.dec, moment)
            voltages = np.exp(-2j * np.pi * np.multiply.outer(delays, frequencies))
            items.append(visibilities_of(voltages[..., np.newaxis]))
        # the X-engine has tagged the middle of the first of 21 spectra
        hop = len(frequencies) / (1e6 * len(frequencies))
        found = [
            tag
            for i, time in enumerate(times)
            for tag in tags_of(
                i,
                (int(time), time % 1 - 10 * hop),
                frequencies[len(frequencies) // 2],
                1e6 * len(frequencies),
                21,
                (21,),
            )
        ]
        return self.run_sink(array, items, found, tracked=tracked, **arguments)

    def test_phase_centers(self):
        """
        A source is flat in the file of its phase centre, within the 0.06 arc seconds that the table
        of the Earth's rotation may be off (0.2 degrees at 1.4 GHz on 220 m), and fringes elsewhere;
        tracked or not makes no difference.
        """
        array = array_of(["A9x", "Cx", "A10x", "B2x"])
        frequencies = 1.4e9 + 1e6 * np.arange(-2, 3)
        times = 1577934245.25 + 1200 * np.arange(4)
        limit = 360 * 1.41e9 / 299792458 * 220 * np.radians(0.06 / 3600)
        source, other = "200.0, 35.0", {"name": "north", "ra": 20.0, "dec": 75.0}
        results = {}
        for tracked in (None, source, other, "210.0, 30.0"):
            sink = self.phased(
                [source],
                array,
                frequencies,
                times,
                tracked,
                path=self.folder / "{phase_center}.uvh5",
                phase_centers=[source, other],
                compression="lzf" if tracked is None else "none",
            )
            self.assertIsNone(sink.error())
            self.assertEqual(sink.integrations(), 4)
            self.assertEqual(
                sink.files(),
                [
                    str(self.folder / "ra_200.00000_dec_+35.00000.uvh5"),
                    str(self.folder / "north.uvh5"),
                ],
            )
            flat, fringes = (self.read(path) for path in sink.files())
            phases = np.angle(flat["Data/visdata"], deg=True)
            self.assertLess(np.abs(phases).max(), limit)
            self.assertGreater(np.abs(np.angle(fringes["Data/visdata"], deg=True)).max(), 90)
            self.assertEqual(fringes["Header/phase_center_catalog/0/cat_name"], b"north")
            self.assertEqual(fringes["Header/phase_center_catalog/0/cat_type"], b"sidereal")
            # the phase of a source at s seen from s0 is that of the difference of both w
            w = (
                2j
                * np.pi
                / 299792458
                * frequencies
                * (flat["Header/uvw_array"][:, 2:] - fringes["Header/uvw_array"][:, 2:])
            )
            np.testing.assert_allclose(fringes["Data/visdata"][..., 0], np.exp(w), atol=0.01)
            results[str(tracked)] = flat, fringes
        for pair in results.values():
            for one, two in zip(pair, results["None"]):
                np.testing.assert_array_equal(one["Header/uvw_array"], two["Header/uvw_array"])
                np.testing.assert_allclose(one["Data/visdata"], two["Data/visdata"], atol=0.01)

    def test_tracked(self):
        """Tracked visibilities are written as such, and left as they are."""
        array = array_of(["A9x", "Cx", "A10x"])
        times = 1577934245.25 + 1200 * np.arange(3)
        for tracked, kind in (
            ("Cas A", b"sidereal"),
            ("B1133+16", b"sidereal"),
            ("sun", b"ephem"),
            ("az=120, el=50", b"ephem"),
        ):
            items = self.rng.normal(size=(3, 4, 6)).astype(np.complex64)
            found = [
                tag for i, time in enumerate(times) for tag in tags_of(i, (int(time), time % 1))
            ]
            sink = self.run_sink(array, items, found, tracked=tracked)
            self.assertIsNone(sink.error())
            file = self.read()
            plain = self.folder / "plain.uvh5"
            self.run_sink(array, items, found, path=plain)
            np.testing.assert_array_equal(file["Data/visdata"], self.read(plain)["Data/visdata"])
            entry = {
                key.rpartition("/")[2]: value
                for key, value in file.items()
                if "phase_center_catalog/0" in key
            }
            direction = parse_direction(tracked)
            self.assertEqual(entry["cat_type"], kind)
            self.assertEqual(entry["cat_name"], ascii_text(direction.name).encode())
            np.testing.assert_allclose(
                np.linalg.norm(file["Header/uvw_array"], axis=1),
                np.linalg.norm(self.read(plain)["Header/uvw_array"], axis=1),
                atol=1e-9,
            )
            if kind == b"ephem":
                np.testing.assert_array_equal(
                    entry["cat_times"], np.unique(file["Header/time_array"])
                )
                self.assertEqual(entry["cat_lon"].shape, (3,))
            else:
                self.assertAlmostEqual(entry["cat_lat"], np.radians(direction.dec))
            if direction.pm_dec:
                self.assertEqual(entry["cat_pm_dec"], direction.pm_dec)
                # pyuvdata's is the change of the coordinate
                self.assertAlmostEqual(
                    entry["cat_pm_ra"] * np.cos(np.radians(direction.dec)), direction.pm_ra
                )

    def test_what_phase_centers_are_refused(self):
        array = array_of(["A9x", "Cx"])
        for arguments, text in (
            ({"phase_centers": "nowhere"}, "phase_centers: 'nowhere'"),
            ({"tracked": "12:99:00 +1"}, "tracked.*60 minutes"),
            ({"phase_centers": ["sun", "moon"]}, "filename.*phase_center"),
            ({"phase_centers": ["sun", 7]}, "phase_centers: 7"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                uvh5_sink(self.path, array, 4, **arguments)
        with self.assertRaisesRegex(ValueError, "filename.*different names"):
            uvh5_sink(self.folder / "{phase_center}.uvh5", array, 4, phase_centers=["sun", "Sun"])

    def test_what_products_are_refused(self):
        array = array_of(["A9x", "Cx"])
        for products, text in (
            ([], "products: .*an empty list"),
            (
                [(0, 2)],
                r"products: \(0, 2\) is not allowed; it must be a pair of inputs from 0 to 1",
            ),
            ([(0,)], "a pair of inputs"),
            ([(1, 0), (0, 1)], "a product that there is once"),
            ([(1, 0, 2, 2)], "a part of an integration"),
            ([(1, 0, 0, 2), (1, 0, 0, 2)], "a product that there is once"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                uvh5_sink(self.path, array, 4, products=products)


class Integrations(gr.sync_block):
    """An endless source of integrations whose values are their numbers, from 1."""

    def __init__(self):
        gr.sync_block.__init__(self, "integrations", None, [(np.complex64, 256)])

    def work(self, input_items, output_items):
        first = self.nitems_written(0)
        output_items[0][0] = first + 1
        for tag in tags_of(first, (1704067200 + first, 0.0)):
            self.add_item_tag(0, tag.offset, tag.key, tag.value)
        return 1


def write(path, every):
    """Writes until it is killed, or its test has ended, and says how many integrations were written
    and published. Its clock goes on by a second with each integration."""
    test = os.getppid()
    # the flowgraph keeps no reference to blocks that are written in Python
    source, sink = Integrations(), uvh5_sink(path, array_of(["A9x"]), 256, publish_every=every)
    written = lambda: sum(output.written for output in sink._outputs)
    publishing.clock = written
    top = gr.top_block()
    top.connect(source, sink)
    top.start()
    while os.getppid() == test:
        if sink.integrations():
            print(written(), sink.integrations(), flush=True)
        time.sleep(0.001)
    os._exit(1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["write"]:
        write(sys.argv[2], float(sys.argv[3]))
    gr_unittest.run(qa_uvh5_sink)

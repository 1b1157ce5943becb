#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Files that follow on each other: nothing is lost or written twice, and their times go on."""

import shutil
import struct
import sys
from pathlib import Path

import h5py
import numpy as np
from astropy.time import Time
from gnuradio import blocks, gr, gr_unittest

from gnuradio.aperture import filterbank_sink, psrfits_sink, tags, uvh5_sink, voltage_sink
from gnuradio.aperture.beams.beams import Beam
from gnuradio.aperture.files.roll_over import RollOver
from gnuradio.aperture.formats.psrfits.profiles import read_profiles
from gnuradio.aperture.testing.arrays import make_array
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.qa_tools import comes_true, gr_tags, run_chain
from gnuradio.aperture.testing.voltage_files import read_guppi

START, FRACTION = 1704067200 + 3590, 0.75  # ten seconds before a full hour
CHANNELS = 5


def array_of():
    return make_array({"A": (0.0, 0.0, 0.0), "B": (30.0, 0.0, 0.0)}, rate=1e3)


def tags_of(item, rate, spectra, shift=0.0):
    """Returns tags of an item at `item / rate + shift` seconds after the start."""
    time = START + int(FRACTION + item / rate + shift), (FRACTION + item / rate + shift) % 1
    values = {tags.rx_time: time, tags.rx_freq: 1e8, tags.rx_rate: rate, tags.bandwidth: 1e3}
    return gr_tags(item, values) + counts_of(item, spectra)


def counts_of(item, spectra):
    return gr_tags(item, {tags.spectra: spectra, tags.counted: np.array([spectra])})


#: tags of 500 integrations at most, each of 0.5 s
TIMES = tags_of(0, 2.0, 100) + [entry for item in range(1, 500) for entry in counts_of(item, 100)]


class asker(gr.sync_block):
    """Does something before the sink gets an item, when it has all those before it."""

    def __init__(self, size, what, sink):
        gr.sync_block.__init__(self, "asker", [(np.uint8, size)], [(np.uint8, size)])
        self._what, self._sink = what, sink

    def work(self, input_items, output_items):
        item = self.nitems_read(0)
        if item in self._what:
            comes_true(lambda: self._sink.nitems_read(0) >= item or self._sink.error() is not None)
            self._what.pop(item)()
        output_items[0][:1] = input_items[0][:1]
        return 1


class qa_roll_over(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(7)

    def run_sink(self, sink, items, found, what=None):
        """Sends items to a sink; what: item -> function that is called before it comes."""
        data = np.ascontiguousarray(items).view(np.uint8).reshape(len(items), -1)
        source = blocks.vector_source_b(data.ravel().tolist(), False, data.shape[1], found)
        ask = asker(data.shape[1], {} if what is None else what, sink)
        ask.set_max_noutput_items(1)
        sink.set_max_noutput_items(3)
        run_chain(source, ask, sink)
        self.assertIsNone(sink.error())
        return sink

    # ---- visibilities

    def visibilities(self, count):
        values = self.rng.integers(-9, 10, (2, count, CHANNELS, 3))
        return (values[0] + 1j * values[1]).astype(np.complex64)

    def read_uvh5(self, paths):
        """Returns all files together: times (s since the start), visibilities [time][product...],
        and how many integrations each has."""
        times, values, counts = [], [], []
        for path in paths:
            with h5py.File(path) as file:
                rows = file["Header/Nblts"][()] // file["Header/Ntimes"][()]
                julian = file["Header/time_array"][::rows]
                times += list((julian - Time(START, format="unix").jd) * 86400)
                values.append(file["Data/visdata"][()].reshape(len(julian), rows, CHANNELS, -1))
                counts.append(len(julian))
        return np.array(times), np.concatenate(values), counts

    def check_uvh5(self, sink, items, length):
        paths = sink.files()
        times, values, counts = self.read_uvh5(paths)
        first = 0.495 * length  # from the middle of the first of 100 spectra to that of all
        np.testing.assert_allclose(
            times, FRACTION + length * np.arange(len(items)) + first, atol=1e-3
        )
        # the first baseline is that of the first antenna with itself, which is real
        np.testing.assert_array_equal(values[:, 0, :, 0].real, items[:, :, 0].real)
        # hidden ones are gone
        self.assertEqual(sorted(paths), sorted(map(str, self.folder.iterdir())))
        return counts

    def uvh5(self, **roll):
        sink = uvh5_sink(str(self.folder / "v-{time}.uvh5"), array_of(), CHANNELS)
        sink.set_log_level("off")
        sink.set_roll_over(**roll)
        return sink

    def test_visibilities_by_time(self):
        """Files begin at full minutes, however the integrations lie."""
        items = self.visibilities(37)
        # bandwidth / channels: 200 spectra a second, 100 in an integration
        sink = self.run_sink(self.uvh5(seconds=4), items, TIMES)
        # the start is 2 s after a multiple of 4 s, and 0.75 s
        self.assertEqual([3, 8, 8, 8, 8, 2], self.check_uvh5(sink, items, 0.5))
        names = [Path(path).name for path in sink.files()]
        self.assertEqual("v-20240101T005950Z.uvh5", names[0])
        self.assertEqual("v-20240101T005952Z.uvh5", names[1])
        self.assertEqual(sink.files()[:-1], sink.whole_files())
        self.assertEqual(37, sink.integrations())

    def test_visibilities_by_size(self):
        items = self.visibilities(300)
        sink = self.run_sink(self.uvh5(size=200_000), items, TIMES)
        counts = self.check_uvh5(sink, items, 0.5)
        self.assertGreater(len(counts), 2)
        for path in sink.files():
            self.assertLessEqual(Path(path).stat().st_size, 200_000)

    def test_visibilities_when_asked(self):
        items = self.visibilities(20)
        sink = self.uvh5()
        self.run_sink(sink, items, TIMES, {5: sink.roll_over, 6: sink.roll_over})
        self.assertEqual([5, 1, 14], self.check_uvh5(sink, items, 0.5))

    def test_recording_that_pauses(self):
        """Integrations that are left out are counted, and the clock goes on over them."""
        items = self.visibilities(60)
        sink = self.uvh5()
        self.run_sink(
            sink,
            items,
            TIMES,
            {20: lambda: sink.set_recording(False), 40: lambda: sink.set_recording(True)},
        )
        times, _, counts = self.read_uvh5(sink.files())
        self.assertEqual([20, 20], counts)
        self.assertEqual(20, sink.left_out())
        steps = np.diff(times)
        gap = np.argmax(steps)
        np.testing.assert_allclose(np.delete(steps, gap), 0.5, atol=1e-4)
        self.assertAlmostEqual(21 * 0.5, steps[gap], delta=1e-3)

    # ---- powers

    def powers(self, sink, items, found, what=None):
        self.run_sink(sink, items.astype(np.float32), found, what)
        data, starts, lengths = [], [], []
        for path in sink.files():
            raw = Path(path).read_bytes()
            place = raw.index(b"HEADER_END") + len("HEADER_END")
            at = raw.index(b"tstart") + len("tstart")
            starts.append((struct.unpack_from("<d", raw, at)[0] - 40587) * 86400 - START)
            data.append(np.frombuffer(raw[place:], np.float32).reshape(-1, CHANNELS)[:, ::-1])
            lengths.append(len(data[-1]))
        return np.concatenate(data), np.array(starts), lengths

    def filterbank(self, **roll):
        sink = filterbank_sink(
            str(self.folder / "p-{time}.fil"), array_of(), [Beam("zenith", 0.0, 90.0)], CHANNELS
        )
        sink.set_log_level("off")
        sink.set_roll_over(**roll)
        return sink

    def test_powers_by_time(self):
        items = self.rng.random((1003, CHANNELS))
        data, starts, lengths = self.powers(self.filterbank(seconds=3), items, tags_of(0, 100.0, 2))
        np.testing.assert_array_equal(items.astype(np.float32), data)
        # 3590.75 s is 0.25 s before a multiple of 3 s
        self.assertEqual([25, 300, 300, 300, 78], [lengths[0], *lengths[1:]])
        np.testing.assert_allclose(np.diff(starts), np.array(lengths[:-1]) / 100, atol=1e-5)

    def test_powers_by_size_with_a_gap(self):
        """Ten samples that did not come are filled, also where files end among them."""
        items = self.rng.random((500, CHANNELS))
        # a later stamp agrees with the clock, files after the gap
        found = tags_of(0, 100.0, 2) + [
            tags_of(item, 100.0, 2, shift=0.1)[0] for item in (150, 300, 400)
        ]
        sink = self.filterbank(size=32 * 4 * CHANNELS)
        data, starts, lengths = self.powers(sink, items, found)
        self.assertEqual(510, len(data))
        self.assertEqual({32}, set(lengths[:-1]))
        np.testing.assert_array_equal(
            items.astype(np.float32), np.delete(data, np.arange(150, 160), axis=0)
        )
        np.testing.assert_allclose(np.diff(starts), 0.32, atol=1e-5)
        self.assertEqual(10, sink.filled())
        self.assertEqual(510, sink.integrations())

    def test_powers_that_pause(self):
        items = self.rng.random((300, CHANNELS))
        sink = self.filterbank()
        data, starts, lengths = self.powers(
            sink,
            items,
            tags_of(0, 100.0, 2),
            {100: lambda: sink.set_recording(False), 200: lambda: sink.set_recording(True)},
        )
        self.assertEqual([100, 100], lengths)
        self.assertEqual(100, sink.left_out())
        self.assertAlmostEqual(2.0, starts[1] - starts[0], delta=1e-4)
        np.testing.assert_array_equal(
            np.delete(items.astype(np.float32), np.arange(100, 200), 0), data
        )

    # ---- voltages

    def test_voltages(self):
        for roll, most in ((dict(seconds=2), 4), (dict(size=3 * 4 * 8 * 2), 3)):
            frames = self.rng.integers(-127, 128, (23, 4, 2, 8, 2)).astype(np.int8)
            sink = voltage_sink(
                str(self.folder / "x-{time}-{input}.raw"),
                4,
                2,
                8,
                "sc8",
                selected_channels=None,
                array=array_of(),
            )
            sink.set_roll_over(**roll)
            sink.set_log_level("off")
            found = tags_of(0, 2.0, 8)
            self.run_sink(sink, frames, found)
            files = [path for path in sink.files() if "-0." in path]
            found = [read_guppi(path) for path in files]
            blocks_found = [block for file in found for block in file]
            self.assertEqual(23, len(blocks_found))
            self.assertGreaterEqual(len(files), 23 // most)
            self.assertLessEqual(max(map(len, found)), most)
            for number, (_, data) in enumerate(blocks_found):
                np.testing.assert_array_equal(
                    np.asarray(data).reshape(4, 8, -1)[..., :2].astype(np.int8).ravel(),
                    frames[number, :, 0].ravel(),
                )
            shutil.rmtree(self.folder)
            self.folder.mkdir()

    # ---- folded profiles

    def profiles(self, count, shift_at=None, ask_before=None, name="p-{time}-{beam}.fits", **roll):
        """Sub-integrations of 10 s of two beams; the frequency changes at one of them. \returns the
        sink, and what it got, [subintegration][beam][product][channel][bin]"""
        shape = (count, 2, 1, CHANNELS, 8)
        powers = self.rng.normal(size=shape).astype(np.float32)
        counts = self.rng.integers(1, 9, shape, dtype=np.uint32)
        found = []
        for item in range(count):
            time = START + int(FRACTION + 10 * item), FRACTION
            folded = {"length": 10.0, "middle": time, "phase": 0.0, "frequency": 1.0}
            found += gr_tags(item, {tags.rx_time: time, "folded": folded})
            if item in (0, shift_at):
                frequency = 1e8 + 1e6 * bool(item)
                found += gr_tags(item, {tags.rx_freq: frequency, tags.bandwidth: 1e3})
        sink = psrfits_sink(
            str(self.folder / name),
            array_of(),
            channels=CHANNELS,
            bins=8,
            epoch=(START, 0.0),
            beams=[Beam("a", azimuth=0, elevation=90), Beam("b", azimuth=0, elevation=80)],
        )
        sink.set_log_level("off")
        sink.set_roll_over(**roll)
        size = powers[0].size
        ask = asker(4 * size, {} if ask_before is None else {ask_before: sink.roll_over}, sink)
        ask.set_max_noutput_items(1)
        top = gr.top_block()
        top.connect(
            blocks.vector_source_b(powers.view(np.uint8).ravel().tolist(), False, 4 * size, found),
            ask,
            sink,
        )
        top.connect(
            blocks.vector_source_b(counts.view(np.uint8).ravel().tolist(), False, 4 * size),
            (sink, 1),
        )
        top.run()
        return sink, powers, counts

    def check_profiles(self, expected, count, **arguments):
        """Checks how many sub-integrations the files of each beam have; that none is missing or
        wrong."""
        sink, powers, counts = self.profiles(count, **arguments)
        self.assertIsNone(sink.error())
        self.assertEqual(sink.subintegrations(), count)
        self.assertEqual(sorted(sink.files()), sorted(map(str, self.folder.iterdir())))
        self.assertEqual(sink.whole_files(), sink.files()[:-2])
        for beam, name in enumerate("ab"):
            files = [read_profiles(path) for path in sink.files() if path.endswith(f"-{name}.fits")]
            self.assertEqual([len(file.times) for file in files], expected)
            times = np.array([time[0] - START + time[1] for file in files for time in file.times])
            np.testing.assert_allclose(times, FRACTION + 10 * np.arange(count), atol=1e-5)
            read = np.concatenate([file.powers for file in files])
            span = np.ptp(powers[:, beam], axis=-1, keepdims=True)
            np.testing.assert_array_less(np.abs(read - powers[:, beam]) - span / 65000, 1e-6)
            np.testing.assert_array_equal(
                np.concatenate([file.counts for file in files]), counts[:, beam]
            )
        np.testing.assert_array_equal(sink.profiles(1).powers, powers[-expected[-1] :, 1])
        return sink

    def test_profiles_by_time(self):
        sink = self.check_profiles([1, 6, 6, 2], 15, seconds=60)
        self.assertEqual(Path(sink.files()[3]).name, "p-20240101T010000Z-b.fits")

    def test_profiles_by_size(self):
        # 16 bits and a count for each bin
        self.check_profiles([3, 3, 1], 7, size=6 * CHANNELS * 8 * 7 // 2)

    def test_profiles_on_request(self):
        self.check_profiles([2, 3], 5, ask_before=2)

    def test_profiles_of_another_frequency(self):
        sink = self.check_profiles([4, 2], 6, shift_at=4)
        for path, center in ((sink.files()[0], 1e8), (sink.files()[-1], 1.01e8)):
            self.assertAlmostEqual(read_profiles(path).channels[CHANNELS // 2], center, -1)
        sink, _, _ = self.profiles(6, shift_at=4, name="{beam}.fits")
        self.assertIn("{time}", sink.error())

    def test_profiles_that_memory_does_not_hold(self):
        module = sys.modules["gnuradio.aperture.psrfits_sink"]
        limit, module.LARGEST_FILES = module.LARGEST_FILES, 2 * 4 * 2 * CHANNELS * 8 * 3
        try:
            self.check_profiles([3, 3, 2], 8)
            sink, _, _ = self.profiles(8, name="{beam}.fits")
            self.assertIn("{time}", sink.error())
            self.assertEqual(len(read_profiles(str(self.folder / "a.fits")).times), 3)
        finally:
            module.LARGEST_FILES = limit

    # ---- what is not allowed

    def test_refused(self):
        roll = RollOver("x.uvh5")
        with self.assertRaisesRegex(ValueError, "{time}"):
            roll.set(seconds=60)
        with self.assertRaisesRegex(ValueError, "{time}"):
            roll.ask()
        for values in (dict(seconds=-1), dict(seconds=float("nan")), dict(size=-1)):
            with self.assertRaises(ValueError):
                RollOver("{time}").set(**values)


if __name__ == "__main__":
    gr_unittest.run(qa_roll_over)

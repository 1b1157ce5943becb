#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Voltages in SigMF and GUPPI raw files, read back byte by byte; python/aperture/testing/outside
has the sigmf package and baseband."""

import os
import resource
from pathlib import Path

import numpy as np
from gnuradio import blocks, gr, gr_unittest

from gnuradio.aperture import tags, voltage_sink
from gnuradio.aperture.files.checked_file import PartFile
from gnuradio.aperture.formats.voltages import sc4_to_sc8
from gnuradio.aperture.testing.disks import small_disk
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.qa_tools import gr_tag, gr_tags, run_chain
from gnuradio.aperture.testing.voltage_files import read_guppi, read_sigmf

START = 1704067200
WIDTH, FREQUENCY = 15625.0, 1.42e9


def time_tag(item, seconds, fraction):
    return gr_tag(item, tags.rx_time, (seconds, fraction))


def tags_of(channels, spectra, item=0, time=(START, 0.125), frequency=FREQUENCY):
    """Returns the tags that the F-engine puts on the first frame of so many spectra."""
    values = {
        tags.rx_time: time,
        tags.rx_freq: frequency,
        tags.rx_rate: WIDTH / spectra,
        tags.bandwidth: WIDTH * channels,
    }
    return gr_tags(item, values)


def missing_tag(item, number, first, count):
    value = {tags.input: number, tags.first: first, tags.count: count}
    return gr_tag(item, tags.missing, value)


class qa_voltage_sink(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(1)

    def voltages(self, frames, channels, inputs, spectra):
        """int8 [frame][channel][input][time][re, im]"""
        return self.rng.integers(-127, 128, (frames, channels, inputs, spectra, 2)).astype(np.int8)

    def run_sink(self, frames, found=None, name="v.raw", **arguments):
        """Sends frames [frame][channel][input][time]...; gives the sink."""
        channels, inputs, spectra = frames.shape[1:4]
        data = np.ascontiguousarray(frames).view(np.uint8).reshape(len(frames), -1)
        source = blocks.vector_source_b(
            data.ravel().tolist(),
            False,
            data.shape[1],
            tags_of(channels, spectra) if found is None else found,
        )
        sink = voltage_sink(
            self.folder / name,
            channels,
            inputs,
            spectra,
            **{"type": "sc8", "selected_channels": None, **arguments},
        )
        sink.set_log_level("off")
        run_chain(source, sink)
        return sink

    def make(self, **arguments):
        """A sink of GUPPI raw for small frames of one input."""
        return voltage_sink(
            **{
                "filename": self.folder / "v.raw",
                "channels": 2,
                "inputs": 1,
                "spectra_per_frame": 8,
                "type": "sc8",
                "selected_channels": None,
                **arguments,
            }
        )

    def left(self):
        return sorted(path.name for path in self.folder.iterdir())

    # ---- GUPPI raw

    def test_guppi(self):
        frames = self.voltages(5, 7, 2, 12)
        sink = self.run_sink(
            frames, polarizations=2, blocks_per_file=2, names=["Cas A=1"], array="two-dish"
        )
        self.assertIsNone(sink.error())
        self.assertEqual((sink.frames(), sink.missing()), (5, [0, 0]))
        self.assertEqual(self.left(), [f"v.{i:04d}.raw" for i in range(3)])
        self.assertEqual([Path(path).name for path in sink.files()], self.left())
        found = [block for name in self.left() for block in read_guppi(self.folder / name)]
        self.assertEqual(len(found), 5)
        for number, (header, block) in enumerate(found):
            np.testing.assert_array_equal(block, frames[number].transpose(0, 2, 1, 3))
            self.assertEqual(header["PKTIDX"], number * 12)
            # channels 0 to 6 lie around number 3
            self.assertAlmostEqual(header["OBSFREQ"], FREQUENCY / 1e6, 9)
            self.assertAlmostEqual(header["OBSBW"], 7 * WIDTH / 1e6, 12)
            self.assertEqual(header["TBIN"], 1 / WIDTH)
            self.assertEqual(
                (header["STT_IMJD"], header["STT_SMJD"], header["STT_OFFS"]), (60310, 0, 0.125)
            )
            self.assertEqual(header["SRC_NAME"], "Cas A_1")
            self.assertEqual((header["DROPBLK"], header["NBITS"], header["NPOL"]), (0.0, 8, 4))

    def test_guppi_chosen(self):
        frames = self.voltages(3, 8, 5, 9)
        sink = self.run_sink(
            frames,
            name="v-{input}-{time}.raw",
            selected_channels=[5, 6, 7],
            selected_inputs=[4, 1],
            names=["A/9", "B"],
        )
        self.assertIsNone(sink.error())
        self.assertEqual(
            self.left(), ["v-A_9-20240101T000000Z.0000.raw", "v-B-20240101T000000Z.0000.raw"]
        )
        for name, number in zip(self.left(), (4, 1)):
            for header, block in read_guppi(self.folder / name):
                i = header["PKTIDX"] // 9
                np.testing.assert_array_equal(block[:, :, 0], frames[i][5:8, number])
                # rx_freq is that of number 4 of eight channels; number 6 is the middle of these
                self.assertAlmostEqual(header["OBSFREQ"], (FREQUENCY + 2 * WIDTH) / 1e6, 9)
                self.assertAlmostEqual(header["OBSBW"], 3 * WIDTH / 1e6, 12)

    def test_guppi_missing(self):
        frames = self.voltages(3, 4, 2, 10)
        found = tags_of(4, 10) + [
            missing_tag(1, 0, 12, 4),
            missing_tag(2, 0, 20, 10),
            missing_tag(2, 1, 20, 10),
        ]
        sink = self.run_sink(frames, found, polarizations=2)
        headers = [header for header, _ in read_guppi(self.folder / "v.0000.raw")]
        self.assertEqual([header["DROPBLK"] for header in headers], [0.0, 0.2, 1.0])
        self.assertAlmostEqual(headers[2]["DROPTOT"], 24 / 60)
        self.assertEqual(sink.missing(), [14, 10])

    def test_old_sequence(self):
        frames = self.voltages(6, 2, 1, 8)
        self.run_sink(frames, blocks_per_file=2)
        self.run_sink(frames[:3], blocks_per_file=2)
        # nothing is left of the longer one that a reader would take for the end of this one
        self.assertEqual(self.left(), ["v.0000.raw", "v.0001.raw"])
        with self.assertRaisesRegex(FileExistsError, "overwrite is False"):
            self.make(overwrite=False)

    def test_drift_and_jumps(self):
        frames = self.voltages(6, 4, 1, 10)
        # a clock that is said again 0.4 spectra later, twice, and then a jump of two frames
        spectrum = 1 / WIDTH
        found = tags_of(4, 10) + [
            time_tag(2, START, 0.125 + 20.4 * spectrum),
            time_tag(4, START, 0.125 + 40.8 * spectrum),
        ]
        sink = self.run_sink(frames, found)
        self.assertIsNone(sink.error())
        self.assertEqual(
            [header["PKTIDX"] for header, _ in read_guppi(self.folder / "v.0000.raw")],
            [0, 10, 20, 30, 41, 51],
        )
        found = tags_of(4, 10) + [time_tag(3, START, 0.125 + 50 * spectrum)]
        sink = self.run_sink(frames, found, name="w.raw")
        self.assertRegex(sink.error(), "jumps by 0.00128 s .*\\{time\\}")
        # the frames before the error are whole
        self.assertEqual(len(read_guppi(self.folder / "w.0000.raw")), 3)
        sink = self.run_sink(frames, found, name="x-{time}.raw")
        self.assertIsNone(sink.error())
        blocks_ = [read_guppi(path) for path in sink.files()]
        self.assertEqual([len(each) for each in blocks_], [3, 3])
        self.assertAlmostEqual(blocks_[1][0][0]["STT_OFFS"], 0.125 + 50 * spectrum, 12)
        self.assertEqual(blocks_[1][0][0]["PKTIDX"], 0)

    # ---- SigMF

    def test_sigmf(self):
        frames = self.voltages(3, 5, 3, 11)
        found = tags_of(5, 11) + [
            missing_tag(0, 1, 8, 3),
            missing_tag(1, 1, 11, 2),
            *(missing_tag(2, number, 25, 4) for number in range(3)),
        ]
        sink = self.run_sink(
            frames,
            found,
            name="v-{channel}.sigmf-meta",
            array="two-dish",
            selected_channels=[1, 4],
            names=["a", "b", "c"],
            description="test",
        )
        self.assertIsNone(sink.error())
        self.assertEqual(
            self.left(), [f"v-{i}.sigmf-{kind}" for i in (1, 4) for kind in ("data", "meta")]
        )
        self.assertEqual(sink.missing(), [4, 9, 4])
        for channel in (1, 4):
            meta, data = read_sigmf(self.folder / f"v-{channel}.sigmf-meta")
            expected = frames[:, channel].transpose(0, 2, 1, 3).reshape(33, 3, 2)
            np.testing.assert_array_equal(data, expected)
            self.assertEqual(
                meta["captures"],
                [
                    {
                        "core:sample_start": 0,
                        "core:frequency": FREQUENCY + (channel - 2) * WIDTH,
                        "core:datetime": "2024-01-01T00:00:00.125Z",
                    }
                ],
            )
            self.assertEqual(meta["global"]["core:sample_rate"], WIDTH)
            # a gap that goes on in the next frame is one annotation
            self.assertEqual(
                [
                    (
                        entry["core:sample_start"],
                        entry["core:sample_count"],
                        entry.get("aperture:input"),
                    )
                    for entry in meta["annotations"]
                ],
                [(8, 5, 1), (25, 4, None)],
            )

    def test_sigmf_captures(self):
        frames = self.voltages(5, 3, 2, 8)
        spectrum = 1 / WIDTH
        found = tags_of(3, 8) + [
            time_tag(2, START, 0.125 + 100 * spectrum),
            time_tag(4, START, 0.125 + 116 * spectrum),
            gr_tag(4, tags.rx_freq, 2 * FREQUENCY),
        ]
        sink = self.run_sink(frames, found, name="v.sigmf-data", selected_channels=[1])
        self.assertIsNone(sink.error())
        meta, data = read_sigmf(self.folder / "v.sigmf-meta")
        self.assertEqual(len(data), 40)
        self.assertEqual(
            [(entry["core:sample_start"], entry["core:frequency"]) for entry in meta["captures"]],
            [(0, FREQUENCY), (16, FREQUENCY), (32, 2 * FREQUENCY)],
        )
        self.assertEqual(meta["captures"][1]["core:datetime"], "2024-01-01T00:00:00.1314Z")
        # another bandwidth is no matter of a capture
        found = tags_of(3, 8) + [gr_tag(2, tags.bandwidth, 6 * WIDTH)]
        sink = self.run_sink(frames, found, name="w.sigmf-meta", selected_channels=[1])
        self.assertRegex(sink.error(), "bandwidth 93750 after 46875")
        self.assertEqual(len(read_sigmf(self.folder / "w.sigmf-meta")[1]), 16)

    def test_float(self):
        frames = (self.rng.normal(size=(2, 3, 2, 7)) + 1j).astype(np.complex64)
        self.run_sink(frames, name="v-{channel}-{beam}.sigmf-meta", type="fc32", kind="beams")
        for channel in range(3):
            for beam in range(2):
                meta, data = read_sigmf(self.folder / f"v-{channel}-{beam}.sigmf-meta")
                np.testing.assert_array_equal(data[:, 0], frames[:, channel, beam].ravel())
        with self.assertRaisesRegex(ValueError, "GUPPI raw has 8 bits"):
            self.make(type="fc32")

    def test_sc4(self):
        # -8 is read as -7
        table = sc4_to_sc8().view(np.int8).reshape(256, 2)
        signed = [0, 1, 2, 3, 4, 5, 6, 7, -7, -7, -6, -5, -4, -3, -2, -1]
        for byte in range(256):
            self.assertEqual(tuple(table[byte]), (signed[byte >> 4], signed[byte & 15]))
        frames = self.rng.integers(0, 256, (2, 3, 1, 9)).astype(np.uint8)
        self.run_sink(frames, type="sc4")
        for i, (_, block) in enumerate(read_guppi(self.folder / "v.0000.raw")):
            np.testing.assert_array_equal(block[:, :, 0], table[frames[i, :, 0]])

    # ---- what goes wrong

    def test_full_disk(self):
        frames = self.voltages(40, 4, 2, 1024)  # 16 kB each
        with small_disk(self, 256) as disk:
            for name in ("v.raw", "v.sigmf-meta"):
                sink = self.run_sink(
                    np.tile(frames, (3, 1, 1, 1, 1)),
                    name=disk / name,
                    polarizations=2,
                    selected_channels=[0, 1] if name == "v.raw" else [0],
                )
                self.assertRegex(sink.error(), f"{disk}/.*: No space left on device")
                self.assertFalse([path for path in disk.iterdir() if path.name[0] == "."])
                if name == "v.raw":
                    found = read_guppi(disk / "v.0000.raw")
                    self.assertGreater(len(found), 20)
                    for i, (_, block) in enumerate(found):
                        np.testing.assert_array_equal(block, frames[i, :2].transpose(0, 2, 1, 3))
                else:
                    meta, data = read_sigmf(disk / "v.sigmf-meta")
                    self.assertGreater(len(data), 40 * 1024)
                    self.assertEqual(len(data) % 1024, 0)
                    np.testing.assert_array_equal(
                        data[:4096], frames[:4, 0].transpose(0, 2, 1, 3).reshape(-1, 2, 2)
                    )
                for path in disk.iterdir():
                    path.unlink()

    def test_no_tags(self):
        sink = self.run_sink(self.voltages(2, 2, 1, 8), [])
        self.assertRegex(
            sink.error(), "the first frame has no rx_time, rx_freq, rx_rate, bandwidth"
        )
        self.assertEqual(self.left(), [])

    def test_other_writer(self):
        other = PartFile(self.folder / "v.0000.raw")
        sink = self.run_sink(self.voltages(2, 2, 1, 8))
        self.assertRegex(sink.error(), "another program or block writes this file")
        other.add(b"abc")
        other.finish()
        self.assertEqual((self.folder / "v.0000.raw").read_bytes(), b"abc")

    def test_restart(self):
        frames = self.voltages(3, 2, 1, 8)
        data = frames.view(np.uint8).reshape(3, -1)
        source = blocks.vector_source_b(data.ravel().tolist(), False, data.shape[1], tags_of(2, 8))
        sink = self.make()
        top = gr.top_block()
        top.connect(source, sink)
        for _ in range(2):
            top.run()
            self.assertEqual(sink.frames(), 3)
            self.assertEqual(len(read_guppi(self.folder / "v.0000.raw")), 3)
            source.rewind()
            source.set_data(data.ravel().tolist(), tags_of(2, 8))

    def test_refused(self):
        for wrong, text in (
            (dict(channels=0), "channels"),
            (dict(inputs=0), "inputs"),
            (
                dict(spectra_per_frame=2**30),
                "spectra_per_frame: an item would be 4 channels x "
                "1 inputs x 1073741824 spectra x 2 bytes",
            ),
            (dict(type="sc16"), "type"),
            (dict(kind="x"), "kind"),
            (dict(polarizations=3), "polarizations"),
            (dict(polarizations=2), "1 inputs are written, which are no pairs"),
            (dict(inputs=2), r"\{input\}"),
            (dict(inputs=2, kind="beams"), r"\{beam\}"),
            (dict(channels=1), "at least two channels"),
            (dict(selected_channels=[0, 2]), "neighbours"),
            (dict(selected_channels=[3, 2]), "neighbours"),
            (dict(selected_channels=[0, 4]), "0 to 3"),
            (dict(selected_channels=[1, 1]), "once"),
            (dict(selected_inputs=[]), "at least"),
            (dict(names=["a", "b"]), "names"),
            (dict(blocks_per_file=0), "blocks_per_file"),
            (dict(filename=self.folder / "v.dat"), "sigmf-meta, .raw"),
            (dict(filename=self.folder / "v.sigmf-meta"), r"\{channel\}"),
            (dict(filename=self.folder / "v-{x}.raw"), "means nothing"),
            (dict(filename=self.folder / "v-{channel}.raw"), "means nothing"),
            (
                dict(filename=self.folder / "v-{input}.raw", inputs=2, names=["a/", "a:"]),
                "no two inputs have one file",
            ),
        ):
            with self.assertRaisesRegex(ValueError, text):
                self.make(**{"channels": 4, **wrong})
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        if most < 2**20:
            with self.assertRaisesRegex(ValueError, "ulimit"):
                self.make(filename=self.folder / "v-{channel}.sigmf-meta", channels=most)
        with self.assertRaises(FileNotFoundError):
            self.make(filename=self.folder / "none" / "v.raw")
        os.symlink("x", self.folder / ".v.0000.raw.part")
        with self.assertRaisesRegex(FileExistsError, "symbolic link"):
            self.make()


if __name__ == "__main__":
    gr_unittest.run(qa_voltage_sink)

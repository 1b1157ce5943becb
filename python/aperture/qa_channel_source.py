#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Reading channels that others have made: orders of axes, codings, sets, gaps and gains. All
comparisons are exact; what is expected is computed by NumPy from the same bytes.
"""

import os

import numpy as np
import pmt
from gnuradio import blocks, gr, gr_unittest

from gnuradio.aperture import channel_source, corner_turn, tags
from gnuradio.aperture.testing.folders import InFolder

NUMBERS = {"sc8": np.int8, "fc32": np.float32}


def decoded(coding, data):
    """Components of some bytes, as the names of codings say; an independent model."""
    if coding == "levels2_be":
        codes = np.unpackbits(data).reshape(-1, 2) @ [2, 1]
        return np.array([40, 12, -12, -40], np.int8)[codes]
    if coding == "s4_be":
        codes = np.unpackbits(data).reshape(-1, 4) @ [8, 4, 2, 1]
        return ((codes ^ 8) - 8).astype(np.int8)
    kind = {"s8": np.int8, "s16": "<i2", "s16_be": ">i2", "f32": "<f4"}[coding]
    return data.view(kind).astype(np.int8 if coding == "s8" else np.float32)


class qa_channel_source(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(53)

    def write(self, data, name="a.raw"):
        path = self.path(name)
        with open(path, "wb") as file:
            file.write(np.ascontiguousarray(data).tobytes())
        return os.fsencode(path)

    def source(self, *files, rate=(1000000, 3), **parameters):
        return channel_source(files=list(files), rate=rate, **parameters)

    def play(self, source):
        """Voltages [spectrum][input][channel][re, im], and tags."""
        kind = np.dtype(NUMBERS[source.type()])
        shape = (-1, source.inputs(), source.channels(), 2)
        sink = blocks.vector_sink_b(source.output_signature().sizeof_stream_item(0))
        top = gr.top_block()
        top.connect(source, sink)
        top.run()
        return np.array(sink.data(), np.uint8).view(kind).reshape(shape), sink.tags()

    def gaps(self, found):
        return sorted(
            (value["input"], tag.offset, value["count"])
            for tag in found
            if pmt.symbol_to_string(tag.key) == tags.missing
            for value in [pmt.to_python(tag.value)]
        )

    # ---- orders of axes

    def test_blocks_of_rows(self):
        """Blocks [antenna][channel][time][polarisation] of several lengths, and a selection of the
        channels, in rising and in falling order."""
        antennas, channels, parts, lengths = 3, 37, 2, (1001, 700, 1001)
        made = [
            self.rng.integers(-127, 128, (antennas, channels, n, parts, 2), np.int8)
            for n in lengths
        ]
        name = self.write(np.concatenate([block.ravel() for block in made]))
        pieces, byte, first = [], 0, 0
        for block, n in zip(made, lengths):
            pieces.append((0, byte, n, first, 0, n))
            byte, first = byte + block.nbytes, first + n
        whole = np.concatenate([block.transpose(2, 0, 3, 1, 4) for block in made])
        whole = whole.reshape(sum(lengths), antennas * parts, channels, 2)
        for low, high, falling in ((0, 36, False), (0, 36, True), (5, 12, False)):
            head, step = (high, -parts) if falling else (low, parts)
            layout = [
                (
                    0,
                    a * parts + p,
                    0,
                    high - low + 1,
                    p,
                    0,
                    parts,
                    parts * (a * channels + head),
                    step,
                )
                for a in range(antennas)
                for p in range(parts)
            ]
            source = self.source(
                name, pieces=pieces, layout=layout, channels=high - low + 1, inputs=6
            )
            data, found = self.play(source)
            expected = whole[:, :, low : high + 1]
            np.testing.assert_array_equal(data, expected[:, :, ::-1] if falling else expected)
            self.assertEqual(self.gaps(found), [])
            self.assertEqual(source.missing(), [0] * 6)

    def test_long_rows(self):
        """Rows of a file that is larger than what is read at a time, of an odd length."""
        channels, spectra = 130, 5003
        made = self.rng.integers(-127, 128, (channels, spectra, 2), np.int8)
        source = self.source(
            self.write(made),
            pieces=[(0, 0, spectra, 0, 0, 0)],
            layout=[(0, 0, 0, channels, 0, 0, 1, 0, 1)],
            channels=channels,
        )
        data, _ = self.play(source)
        np.testing.assert_array_equal(data[:, 0], made.swapaxes(0, 1))

    def test_times_first(self):
        """[time][channel][polarisation], and [time][polarisation][channel] in falling order; from
        some spectrum on."""
        channels, spectra = 21, 4001
        made = self.rng.integers(-127, 128, (spectra, channels, 2, 2), np.int8)
        name = self.write(made)
        common = dict(pieces=[(0, 0, spectra, 0, 0, 0)], channels=channels, inputs=2)
        layout = [(0, p, 0, channels, p, 2, 2 * channels, 0, 0) for p in range(2)]
        data, found = self.play(self.source(name, layout=layout, begin=7, samples=100, **common))
        np.testing.assert_array_equal(data, made[7:107].swapaxes(1, 2))
        said = {pmt.symbol_to_string(tag.key): pmt.to_python(tag.value) for tag in found}
        self.assertEqual(said["rx_time"], (0, 21e-6))
        self.assertEqual((said["rx_rate"], said["bandwidth"]), (1e6 / 3, 21e6))
        self.assertEqual(said["samples_per_item"], channels)
        layout = [
            (0, p, 0, channels, (p + 1) * channels - 1, -1, 2 * channels, 0, 0) for p in range(2)
        ]
        data, _ = self.play(self.source(name, layout=layout, **common))
        shaped = made.reshape(spectra, 2, channels, 2)
        np.testing.assert_array_equal(data, shaped[:, :, ::-1])

    # ---- codings, gains

    def test_codings(self):
        """Rows and times of all codings, with odd numbers of channels and spectra."""
        channels, spectra = 5, 234
        for coding, bits in (
            ("levels2_be", 2),
            ("s4_be", 4),
            ("s8", 8),
            ("s16", 16),
            ("s16_be", 16),
            ("f32", 32),
        ):
            if coding == "f32":
                data = (
                    self.rng.normal(size=2 * channels * spectra).astype(np.float32).view(np.uint8)
                )
            else:
                data = self.rng.integers(0, 256, 2 * channels * spectra * bits // 8, np.uint8)
            values, name = decoded(coding, data), self.write(data)
            for layout, shape in (
                ([(0, 0, 0, channels, 0, 0, 1, 0, 1)], (channels, spectra, 2)),
                ([(0, 0, 0, channels, 0, 1, channels, 0, 0)], (spectra, channels, 2)),
            ):
                expected = values.reshape(shape)
                expected = expected if shape[0] == spectra else expected.swapaxes(0, 1)
                common = dict(
                    pieces=[(0, 0, spectra, 0, 0, 0)],
                    layout=layout,
                    channels=channels,
                    coding=coding,
                )
                got, _ = self.play(self.source(name, type="fc32", **common))
                np.testing.assert_array_equal(got[:, 0], expected, coding)
                gain = 0.03 - 0.01j
                source = self.source(name, type="sc8", gain=gain, **common)
                got, _ = self.play(source)
                re, im = np.float32(gain.real), np.float32(gain.imag)
                a, b = np.moveaxis(expected.astype(np.float32), -1, 0)
                exact = np.rint(np.stack([a * re - b * im, a * im + b * re], -1))
                clamped = int((np.abs(exact) > 127).any(axis=-1).sum())
                # a fused multiplication may round the other way
                self.assertLess(np.mean(got[:, 0] != np.clip(exact, -127, 127)), 1e-3, coding)
                self.assertEqual(source.clamped(), [clamped])

    def test_inverted(self):
        """Conjugated voltages; those whose imaginary part has no negative are counted."""
        made = self.rng.integers(-128, 128, (50, 7, 2), np.int8)
        source = self.source(
            self.write(made),
            pieces=[(0, 0, 50, 0, 0, 0)],
            layout=[(0, 0, 0, 7, 0, 1, 7, 0, 0)],
            channels=7,
            inverted=True,
        )
        data, _ = self.play(source)
        expected = made.astype(int) * [1, -1]
        np.testing.assert_array_equal(data[:, 0], np.minimum(expected, 127))
        self.assertEqual(source.clamped(), [np.sum(made[..., 1] == -128)])

    # ---- what is missing

    def test_sets_and_gaps(self):
        """Two nodes with channels of two inputs, a part of which one node does not have: the whole
        spectra are missing, and counted by corner_turn, too. A spectrum with NaN is missing."""
        channels, spectra = 6, 300
        made = self.rng.normal(size=(2, spectra, 2, 3, 2)).astype(np.float32)
        files = [self.write(node, f"{number}.raw") for number, node in enumerate(made)]
        made[0, 17, 1, 2, 0] = np.nan
        made[0].tofile(os.fsdecode(files[0]))
        row = made[1, 0].nbytes
        pieces = [(0, 0, spectra, 0, 0, 0)]
        # the second one has no spectra from 100 to 149, and ends before the first one
        pieces += [(1, 0, 100, 0, 1, 0), (1, 150 * row, 130, 150, 1, 0)]
        layout = [(node, i, 3 * node, 3, 3 * i, 1, 6, 0, 0) for node in range(2) for i in range(2)]
        parameters = dict(
            pieces=pieces, layout=layout, channels=channels, inputs=2, coding="f32", type="fc32"
        )
        source = self.source(*files, **parameters)
        data, found = self.play(source)
        expected = np.concatenate(made, axis=2)
        expected[100:150] = expected[280:] = expected[17, 1] = 0
        np.testing.assert_array_equal(data, expected)
        self.assertEqual(
            self.gaps(found), [(0, 100, 50), (0, 280, 20), (1, 17, 1), (1, 100, 50), (1, 280, 20)]
        )
        self.assertEqual((source.missing(), source.not_numbers()), ([70, 71], [0, 1]))
        turn = corner_turn(
            channels=channels, inputs=2, inputs_per_port=2, spectra_per_frame=10, device="cpu"
        )
        sink = blocks.vector_sink_c(channels * 2 * 10)
        top = gr.top_block()
        top.connect(self.source(*files, **parameters), turn, sink)
        top.run()
        self.assertEqual(turn.missing(), [70, 71])
        frames = np.array(sink.data(), np.complex64).reshape(30, channels, 2, 10)
        turned = expected.view(np.complex64)[..., 0].reshape(30, 10, 2, channels)
        np.testing.assert_array_equal(frames, turned.transpose(0, 3, 2, 1))

    def test_shortened_file(self):
        """A file that became shorter after it was opened: what is there comes, then an error."""
        made = self.rng.integers(-127, 128, (400, 8, 2), np.int8)
        name = self.write(made)
        source = self.source(
            name, pieces=[(0, 0, 400, 0, 0, 0)], layout=[(0, 0, 0, 8, 0, 1, 8, 0, 0)], channels=8
        )
        os.truncate(name, made[:250].nbytes + 5)
        data, _ = self.play(source)
        np.testing.assert_array_equal(data[:, 0], made[:250])
        self.assertIn("a.raw", source.error())

    # ---- what is refused

    def test_refused(self):
        name = self.write(np.zeros(1000, np.int8))
        good = dict(pieces=[(0, 0, 10, 0, 0, 0)], layout=[(0, 0, 0, 4, 0, 1, 4, 0, 0)], channels=4)
        self.source(name, **good)
        for words, changes in (
            ("layout[0]: (0, 0, 0, 5", dict(layout=[(0, 0, 0, 5, 0, 1, 4, 0, 0)])),
            ("channel 3 of input 0 is in no row", dict(layout=[(0, 0, 0, 3, 0, 1, 4, 0, 0)])),
            (
                "channel 1 of input 0 is in two",
                dict(layout=[*good["layout"], (0, 0, 1, 1, 0, 1, 4, 0, 0)]),
            ),
            ("time_stride", dict(layout=[(0, 0, 0, 4, 0, 1, 0, 0, 0)])),
            ("from its beginning on", dict(layout=[(0, 0, 0, 4, 0, -1, 4, 0, 0)])),
            ("1000 bytes", dict(pieces=[(0, 0, 126, 0, 0, 0)])),
            ("pieces[0]", dict(pieces=[(0, 0, 10, 0, 0)])),
            ("pieces[1]", dict(pieces=[(0, 0, 10, 0, 0, 0), (0, 0, 10, 5, 0, 0)])),
            ("width", dict(width=0.0)),
            ("gain", dict(gain=complex("nan"))),
            ("type", dict(type="sc4")),
            (
                "at most 2147483647 bytes",
                dict(
                    channels=1 << 24,
                    inputs=64,
                    layout=[(0, i, 0, 1 << 24, 0, 0, 1, 0, 0) for i in range(64)],
                ),
            ),
        ):
            with self.assertRaises(ValueError) as caught:
                self.source(name, **{**good, **changes})
            self.assertIn(words, str(caught.exception))
            self.assertNotIn("\n", str(caught.exception))
        source = self.source(name, **good)
        self.assertRaises(ValueError, source.set_gain, 1.0, 1)
        source.set_gain(2.0)
        self.assertEqual(source.gains(), [2.0])


if __name__ == "__main__":
    gr_unittest.run(qa_channel_source)

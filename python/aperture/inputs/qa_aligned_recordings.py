#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Recordings that were made apart are lined up by what they have in common."""

import pathlib

import numpy as np
import pmt
from gnuradio import blocks, gr, gr_unittest

from gnuradio.aperture.inputs.aligned_recordings import SEARCH_BYTES, samples_compared
from gnuradio.aperture.inputs.input_format import InputError
from gnuradio.aperture.inputs.registry import open_input
from gnuradio.aperture.testing.folders import InFolder

BAND = ",rate=1e6,freq=1e8,time=1700000000"
LENGTH, LATER = 300000, 41234  # samples; the second file begins so many later


class qa_aligned_recordings(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(23)

    def write(self, name, samples):
        parts = np.stack([samples.real, samples.imag], axis=-1)
        path = self.path(name)
        np.clip(np.rint(20 * parts), -127, 127).astype(np.int8).tofile(path)
        return path

    def noise(self, count):
        return self.rng.normal(size=(count, 2)) @ [1, 1j]

    def recordings(self, coherence=0.3, phase=0.7, turns=0.0):
        """Two files with a part in common: the second one begins later, and its oscillator is
        behind by a phase that makes so many cycles a sample."""
        sky = np.sqrt(coherence) * self.noise(LENGTH + LATER)
        own = np.sqrt(1 - coherence)
        first = sky[:LENGTH] + own * self.noise(LENGTH)
        rotated = np.exp(-1j * (phase + 2 * np.pi * turns * np.arange(LENGTH)))
        second = sky[LATER:] * rotated + own * self.noise(LENGTH)
        return self.write("a.sc8", first), self.write("b.sc8", second), first, second

    def run_source(self, text, samples=0):
        """The Signals and the source of an input, its samples [input][sample], and the phases
        [input] that are tagged on them first."""
        signals = open_input(text)
        source, top = signals.source(samples), gr.top_block()
        sinks = []
        for port in range(signals.inputs):
            sinks.append(blocks.vector_sink_b(2))
            top.connect((source, port), sinks[-1])
        top.run()
        found = [np.array(sink.data(), np.uint8).view(np.int8).reshape(-1, 2) for sink in sinks]
        phases = [
            [pmt.f64vector_ref(tag.value, 0) for tag in sink.tags() if str(tag.key) == "phase"][:1]
            for sink in sinks
        ]
        return signals, source, found, phases

    def check_found(self, found, first, second):
        common = LENGTH - LATER
        self.assertEqual(min(map(len, found)), common)
        for out, samples in ((found[0], first[LATER:]), (found[1], second[:common])):
            expected = np.clip(np.rint(20 * np.stack([samples.real, samples.imag], -1)), -127, 127)
            np.testing.assert_array_equal(out[:common], expected)

    def test_lined_up(self):
        """Output begins with the first sample that both have, every one of the right time."""
        a, b, first, second = self.recordings()
        text = f"raw:{a},{b},align=correlation,most_offset=0.05,search=0.05"
        signals, source, found, phases = self.run_source(text + BAND)
        self.assertEqual((signals.ports, signals.samples, signals.endless), (2, None, True))
        self.assertEqual(signals.files, [a, b])
        self.check_found(found, first, second)
        self.assertEqual([state.aligned for state in source.states()], [True, True])
        offsets = [state.offset for state in source.states()]
        self.assertAlmostEqual(offsets[1] - offsets[0], LATER, delta=0.05)
        # 50000 samples of a coherence of 0.3: 0.01 rad
        self.assertAlmostEqual(phases[1][0], 0.7, delta=0.05)
        _, source, found, _ = self.run_source(text + BAND, 1234)
        self.assertEqual([len(out) for out in found], [1234, 1234])

    def test_recordings_with_times(self):
        """PSRDADA likewise: the times of the files, which are wrong by a day, are not compared, and
        that of the first holds."""
        a, b, first, second = self.recordings()
        names = []
        for number, file in enumerate((a, b)):
            header = (
                "HDR_VERSION 1.0\nHDR_SIZE 4096\nNBIT 8\nNDIM 2\nNPOL 1\nNCHAN 1\nTSAMP 1\n"
                f"FREQ 100\nBW 1\nUTC_START 2024-06-{4 - number:02d}-12:00:00\nOBS_OFFSET 0\n"
            )
            names.append(self.path(f"{number}.dada"))
            samples = pathlib.Path(file).read_bytes()
            pathlib.Path(names[-1]).write_bytes(header.encode().ljust(4096, b"\0") + samples)
        files = f"dada:{','.join(names)}"
        signals, source, found, phases = self.run_source(
            files + ",align=correlation,most_offset=0.05,search=0.05"
        )
        # 2024-06-04T12:00:00Z
        self.assertEqual(signals.start_time, (1717502400, 0.0))
        self.assertEqual((signals.inputs, signals.ports, signals.samples), (2, 2, None))
        self.assertFalse([text for text in signals.warnings if "missing" in text])
        self.check_found(found, first, second)
        offsets = [state.offset for state in source.states()]
        self.assertAlmostEqual(offsets[1] - offsets[0], LATER, delta=0.05)
        self.assertAlmostEqual(phases[1][0], 0.7, delta=0.05)
        with self.assertRaisesRegex(ValueError, "1.dada has ended: files are read side by side"):
            open_input(files + ",align=time")
        for text, problem in (
            (f"{files},search=0.05", "search belongs to align=correlation"),
            (f"dada:{names[0]},align=correlation", "one file has nothing to be lined up"),
        ):
            with self.assertRaisesRegex(InputError, problem):
                open_input(text)

    def test_clocks_that_differ(self):
        """Their ppm are told, and followed where that was asked for."""
        # 300 Hz of 100 MHz are 3 ppm; the samples are not resampled: these make 0.9 of one
        a, b, _, _ = self.recordings(0.8, turns=300e-6)
        common = f"raw:{a},{b},align=correlation,most_offset=0.05,search=0.1"
        _, source, _, _ = self.run_source(common + BAND)
        state = source.states()[1]
        self.assertFalse(state.aligned)
        self.assertRegex(state.reason, "drift apart by 3 ppm, they are on two clocks")
        _, source, _, _ = self.run_source(common + ",clock_error=3" + BAND)
        state = source.states()[1]
        self.assertTrue(state.aligned)
        self.assertAlmostEqual(state.ppm, 3.0, delta=0.01)

    def test_memory(self):
        """Half of a file is compared, or as much as fits into half of the memory."""
        self.assertEqual(samples_compared(10**6, 2, 2, 1 << 40), 500000)
        memory = 1 << 28
        compared = samples_compared(10**9, 5, 8, memory)
        self.assertLessEqual(compared * 5 * (4 * 8 + 2 * SEARCH_BYTES), memory / 2)
        self.assertGreater(compared * 5 * (4 * 8 + 2 * SEARCH_BYTES), memory / 2.01)

    def test_refused(self):
        a, b, _, _ = self.recordings()
        for text, problem in (
            (f"{a},align=correlation", "one file has nothing to be lined up with"),
            (f"{a},{b},align=sky", "expected correlation or time"),
            (f"{a},{b},inputs=2,align=correlation", "has 2 inputs of complex samples"),
            (f"{a},{b},type=s8,align=correlation", "1 inputs of real samples"),
            (f"{a},{b},search=1", "search belongs to align=correlation"),
            (f"{a},{b},align=correlation,search=0.2,most_offset=0.2", "400000 samples are needed"),
        ):
            with self.assertRaisesRegex(InputError, problem):
                open_input(f"raw:{text}{BAND}")


if __name__ == "__main__":
    gr_unittest.run(qa_aligned_recordings)

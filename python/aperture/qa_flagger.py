#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""flagger against the model in float64, method by method, and against theory on noise."""

import threading

import numpy as np
import pmt
from gnuradio import aperture, blocks, gr_unittest

from gnuradio.aperture.testing import flagging_model as model
from gnuradio.aperture.testing import qa_tools, reference
from gnuradio.aperture.testing.qa_tools import (
    EPOCH,
    RATE,
    Flowgraph,
    frame_tags,
    missing_tags,
    rx_time,
    tags_of,
)

flagger = aperture.flagger
aperture = qa_tools.on_device(aperture)

OFF = {"kurtosis_false_alarms": 0}


def to_type(voltages, sample_type):
    """Complex numbers -> samples of a type, and what they are worth."""
    if sample_type == "fc32":
        return voltages.astype(np.complex64), voltages.astype(np.complex64)
    limit = {"sc8": 127, "sc4": 7}[sample_type]
    pairs = np.stack([voltages.real, voltages.imag], axis=-1)
    pairs = np.clip(np.rint(pairs), -limit, limit).astype(np.int8)
    return pairs, pairs[..., 0] + 1j * pairs[..., 1].astype(float)


def to_bytes(samples, sample_type):
    """Returns samples as they lie in memory, an item a frame."""
    if sample_type == "sc4":
        packed = (samples[..., 0].astype(np.uint8) << 4) | (samples[..., 1].astype(np.uint8) & 15)
        return packed.reshape(len(packed), -1)
    return reference.samples_to_bytes(samples, sample_type)


class qa_flagger(gr_unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(1905)

    def noise(self, shape, rms=1.0):
        return rms * (self.rng.standard_normal(shape) + 1j * self.rng.standard_normal(shape))

    def flag(self, samples, sample_type, spectra_per_slice, tags=(), **parameters):
        """Runs it; returns the frames as they came out, the masks as flags, and the tags."""
        frames, channels, inputs, times = samples.shape[:4]
        block = aperture.flagger(
            channels=channels,
            inputs=inputs,
            spectra_per_frame=times,
            type=sample_type,
            spectra_per_slice=spectra_per_slice,
            **parameters,
        )
        slices = times // spectra_per_slice
        data = to_bytes(samples, sample_type)
        mask_bytes = channels * inputs * -(-slices // 8)
        (out, masks), out_tags = qa_tools.run(
            block, [data], [data.shape[1], mask_bytes], tags=[list(tags)], chunks=7
        )
        masks = masks.reshape(frames, channels, inputs, -1)
        flags = model.unpack(masks, slices)
        np.testing.assert_array_equal(model.pack(flags), masks)  # unused bits are 0
        # the frames: zero where flagged, and as they were elsewhere
        expected = data.copy().reshape(frames, channels, inputs, slices, -1)
        expected[flags] = 0
        np.testing.assert_array_equal(out.reshape(expected.shape), expected)
        return flags, out_tags, block

    def check(
        self,
        voltages,
        spectra_per_slice,
        sample_type="fc32",
        missing=None,
        tags=(),
        some=True,
        **parameters,
    ):
        """Compares with the model."""
        samples, values = to_type(voltages, sample_type)
        frames, channels, inputs, times = voltages.shape
        there = None
        if missing is not None:
            samples[np.broadcast_to(missing[:, None], voltages.shape)] = 0
            values[np.broadcast_to(missing[:, None], voltages.shape)] = 0
            there = (~missing).reshape(frames, inputs, -1, spectra_per_slice).sum(axis=-1)
            tags = list(tags) + missing_tags(missing, True)
        parameters = {**OFF, **parameters}
        flags, out_tags, block = self.flag(
            samples, sample_type, spectra_per_slice, tags, **parameters
        )
        expected = model.flag(values, spectra_per_slice, sample_type, there, **parameters)
        # other orders of sums of fc32, in single precision, move cells across a threshold
        wrong = np.count_nonzero(flags != expected)
        allowed = expected.size // 2000 if sample_type == "fc32" else 0
        self.assertLessEqual(wrong, allowed, f"of {expected.size}, {expected.sum()} flagged")
        if some:
            self.assertTrue(0.002 < expected.mean() < 0.8, expected.mean())
        np.testing.assert_array_equal(block.flagged_of_inputs(), flags.sum(axis=(0, 1, 3)))
        np.testing.assert_array_equal(block.flagged_of_channels(), flags.sum(axis=(0, 2, 3)))
        cells = (
            np.full(inputs, frames * times // spectra_per_slice)
            if there is None
            else (there > 0).sum(axis=(0, 2))
        )
        np.testing.assert_array_equal(block.cells(), channels * cells)
        return flags, out_tags

    def interference(self, shape, rms=1.0):
        """Noise with a slope over the band, carriers, a pulse in all channels, a dead input."""
        frames, channels, inputs, times = shape
        voltages = self.noise(shape, rms)
        voltages *= np.linspace(1, 1.2, channels)[:, None, None]
        phases = np.exp(2j * np.pi * self.rng.random(times))
        voltages[:, channels // 3, 0] += 2 * rms * phases
        voltages[frames // 2, channels // 2 :, -1, times // 3 : times // 2] *= 2
        voltages[1 % frames, 2 % channels] *= 1.5
        voltages[:, 0, -1] = 0
        return voltages

    def test_methods(self):
        methods = {
            "kurtosis": {"kurtosis_false_alarms": 0.01},
            "powers": {"least_power": 1.9, "most_power": 2.9},
            "time": {"time_sigma": 3},
            "channels": {"channel_sigma": 3},
            "time sums": {"time_sum_sigma": 5},
            "channel sums": {"channel_sum_sigma": 5},
            "lists": {"bad_channels": [3, 0], "grown_channels": 1, "time_sigma": 4},
            "growth": {"kurtosis_false_alarms": 0.001, "grown_slices": 2, "grown_channels": 3},
            "all": {
                "kurtosis_false_alarms": 0.001,
                "most_power": 20,
                "time_sigma": 5,
                "channel_sigma": 5,
                "time_sum_sigma": 6,
                "channel_sum_sigma": 6,
                "bad_channels": [7],
                "grown_slices": 1,
                "grown_channels": 1,
            },
        }
        shape = (9, 21, 3, 320)  # 5 slices a frame
        for name, method in methods.items():
            with self.subTest(name):
                self.check(self.interference(shape), 64, **method)

    def test_types(self):
        method = {"kurtosis_false_alarms": 0.01, "channel_sigma": 4, "time_sum_sigma": 5}
        for sample_type, rms in (("sc8", 20), ("sc8", 1), ("sc4", 2.5), ("fc32", 1e-6)):
            with self.subTest(sample_type, rms=rms):
                self.check(self.interference((5, 18, 2, 192), rms), 96, sample_type, **method)

    def test_sizes(self):
        method = {"kurtosis_false_alarms": 0.05, "time_sum_sigma": 4, "channel_sum_sigma": 4}
        # one of all; many slices; more than a vector's; channels beyond the window
        self.check(self.noise((20, 1, 1, 65)), 65, some=False, **method)
        self.check(self.noise((2, 2, 1, 64 * 41)), 64, "sc8", some=False, **OFF, time_sigma=2)
        self.check(self.interference((3, 67, 5, 70)), 70, "sc4", some=False, **method)
        self.check(self.noise((40, 3, 1, 3)), 1, time_sigma=2.5)

    def test_missing(self):
        """Means are of what is there; where nothing is, nothing is flagged."""
        method = {
            "kurtosis_false_alarms": 0.02,
            "time_sigma": 4,
            "channel_sum_sigma": 5,
            "bad_channels": [5],
            "grown_slices": 1,
        }
        shape = (6, 19, 3, 256)
        missing = self.rng.random((6, 3, 256)) < 0.3
        missing[:, 1, :64] = True  # a slice
        missing[2, :, 70:120] = True  # most of one
        missing[4] = True
        for sample_type, rms in (("fc32", 1.0), ("sc8", 10)):
            with self.subTest(sample_type):
                flags, tags = self.check(
                    self.interference(shape, rms), 64, sample_type, missing=missing, **method
                )
                self.assertFalse(flags[4].any())
                self.assertFalse(flags[:, :, 1, 0].any())
                found = qa_tools.missing_of(tags[0], 3, 6 * 256)
                np.testing.assert_array_equal(found, np.moveaxis(missing, 1, 0).reshape(3, -1))

    def test_not_finite(self):
        """NaN and infinity are interference, and reach nobody."""
        voltages = self.noise((3, 4, 2, 128))
        voltages[0, 1, 0, 5] = np.nan
        voltages[1, 2, 1, 127] = np.inf
        flags, _, _ = self.flag(voltages.astype(np.complex64), "fc32", 64, **OFF)
        self.assertEqual([list(x) for x in np.argwhere(flags)], [[0, 1, 0, 0], [1, 2, 1, 1]])

    def test_limits(self):
        """The limits of the block are those of the closed form; half of the cells on each side."""
        for spectra, false_alarms in ((64, 0.0027), (2000, 0.0013), (2000, 0.0027), (9999, 1e-5)):
            limits = flagger.kurtosis_limits(spectra, false_alarms)
            np.testing.assert_allclose(
                limits, model.kurtosis_limits(spectra, false_alarms), rtol=1e-5
            )

    def test_false_alarms(self):
        """Noise has as many flagged cells as were asked for, within 5 standard deviations."""
        rate, cells, spectra = 0.01, 12000, 256
        for sample_type, rms in (
            ("fc32", 1),
            ("sc8", 3),
            ("sc8", 10),
            ("sc8", 20),
            ("sc8", 0.7),
            ("sc4", 2),
            ("sc4", 1),
        ):
            with self.subTest(sample_type, rms=rms):
                noise = rms * self.rng.standard_normal((3, 4000, 1, spectra, 2), np.float32)
                samples, _ = to_type(noise[..., 0] + 1j * noise[..., 1], sample_type)
                flags, _, _ = self.flag(samples, sample_type, spectra, kurtosis_false_alarms=rate)
                self.assertLess(abs(flags.mean() - rate), 5 * np.sqrt(rate / cells))

    def test_detection(self):
        """
        2000 spectra, 0.13 % false alarms: a carrier with the power of the noise is found by its
        kurtosis in at least 99 % of the cells. See docs/interference.md for pulses.
        """
        noise = self.noise((1, 4000, 1, 2000), np.sqrt(0.5)).astype(np.complex64)
        carrier = np.exp(2j * np.pi * np.linspace(0.1, 0.9, 4000)[:, None] * np.arange(2000))
        flags, _, _ = self.flag(
            (noise + carrier[None, :, None]).astype(np.complex64),
            "fc32",
            2000,
            kurtosis_false_alarms=0.0013,
        )
        self.assertGreaterEqual(flags.mean(), 0.99)

    def test_tags(self):
        """Tags go on with the frames, those of others, too; time and frequency with the masks."""
        tags = frame_tags() + [
            (2, "rx_freq", 409e6),
            (2, "rx_time", rx_time(EPOCH, 2 / RATE)),
            (3, "something", "else"),
            (4, "partial", True),
        ]
        tags = [(o, k, pmt.intern(v) if isinstance(v, str) else v) for o, k, v in tags]
        samples = self.noise((5, 4, 2, 64)).astype(np.complex64)
        _, (frames, masks), _ = self.flag(samples, "fc32", 64, tags)
        self.assertEqual(tags_of(frames, "something"), [(3, "else")])
        self.assertEqual(tags_of(frames, "partial"), [(4, True)])
        for port in (frames, masks):
            self.assertEqual(tags_of(port, "rx_freq"), [(0, 408e6), (2, 409e6)])
            self.assertEqual(tags_of(port, "rx_rate"), [(0, RATE)])
            self.assertEqual(tags_of(port, "rx_time")[0], (0, rx_time(EPOCH)))

    def test_restart(self):
        """Nothing is left of the run before."""
        voltages = self.interference((40, 5, 2, 64)).astype(np.complex64)
        gate = threading.Event()
        block = aperture.flagger(
            channels=5, inputs=2, spectra_per_frame=64, time_sum_sigma=4, **OFF
        )
        graph = Flowgraph(
            block,
            [reference.samples_to_bytes(voltages, "fc32")],
            [voltages[0].nbytes, 10],
            tags=[frame_tags()],
            gates={10: gate},
        )
        with graph.running():
            graph.sinks[0].wait_for(2)
            graph.top.stop()
        expected = model.pack(model.flag(voltages, 64, time_sum_sigma=4))
        for _ in range(2):
            (_, masks), _ = graph.run()
            np.testing.assert_array_equal(masks.reshape(expected.shape), expected)

    def test_settings(self):
        """Setters hold from then on; the status tells what was found."""
        block = aperture.flagger(channels=4, inputs=2, spectra_per_frame=64, **OFF)
        block.set_bad_channels([1, 2])
        with self.assertRaisesRegex(ValueError, "bad_channels: 4 is not allowed"):
            block.set_bad_channels([4])
        for name in (
            "kurtosis_false_alarms",
            "least_power",
            "time_sigma",
            "channel_sigma",
            "time_sum_sigma",
            "channel_sum_sigma",
            "most_power",
        ):
            getattr(block, "set_" + name)(0)
        block.set_grown_slices(0)
        block.set_grown_channels(1)
        samples = self.noise((3, 4, 2, 64)).astype(np.complex64)
        gate = threading.Event()
        graph = Flowgraph(
            block,
            [reference.samples_to_bytes(samples, "fc32")],
            [samples[0].nbytes, 8],
            tags=[frame_tags()],
            gates={2: gate},
        )
        heard = blocks.message_debug()
        graph.top.msg_connect(block, "status", heard, "store")
        with graph.running():
            # a second may be over before the two frames have come
            status = qa_tools.comes_true(
                lambda: next(
                    (
                        message
                        for message in (
                            qa_tools.from_pmt(heard.get_message(number))
                            for number in range(heard.num_messages())
                        )
                        if list(message["cells"]) == [8, 8]
                    ),
                    None,
                )
            )
            gate.set()
            graph.top.wait()
        self.assertEqual(status["event"], "flags")
        self.assertEqual(list(status["cells"]), [8, 8])
        self.assertEqual(list(status["flagged"]), [4, 4])
        self.assertEqual(list(status["flagged_of_channels"]), [0, 4, 4, 0])
        self.assertEqual(list(status["occupancy"]), [0.5, 0.5])
        self.assertEqual(block.flagged_of_channels(), [0, 6, 6, 0])

    def test_f_engine(self):
        """f_engine flags what flagger does behind it, with losses and the end of the input, too."""
        samples = self.noise((64 * 200 + 5, 2), 20)
        samples[64 * 30 : 64 * 90] += 30 * np.exp(0.3j * np.arange(64 * 60))[:, None]
        data = reference.samples_to_bytes(to_type(samples, "sc8")[0], "sc8")
        tags = [
            (0, "rx_time", rx_time(EPOCH)),
            (0, "rx_rate", 1e6),
            (0, "rx_freq", 1e9),
            (5000, "rx_time", rx_time(EPOCH, 0.0071)),
        ]
        methods = {
            "spectra_per_slice": 8,
            "time_sigma": 5.0,
            "channel_sum_sigma": 5.0,
            "grown_slices": 1,
            **OFF,
        }
        common = {
            "channels": 64,
            "inputs": 2,
            "inputs_per_port": 2,
            "input_type": "sc8",
            "output_type": "sc8",
            "taps": 4,
            "spectra_per_frame": 24,
            "first_channel": 3,
            "selected_channels": 50,
        }
        (plain,), (plain_tags,) = qa_tools.run(
            aperture.f_engine(**common), [data], [50 * 2 * 24 * 2], tags=[tags], chunks=900
        )
        there = [(t.offset, t.key, t.value) for t in plain_tags]
        separate = qa_tools.run(
            aperture.flagger(channels=50, inputs=2, spectra_per_frame=24, type="sc8", **methods),
            [plain],
            [50 * 2 * 24 * 2, 50 * 2],
            tags=[there],
            chunks=3,
        )
        block = aperture.f_engine(**common, **methods)
        fused = qa_tools.run(block, [data], [50 * 2 * 24 * 2, 50 * 2], tags=[tags], chunks=900)
        self.assertTrue(0.001 < np.count_nonzero(separate[0][1]) / separate[0][1].size < 0.5)
        for port in range(2):
            np.testing.assert_array_equal(fused[0][port], separate[0][port])
        self.assertGreater(len(tags_of(plain_tags, "missing")), 2)
        self.assertEqual(fused[1][0], plain_tags)
        for key in ("rx_time", "rx_rate", "rx_freq", "bandwidth"):
            self.assertEqual(tags_of(fused[1][1], key)[0], tags_of(plain_tags, key)[0])
        self.assertEqual(sum(block.flagged_of_inputs()), sum(block.flagged_of_channels()))
        self.assertLess(0, sum(block.flagged_of_inputs()))

    def test_errors(self):
        cases = (
            ({"spectra_per_slice": 100}, "spectra_per_slice: 100 is not allowed; it must be a div"),
            ({"spectra_per_slice": 32}, "spectra_per_slice: 32 is not allowed; it must be at l"),
            ({"kurtosis_false_alarms": 1}, "kurtosis_false_alarms: 1 is not allowed; it must be 0"),
            ({"time_sigma": -1}, "time_sigma: -1 is not allowed"),
            ({"most_power": 1, "least_power": 2}, "most_power: 1 is not allowed"),
            ({"bad_channels": [1024]}, "bad_channels: 1024 is not allowed; it must be channels"),
            ({"grown_slices": 99}, "grown_slices: 99 is not allowed"),
            ({"type": "sc16"}, "type: 'sc16' is not allowed; it must be fc32, sc8 or sc4"),
        )
        for parameters, message in cases:
            with self.assertRaises(ValueError) as caught:
                aperture.flagger(**parameters)
            self.assertIn(message, str(caught.exception))


if __name__ == "__main__":
    gr_unittest.run(qa_flagger)

#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""exchange against slices of the whole frames: places, tags, missing frames, errors."""

import numpy as np
import pmt
from gnuradio import aperture, gr_unittest

from gnuradio.aperture.testing import qa_tools
from gnuradio.aperture.testing.qa_tools import (
    DEVICE,
    EPOCH,
    RATE,
    Flowgraph,
    frame_tags,
    rx_time,
    tags_of,
    to_pmt,
)

aperture = qa_tools.on_device(aperture)

SIZES = {"sc8": 2, "sc4": 1, "fc32": 8}
TIMES = 5


def devices(count, start=0):
    """Names of so many devices of the kind under test."""
    if DEVICE == "cpu":
        return ["cpu"] * count
    kind = DEVICE.partition(":")[0]
    found = sum(name.startswith("cuda") for name in aperture.devices()) if kind == "cuda" else 4
    return [f"{kind}:{(start + i) % found}" for i in range(count)]


def ranges(total, parts):
    """Slices, by the formula of the documents."""
    return [slice(k * total // parts, (k + 1) * total // parts) for k in range(parts)]


class qa_exchange(gr_unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(2903)

    def frames(self, count, channels, inputs, row):
        return self.rng.integers(0, 256, (count, channels, inputs, row), np.uint8)

    def graph(
        self,
        whole,
        ports_in,
        ports_out,
        kind="sc8",
        tags=None,
        starts=None,
        ends=None,
        chunks=3,
        inputs_on=None,
        outputs_on=None,
        **parameters,
    ):
        """The flowgraph for whole frames [frame][channel][input][byte]; starts, ends: frames of
        each port."""
        count, channels, inputs, row = whole.shape
        block = aperture.exchange(
            channels=channels,
            inputs=inputs,
            type=kind,
            spectra_per_frame=parameters.pop("times", row // SIZES[kind]),
            input_devices=inputs_on or devices(ports_in),
            output_devices=outputs_on or devices(ports_out, 1),
            **parameters,
        )
        starts, ends = starts or [0] * ports_in, ends or [count] * ports_in
        ports = [
            np.ascontiguousarray(whole[start:end, :, part]).reshape(end - start, -1)
            for part, start, end in zip(ranges(inputs, ports_in), starts, ends)
        ]
        sizes = [(part.stop - part.start) * inputs * row for part in ranges(channels, ports_out)]
        return block, Flowgraph(block, ports, sizes, tags=tags, chunks=chunks)

    def assert_frames(self, data, whole):
        """Compares the frames of all ports. data: of each output port; whole: as it is expected."""
        count, channels, inputs, row = whole.shape
        for out, part in zip(data, ranges(channels, len(data))):
            np.testing.assert_array_equal(
                out.reshape(-1, part.stop - part.start, inputs, row), whole[:, part]
            )

    def test_places(self):
        for ports_in, ports_out, channels, inputs, kind in (
            (1, 1, 3, 2, "sc8"),
            (2, 2, 7, 5, "sc8"),
            (3, 2, 7, 5, "fc32"),
            (2, 3, 3, 2, "sc4"),
            (4, 4, 9, 6, "sc8"),
            (5, 1, 1, 7, "sc4"),
            (1, 5, 6, 1, "sc8"),
        ):
            whole = self.frames(41, channels, inputs, TIMES * SIZES[kind])
            block, graph = self.graph(whole, ports_in, ports_out, kind)
            for _ in range(2):  # twice
                data, _ = graph.run()
                self.assert_frames(data, whole)
                self.assertEqual(block.error(), "")
            self.assertEqual(
                aperture.exchange.range_of(ports_in - 1, ports_in, inputs),
                ((ports_in - 1) * inputs // ports_in, inputs - (ports_in - 1) * inputs // ports_in),
            )

    def test_long_rows(self):
        """Frames of a megabyte, on rings that are mapped twice and on others."""
        for times in (1 << 14, 13001):
            whole = self.frames(9, 8, 4, times * 2)
            _, graph = self.graph(whole, 2, 2, chunks=0)
            data, _ = graph.run()
            self.assert_frames(data, whole)

    def test_one_device(self):
        """All ports on one device, and pairs on each of two."""
        for on in ([DEVICE] * 4, devices(2) * 2):
            whole = self.frames(17, 9, 6, TIMES * 2)
            _, graph = self.graph(whole, 4, 4, inputs_on=on, outputs_on=on)
            data, _ = graph.run()
            self.assert_frames(data, whole)

    def test_tags(self):
        whole = self.frames(6, 7, 5, TIMES * 2)
        tags = [
            frame_tags()
            + [(3, "rx_freq", 410e6), (3, "rx_time", rx_time(EPOCH, 3 / RATE)), (4, "note", 1.5)],
            frame_tags()
            + [
                (2, "missing", {"input": 1, "first": 12, "count": 3}),
                (5, "partial", True),
                (1, "note", 2.5),
            ],
        ]
        block, graph = self.graph(whole, 2, 3, tags=tags)
        _, out = graph.run()
        self.assertEqual(block.error(), "")
        width = 2e6 / 7
        for found, part in zip(out, ranges(7, 3)):
            count = part.stop - part.start
            middle = (part.start + count // 2 - 3) * width
            self.assertEqual(tags_of(found, "rx_time")[0], (0, (EPOCH, 0.0)))
            self.assertEqual(tags_of(found, "rx_rate"), [(0, RATE)])
            self.assertEqual(tags_of(found, "samples_per_item"), [(0, 640)])
            np.testing.assert_allclose(tags_of(found, "bandwidth"), [(0, count * width)])
            np.testing.assert_allclose(
                tags_of(found, "rx_freq"), [(0, 408e6 + middle), (3, 410e6 + middle)], rtol=1e-14
            )
            # input 1 of the second port, which begins with input 2 of 5
            self.assertEqual(
                tags_of(found, "missing"), [(2, {"input": 3, "first": 12, "count": 3})]
            )
            self.assertEqual(tags_of(found, "partial"), [(5, True)])
            self.assertEqual(tags_of(found, "note"), [(4, 1.5)])

    def test_settings(self):
        """Settings of a port's inputs are of these behind it; those of none are said once."""

        def told(*settings):
            made = pmt.make_vector(len(settings), pmt.PMT_NIL)
            for number, setting in enumerate(settings):
                pmt.vector_set(made, number, setting)
            return made

        def gains(gain, **own):
            return to_pmt({"setting": pmt.intern("gains"), "gain": gain, **own})

        delays = pmt.dict_add(
            to_pmt({"setting": pmt.intern("delays")}),
            pmt.intern("delay"),
            pmt.init_f64vector(3, [1e-6, 2e-6, 3e-6]),
        )
        direction = to_pmt({"setting": pmt.intern("direction"), "direction": {"ra": 1.0}})
        tags = [
            [*frame_tags(), (2, "settings", told(gains(2.0), direction))],
            [*frame_tags(), (2, "settings", told(gains(3.0, input=1), direction, delays))],
        ]
        block, graph = self.graph(self.frames(6, 7, 5, TIMES * 2), 2, 2, tags=tags)
        _, out = graph.run()
        self.assertEqual(block.error(), "")
        for found in out:
            ((item, settings),) = tags_of(found, "settings")
            self.assertEqual(item, 2)
            of_inputs = {}
            for setting in settings:
                key = next(key for key in ("gain", "delay", "direction") if key in setting)
                value = setting[key]
                of_inputs[setting["setting"], setting.get("input")] = (
                    value if key != "delay" else list(value)
                )
            self.assertEqual(len(of_inputs), len(settings))
            self.assertEqual(
                of_inputs,
                {
                    ("direction", None): {"ra": 1.0},
                    **{("gains", number): 2.0 for number in (0, 1)},
                    ("gains", 3): 3.0,
                    **{("delays", 2 + number): [(1 + number) * 1e-6] for number in range(3)},
                },
            )

    def test_different_starts_and_a_gap(self):
        """Ports that begin and end at different times, and one that loses frames 20 to 22."""
        whole = self.frames(60, 4, 3, TIMES * 2)
        starts, ends = [0, 7, 3], [50, 60, 55]
        tags = [frame_tags(start / RATE) for start in starts]
        tags[2].append((17, "rx_time", rx_time(EPOCH, 23 / RATE)))
        sent = whole.copy()
        # the third port sends its frames 20 ... as if they were 23 ...
        block, graph = self.graph(sent, 3, 2, tags=tags, starts=starts, ends=ends)
        data, out = graph.run()
        self.assertEqual(block.error(), "")
        expected = whole.copy()
        expected[23:, :, 2] = whole[20:-3, :, 2]
        expected[20:23, :, 2] = 0
        expected = expected[7:50]
        self.assert_frames(data, expected)
        for found in out:
            self.assertEqual(tags_of(found, "rx_time")[0], (0, (EPOCH, 7 / RATE)))
            missing = qa_tools.missing_of(found, 3, len(expected) * TIMES)
            lost = np.zeros_like(missing)
            lost[2, 13 * TIMES : 16 * TIMES] = True
            np.testing.assert_array_equal(missing, lost)

    def test_masks(self):
        whole = self.frames(11, 5, 4, 3)  # 20 slices
        block, graph = self.graph(
            whole, 2, 2, times=60, spectra_per_slice=3, tags=[frame_tags(), frame_tags()]
        )
        data, out = graph.run()
        self.assert_frames(data, whole)
        self.assertEqual(tags_of(out[1], "rx_time"), [(0, (EPOCH, 0.0))])

    def test_frames_that_do_not_begin_together(self):
        """Half a frame apart: an error, and no data in the wrong place."""
        whole = self.frames(30, 4, 4, TIMES * 2)
        block, graph = self.graph(whole, 2, 2, tags=[frame_tags(), frame_tags(0.4 / RATE)])
        data, _ = graph.run()
        self.assertIn("frames of port 1 begin 2 spectra after those of port 0", block.error())
        self.assertEqual([len(out) for out in data], [0, 0])

    def test_times_of_the_host(self):
        """Frames with times that are the host's are taken as begun together."""
        whole = self.frames(20, 4, 4, TIMES * 2)
        tags = [frame_tags(start) + [(0, "rx_time_approximate", True)] for start in (0, 0.0013)]
        block, graph = self.graph(whole, 2, 2, tags=tags)
        data, _ = graph.run()
        self.assertEqual(block.error(), "")
        self.assert_frames(data, whole)

    def test_refused(self):
        good = dict(
            channels=4,
            inputs=4,
            spectra_per_frame=8,
            type="sc8",
            input_devices=["cpu", "cpu"],
            output_devices=["cpu", "cpu"],
        )
        for text, wrong in (
            ("input_devices: an empty list", dict(input_devices=[])),
            ("output_devices: 5 ports is not allowed", dict(output_devices=["cpu"] * 5)),
            ("output_devices: emulated beside cpu", dict(output_devices=["emulated"])),
            ("input_devices: emulated:1 beside cpu", dict(input_devices=["cpu", "emulated:1"])),
            ("device: 'gpu' is not known", dict(input_devices=["gpu"])),
            ("by: 'post' is not allowed", dict(by="post")),
            ("spectra_per_slice: 3 is not allowed", dict(spectra_per_slice=3)),
            (
                "frame: 8388608 channels x 65536 inputs",
                dict(channels=1 << 24, inputs=65536, spectra_per_frame=1024),
            ),
        ):
            with self.assertRaisesRegex(ValueError, text):
                aperture.exchange(**{**good, **wrong})
        with self.assertRaisesRegex(ValueError, "part: 2 is not allowed"):
            aperture.exchange.range_of(2, 2, 7)

    def test_a_device_that_fails(self):
        """A block on one of the devices fails in the middle: one message, and no wait."""
        whole = self.frames(300, 4, 4, 8)
        size = 4 * 2 * 8

        class Failing(aperture.device_block):
            """Copies some items."""

            def __init__(self, device):
                super().__init__("failing", [(np.uint8, size)], [(np.uint8, size)], device=device)
                self.done = 0

            def work(self, inputs, outputs):
                outputs[0][...] = inputs[0]
                self.done += len(inputs[0])
                if self.done > 40:
                    raise RuntimeError("the device is gone")

        block, graph = self.graph(whole, 2, 2, chunks=3)
        failing = Failing(devices(2)[1])
        graph.top.disconnect(graph.sources[1], (block, 1))
        graph.top.connect(graph.sources[1], failing, (block, 1))
        data, _ = graph.run()
        self.assertIn("the device is gone", failing.error())
        self.assertEqual(block.error(), "")
        self.assertLess(len(data[0]), 60)
        self.assert_frames(data, whole[: len(data[0])])

    def test_behind_each_other(self):
        """Frames go through two of them, and are whole again."""
        whole = self.frames(23, 6, 4, 8)
        block, graph = self.graph(whole, 2, 2, outputs_on=devices(2))
        back = aperture.exchange(  # channels are inputs now
            channels=1,
            inputs=6,
            spectra_per_frame=16,
            type="sc8",
            input_devices=devices(2),
            output_devices=devices(1, 2),
        )
        first, second = graph.sinks
        for number, sink in enumerate((first, second)):
            graph.top.disconnect((block, number), sink)
            graph.top.connect((block, number), (back, number))
        joined = qa_tools.ByteSink(6 * 32)
        graph.top.connect(back, joined)
        graph.sinks = [joined]
        (data,), _ = graph.run()
        np.testing.assert_array_equal(data.reshape(whole.shape), whole)


if __name__ == "__main__":
    gr_unittest.run(qa_exchange)

#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Settings of blocks that read the samples beside an F-engine: none is late, and nothing hangs."""

import threading
import time

import numpy as np
import pmt
from gnuradio import aperture, blocks, gr, gr_unittest

from gnuradio.aperture import delay_tracker, pointing
from gnuradio.aperture.arrays import geometry
from gnuradio.aperture.arrays.array_description import Antenna, Input
from gnuradio.aperture.beams.beams import Beam
from gnuradio.aperture.streams.python_block import python_block, vector_of
from gnuradio.aperture.testing import qa_tools
from gnuradio.aperture.testing.arrays import make_array
from gnuradio.aperture.testing.item_stream import Log
from gnuradio.aperture.testing.qa_tools import comes_true, gr_tags
from gnuradio.aperture.tracking.directions import Direction

aperture = qa_tools.on_device(aperture)

START = 1577934245
RATE = 1000.0  # samples a second: a recording of minutes is read in a moment
CHANNELS, INPUTS, FRAME = 8, 3, 16
SAMPLES = 200_003
SIZE = 8 * INPUTS  # bytes of an item
FREQUENCY = 1.4e9
PATIENCE = 120  # s, for what ends at once


def array_of():
    places = [Antenna(f"A{i}", (170.0 * i, 60.0 * i * (i - 1), 0.0)) for i in range(INPUTS)]
    inputs = [Input(place.name, "x") for place in places]
    return make_array(places, inputs=inputs, rate=RATE, center=FREQUENCY)


def place(array):
    ra, dec = geometry.azel_to_radec(
        110.0, 50.0, START, array.latitude, array.longitude, array.height
    )
    return dict(ra=float(ra), dec=float(dec))


class slow:
    """Computes longer than the samples take to be read."""

    waits_for = None  # an F-engine: nothing is sent before it has read half of the samples

    def _send(self, begin):
        if self.waits_for is not None:
            comes_true(lambda: self.waits_for.nitems_read(0) > SAMPLES // 2)
        time.sleep(2e-3)
        super()._send(begin)


class slow_tracker(slow, delay_tracker):
    pass


class slow_pointing(slow, pointing):
    pass


class failing_tracker(delay_tracker):
    """Fails at its third model."""

    def _send(self, begin):
        if self.updates() == 2:
            raise ValueError("no third model")
        super()._send(begin)


class idle_sender(python_block):
    """Has a connected port for delays; reads so many items, and then no more, or ends."""

    def __init__(self, items, ends):
        super().__init__("idle_sender", [vector_of(np.uint8, SIZE)], None)
        self.message_port_register_out(pmt.intern("delays"))
        self._left, self._ends = items, ends

    def _work(self, inputs, outputs):
        count = min(self._left, len(inputs[0]))
        self._left -= count
        if count == 0 and self._ends:
            return -1
        if count == 0:
            time.sleep(1e-2)
        return count


def source_of(samples=SAMPLES):
    """A recording that is read as fast as it can be."""
    rng = np.random.default_rng(2)
    values = rng.normal(size=(samples, INPUTS, 2)).astype(np.float32)
    found = gr_tags(
        0,
        {
            "rx_time": pmt.make_tuple(pmt.from_uint64(START), pmt.from_double(0.0)),
            "rx_rate": pmt.from_double(RATE),
            "rx_freq": pmt.from_double(FREQUENCY),
        },
    )
    return blocks.vector_source_c(values.view(np.complex64).ravel(), False, INPUTS, found)


def engine_of():
    return aperture.f_engine(
        channels=CHANNELS,
        inputs=INPUTS,
        inputs_per_port=INPUTS,
        spectra_per_frame=FRAME,
        most_delay=4,
    )


def within(seconds, function):
    """Calls a function that may hang. Returns whether it has come back."""
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    thread.join(seconds)
    return not thread.is_alive()


class qa_settings_ahead(gr_unittest.TestCase):
    def ends(self, top):
        self.assertTrue(within(PATIENCE, top.run), "the flowgraph hangs")

    def voltages(self, kind, between=(), separate=False, in_line=False):
        """Voltages of an F-engine with a tracker: (them, the engine, the tracker)."""
        array = array_of()
        top, source, engine = gr.top_block(), source_of(), engine_of()
        tracker = kind(array, Direction("s", **place(array)), CHANNELS, item_size=SIZE, lead=0.5)
        tracker.logger = Log()
        tracker.logger.error = tracker.logger.warn
        sink = blocks.vector_sink_c(CHANNELS * INPUTS * FRAME)
        if in_line:
            top.connect(source, tracker, engine)
        else:
            top.connect(source, *between, engine)
            top.connect(source_of() if separate else source, tracker)
            tracker.waits_for = engine if separate else None
        top.connect(engine, sink)
        top.msg_connect(tracker, "delays", engine, "delays")
        self.ends(top)
        return np.array(sink.data()), engine, tracker

    def test_delays(self):
        """A slow tracker beside the F-engine gives the bits that one in the stream gives, also with
        blocks between; one that reads another stream does not."""
        expected, _, tracker = self.voltages(slow_tracker, in_line=True)
        self.assertIsNone(tracker.error())
        self.assertGreater(tracker.updates(), 10)
        copies = [blocks.copy(SIZE), blocks.copy(SIZE)]
        for between in ([], copies):
            found, engine, tracker = self.voltages(slow_tracker, between)
            self.assertIsNone(tracker.error())
            self.assertEqual(engine.late_settings(), 0)
            np.testing.assert_array_equal(found, expected)
        # otherwise this would show nothing
        found, engine, _ = self.voltages(slow_tracker, separate=True)
        self.assertEqual(found.shape, expected.shape)
        self.assertFalse(np.array_equal(found, expected))

    def test_weights(self):
        """The same of weights, that frames wait for."""
        found, late = {}, {}
        array = array_of()
        for name in ("in line", "beside", "another stream"):
            top, source, engine = gr.top_block(), source_of(), engine_of()
            points = slow_pointing(
                array,
                [Beam("s", **place(array))],
                CHANNELS,
                item_size=SIZE,
                phase_error=30,
                frame_length=FRAME * CHANNELS / RATE,
                lead=0.5,
                center_frequency=FREQUENCY,
                bandwidth=1e6,
            )
            points.logger = Log()
            power = aperture.beam_power(
                beams=1,
                channels=CHANNELS,
                inputs=INPUTS,
                spectra_per_frame=FRAME,
                spectra=FRAME,
                type="fc32",
            )
            sink = blocks.vector_sink_f(CHANNELS)
            if name == "in line":
                top.connect(source, points, engine)
            else:
                top.connect(source, engine)
                top.connect(source if name == "beside" else source_of(), points)
                points.waits_for = engine if name == "another stream" else None
            top.connect(engine, power, sink)
            top.msg_connect(points, "weights", power, "weights")
            self.ends(top)
            self.assertIsNone(points.error())
            self.assertGreater(points.updates(), 20)
            found[name], late[name] = np.array(sink.data()), power.late_settings()
        self.assertEqual((late["in line"], late["beside"]), (0, 0))
        np.testing.assert_array_equal(found["beside"], found["in line"])
        self.assertFalse(np.array_equal(found["another stream"], found["in line"]))

    def test_late_settings(self):
        """Are counted, and from zero in the next run."""
        top, source, engine = gr.top_block(), source_of(), engine_of()
        late = pmt.make_dict()
        late = pmt.dict_add(late, pmt.intern("delay"), pmt.from_double(1e-3))
        time_value = pmt.make_tuple(pmt.from_uint64(START + 1), pmt.from_double(0.0))
        late = pmt.dict_add(late, pmt.intern("time"), time_value)

        class sends_late(python_block):
            """Sends it behind the first samples."""

            def __init__(self):
                items = [vector_of(np.uint8, SIZE)]
                super().__init__("sends_late", items, items)
                self.message_port_register_out(pmt.intern("delays"))
                self.set_max_noutput_items(5000)

            def _work(self, inputs, outputs):
                if self.nitems_read(0) >= 100_000 and not self.sent:
                    comes_true(lambda: engine.nitems_read(0) > 50_000)
                    self.message_port_pub(pmt.intern("delays"), late)
                    self.sent = True
                outputs[0][:] = inputs[0]
                return len(inputs[0])

        between = sends_late()
        sink = blocks.null_sink(8 * CHANNELS * INPUTS * FRAME)
        top.connect(source, between, engine, sink)
        top.msg_connect(between, "delays", engine, "delays")
        for sends, expected in ((True, 1), (False, 0)):
            between.sent = not sends
            source.rewind()
            self.ends(top)
            self.assertEqual(engine.late_settings(), expected)

    def test_a_sender_that_fails_or_ends(self):
        """Nobody waits for it: all samples are channelised."""
        spectra = SAMPLES // CHANNELS - 7
        frames = -(-spectra // FRAME)
        found, _, tracker = self.voltages(failing_tracker)
        self.assertIn("no third model", tracker.error())
        self.assertEqual(len(found), frames * FRAME * CHANNELS * INPUTS)
        top, source, engine = gr.top_block(), source_of(), engine_of()
        sender = idle_sender(10_000, ends=True)
        sink = blocks.vector_sink_c(CHANNELS * INPUTS * FRAME)
        top.connect(source, engine, sink)
        top.connect(source, sender)
        top.msg_connect(sender, "delays", engine, "delays")
        self.ends(top)
        self.assertEqual(len(sink.data()), frames * FRAME * CHANNELS * INPUTS)

    def test_stop_while_it_waits(self):
        """A sender that reads no more holds the F-engine, and does not hold the flowgraph's end."""
        samples = 40 * SAMPLES if qa_tools.ON_GPU else SAMPLES  # the rings of a GPU hold more
        top, source, engine = gr.top_block(), source_of(samples), engine_of()
        sender = idle_sender(1000, ends=False)
        sink = blocks.null_sink(8 * CHANNELS * INPUTS * FRAME)
        top.connect(source, engine, sink)
        top.connect(source, sender)
        top.msg_connect(sender, "delays", engine, "delays")
        top.start()
        comes_true(lambda: sender.nitems_read(0) == 1000)
        comes_true(lambda: source.nitems_written(0) > 1000)
        self.assertTrue(within(PATIENCE, lambda: (top.stop(), top.wait())), "it hangs")
        self.assertLess(engine.nitems_read(0), samples // 2)


if __name__ == "__main__":
    gr_unittest.run(qa_settings_ahead)

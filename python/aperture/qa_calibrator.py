#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The block that closes the loop: what the F-engine gives becomes flat while it runs."""

import os
import tempfile

import numpy as np
import pmt
from gnuradio import aperture, blocks, gr, gr_unittest

from gnuradio.aperture.arrays.array_model import Input, Source
from gnuradio.aperture.testing.arrays import make_array
from gnuradio.aperture.testing.qa_tools import (
    DEVICE,
    ByteSink,
    Keeper,
    from_pmt,
    gr_tags,
    rx_time,
    tags_of,
)

CHANNELS, RATE = 32, 2e6


def bench(flux=30.0):
    """Three receivers on one noise source, with unequal cables and gains."""
    return make_array(
        dict.fromkeys("ABC", (0.0, 0.0, 0.0)),
        inputs=[
            Input("A", "x"),
            Input("B", "x", 0.6 - 0.5j, 100e-9),
            Input("C", "x", -1.1 + 0.2j, -77e-9),
        ],
        rate=RATE,
        center=1.42e9,
        name="bench",
        sources=[Source("noise", azimuth=0.0, elevation=90.0, flux=flux)],
    )


class Loop(gr.top_block):
    """source -> f_engine -> xengine -> calibrator, which sets the F-engine, of so many
    integrations."""

    def __init__(self, length, flux=30.0, **options):
        super().__init__()
        array = bench(flux)
        source = aperture.array_source(
            array, samples=(length * 1000 + 7) * CHANNELS, inputs_per_port=3
        )
        self.f_engine = aperture.f_engine(
            channels=CHANNELS, inputs=3, inputs_per_port=3, spectra_per_frame=250, device=DEVICE
        )
        correlator = aperture.xengine(
            channels=CHANNELS, inputs=3, spectra_per_frame=250, integration=4, device=DEVICE
        )
        self.calibrator = aperture.calibrator(array, CHANNELS, **options)
        self.sink = blocks.vector_sink_c(CHANNELS * 6)
        self.status = blocks.message_debug()
        self.connect(source, self.f_engine, correlator, self.calibrator)
        self.connect(correlator, self.sink)
        self.msg_connect(self.calibrator, "delays", self.f_engine, "delays")
        self.msg_connect(self.calibrator, "gains", self.f_engine, "gains")
        self.msg_connect(self.calibrator, "status", self.status, "store")

    def visibilities(self):
        """Returns visibilities of B-A, C-A and C-B, [integration][channel][product]."""
        return np.reshape(self.sink.data(), (-1, CHANNELS, 6))[:, :, [1, 3, 4]]

    def events(self):
        """Returns the messages of status."""
        found = [self.status.get_message(i) for i in range(self.status.num_messages())]
        return [
            pmt.symbol_to_string(pmt.dict_ref(one, pmt.intern("event"), pmt.PMT_NIL))
            for one in found
        ]


class SwitchedIntegrations(gr.sync_block):
    """
    Integrations of two inputs, of SPECTRA spectra each, that hear a noise source in those with
    `on`: it is switched by the port `noise`, `delay` integrations behind what was sent; dead: not.
    The phase of its product is PHASE. lost: range of those that are zeros and count nothing.
    """

    SPECTRA, PHASE = 1000, 0.7

    def __init__(self, count, delay=3, dead=False, lost=range(0)):
        gr.sync_block.__init__(self, "switched", None, [(np.complex64, CHANNELS * 3)])
        self.on, self.told, self.lost = np.zeros(count, bool), [], lost
        self.delay, self.dead, self.sent = delay, dead, 0
        rng = np.random.default_rng(4)
        parts = rng.normal(size=(3, count, CHANNELS, 2)) @ [1, 1j] / np.sqrt(2 * self.SPECTRA)
        self.noise = np.stack([1 + parts[0].real, parts[1], 1 + parts[2].real], axis=-1)
        self.message_port_register_in(pmt.intern("noise"))
        self.set_msg_handler(pmt.intern("noise"), self.switch)

    def switch(self, message):
        self.told.append(from_pmt(message)["noise"])
        if not self.dead:
            self.on[self.sent + self.delay :] = self.told[-1]

    def item(self, index):
        source = np.array([10, 10 * np.exp(1j * self.PHASE), 10])
        return (self.noise[index] + self.on[index] * source).astype(np.complex64)

    def work(self, input_items, output_items):
        if self.sent == len(self.on):
            return -1
        if self.sent == 0:
            counted = np.array([self.SPECTRA], np.uint64)
            values = {"rx_time": rx_time(1700000000), "rx_freq": 1.42e9, "bandwidth": RATE}
            values |= {"spectra": self.SPECTRA, "counted": counted, "rx_rate": RATE / 32000}
            for tag in gr_tags(0, values):
                self.add_item_tag(0, 0, tag.key, tag.value)
        for edge, counts in zip((self.lost.start, self.lost.stop), (0, self.SPECTRA)):
            if self.lost and self.sent == edge:
                counted = pmt.init_u64vector(1, [counts])
                self.add_item_tag(0, edge, pmt.intern("counted"), counted)
        there = self.sent not in self.lost
        output_items[0][0] = self.item(self.sent).ravel() if there else 0
        self.sent += 1
        return 1


class qa_calibrator(gr_unittest.TestCase):
    def switched(self, source, **options):
        """Runs a calibrator on integrations; returns it, what left it [integration], what is
        counted there, and its events."""
        array = make_array(
            dict.fromkeys("AB", (0.0, 0.0, 0.0)), rate=RATE, center=1.42e9, name="two"
        )
        block = aperture.calibrator(
            array, CHANNELS, noise_source="message", reference="Ax", lead=0.1, **options
        )
        top, sink, keeper = gr.top_block(), ByteSink(8 * CHANNELS * 3), Keeper()
        top.connect(source, block, sink)
        top.msg_connect(block, "noise", source, "noise")
        top.msg_connect(block, "status", keeper, "in")
        top.run()
        self.assertIsNone(block.error())
        data = sink.data().view(np.complex64).reshape(-1, CHANNELS, 3)
        counted = np.zeros(len(data), int)
        for item, value in tags_of(sink.tags, "counted"):
            counted[item:] = value[0]
        return block, data, counted, [message["event"] for message in keeper.kept]

    def test_noise_source(self):
        """On, measured, off: what has the source counts nothing, all else is as it came."""
        source = SwitchedIntegrations(1500)
        block, data, counted, events = self.switched(
            source, integrations=5, noise_settle=5.0, noise_patience=20.0
        )
        self.assertEqual((source.told, events), ([True, False], ["calibrated"]))
        self.assertEqual(len(data), 1500)
        there = counted == source.SPECTRA
        self.assertTrue(np.all(there | (counted == 0)))
        self.assertFalse(np.any(source.on & there))
        self.assertGreater(there.sum(), 500)
        for index in np.flatnonzero(there):
            np.testing.assert_array_equal(data[index], source.item(index))
        self.assertFalse(np.any(data[~there]))
        # one stretch, from the first integration on
        self.assertEqual(np.flatnonzero(np.diff(there.astype(int))).size, 1)
        self.assertFalse(there[0])
        phase = block.calibration().phases(1.42e9)[1]
        self.assertAlmostEqual(phase, -source.PHASE, delta=0.02)

    def test_lost(self):
        """Integrations that count nothing: who lines the inputs up has the source then, and is not
        disturbed; behind them it is switched on, and measured, anew."""
        source = SwitchedIntegrations(1500, lost=range(100, 200))
        block, data, counted, events = self.switched(
            source, integrations=5, noise_settle=5.0, noise_patience=20.0
        )
        self.assertEqual((source.told, events), ([True, False] * 2, ["calibrated"]))
        there = np.flatnonzero(counted)
        self.assertFalse(np.any(source.on[there]))
        # 5 s of integrations of 16 ms from the 200th on
        self.assertGreaterEqual(there[0], 200 + 312)
        np.testing.assert_array_equal(there, np.arange(there[0], 1500))
        phase = block.calibration().phases(1.42e9)[1]
        self.assertAlmostEqual(phase, -source.PHASE, delta=0.02)

    def test_dead_switch(self):
        """Said once, and the integrations pass; nothing hangs."""
        source = SwitchedIntegrations(1500, dead=True)
        _, data, counted, events = self.switched(source, noise_settle=1.0, noise_patience=3.0)
        self.assertEqual(source.told, [True, False])
        self.assertEqual(events.count("noise_silent"), 1)
        self.assertEqual(len(data), 1500)
        # 3 s of 16 ms, and 1 s until it is off in any case
        missing = np.flatnonzero(counted == 0)
        self.assertEqual((missing[0], len(missing)), (0, missing[-1] + 1))
        self.assertAlmostEqual(len(missing), 4 / 0.016, delta=3)

    def check_flat(self, visibilities, part=0.12):
        """1 but for the noise: of 1000 spectra, and of what was measured; channel 0 has none."""
        self.assertLess(np.abs(np.angle(visibilities[:, 1:], deg=True)).max(), 2.5)
        mean = np.abs(visibilities[:, 1:]).mean(axis=0)
        np.testing.assert_allclose(mean, 1, atol=part)

    def test_loop(self):
        """Once: all that comes after it is flat, and the block has the calibration."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "cal.yml")
            loop = Loop(100, integrations=8, lead=0.05, reference="Ax", filename=path)
            loop.run()
            self.assertIsNone(loop.calibrator.error())
            self.assertEqual(loop.events(), ["calibrated"])
            self.assertEqual(loop.calibrator.measurements(), 1)
            calibration = loop.calibrator.calibration()
            self.assertEqual(aperture.load_calibration(path).names, ["Ax", "Bx", "Cx"])
        np.testing.assert_allclose(calibration.delays(), [0, -100e-9, 77e-9], atol=0.5e-9)
        found = loop.visibilities()
        self.assertEqual(len(found), 100)
        self.assertGreater(np.abs(np.angle(found[:8, 1:], deg=True)).max(), 30)
        # 8 integrations of 16 ms, 50 ms lead, and what may be late
        self.check_flat(found[60:])
        # the settings are a model of their own
        self.assertEqual({setting["model"] for setting in loop.f_engine.delays()}, {"calibration"})

    def test_again_and_again(self):
        """Each measurement is of what is left: they do not add up to twice the cables."""
        loop = Loop(160, integrations=4, lead=0.02, every=0.1, reference="Ax")
        loop.run()
        self.assertGreater(loop.calibrator.measurements(), 2)
        self.assertEqual(set(loop.events()), {"calibrated"})
        np.testing.assert_allclose(
            loop.calibrator.calibration().delays(), [0, -100e-9, 77e-9], atol=1e-9
        )
        self.check_flat(loop.visibilities()[-20:], 0.25)

    def test_level(self):
        """The reference's power stays as it is, however often it is measured: that of the source,
        30 times the receiver's noise, in an input of gain 1. The calibration is that of the
        voltages as they come."""
        loop = Loop(160, integrations=4, lead=0.02, every=0.1, reference="Ax", scale="level")
        loop.run()
        self.assertGreater(loop.calibrator.measurements(), 2)
        self.check_flat(loop.visibilities()[-20:] / 30, 0.25)
        found = loop.calibrator.calibration()
        sizes = np.abs(found.corrections(found.band.frequencies))[:, 1:].mean(axis=1)
        gains = np.abs([1, 0.6 - 0.5j, -1.1 + 0.2j])
        np.testing.assert_allclose(sizes * gains, 1 / np.sqrt(30), rtol=0.1)

    def test_no_source(self):
        """Nothing is set by noise that inputs do not share."""
        loop = Loop(20, flux=0.0, integrations=2)
        loop.run()
        self.assertEqual(set(loop.events()), {"not_calibrated"})
        self.assertIsNone(loop.calibrator.calibration())
        self.assertEqual(list(loop.f_engine.delays()), [])

    def test_command(self):
        """A message begins a measurement, another one is refused."""
        loop = Loop(60, integrations=2, lead=0.0)
        block = loop.calibrator.to_basic_block()
        for command in ("dance", "measure"):
            block._post(
                pmt.intern("command"),
                pmt.dict_add(pmt.make_dict(), pmt.intern("command"), pmt.intern(command)),
            )
        # the message of GRC's buttons
        block._post(pmt.intern("command"), pmt.cons(pmt.intern("command"), pmt.intern("measure")))
        loop.run()
        self.assertEqual(sorted(set(loop.events())), ["calibrated", "refused"])
        self.assertEqual(loop.events().count("refused"), 1)

    def test_errors(self):
        for options, text in (
            ({"channels": 0}, "channels: 0 is not allowed"),
            ({"inputs": 3}, "inputs: 3 is not allowed; it must be 2"),
            ({"integrations": 0}, "integrations: 0 is not allowed"),
            ({"every": -1.0}, "every: -1.0 is not allowed"),
            ({"lead": float("nan")}, "lead: nan is not allowed"),
            ({"source": "nowhere"}, "source: 'nowhere' is not known"),
            ({"reference": "Q"}, "input: 'Q' is not allowed"),
            ({"channels": 1 << 27}, "channels: an item would be 134217728 channels"),
        ):
            with self.subTest(**options), self.assertRaisesRegex(ValueError, text):
                aperture.calibrator(**options)


if __name__ == "__main__":
    gr_unittest.run(qa_calibrator)

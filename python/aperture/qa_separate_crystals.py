#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Receivers with a crystal each, behind stream_align, f_engine and xengine.

Their noise source is always on. What the visibilities lose and how far their phase strays follows
from the errors of what stream_align measures in SEARCH samples of a coherence c: of the phase
    sigma = sqrt((1 - c^2)/2) / (c sqrt(SEARCH)),
of its rate sqrt(12) sigma / SEARCH, which counts from the middle of these samples until the next
measurement holds. The source waits for the searches, so that these are APART samples at most.
"""

import time

import numpy as np
from gnuradio import aperture, blocks, gr, gr_unittest

from gnuradio.aperture.testing.qa_tools import (
    PATIENCE,
    ByteSink,
    each_of,
    from_pmt,
    let_work,
    tags_of,
)
from gnuradio.aperture.testing.receivers import Loss, Receiver, Receivers

RATE = 2.4e6
FREQUENCY = 100e6
PPM = 3.0  # between the two
CHANNELS, SPECTRA = 64, 50
SEARCH = 1 << 17
APART = 600000


class Chain:
    """Two receivers, lined up and correlated; runs at once."""

    def __init__(
        self,
        coherence,
        count,
        losses=(),
        search=SEARCH,
        ppm=PPM,
        clock_error=PPM / 2 + 0.5,
        **parameters,
    ):
        self.receivers = Receivers(
            [
                Receiver(0.0, 0.3, ppm=-ppm / 2, share=coherence, stamps="none"),
                Receiver(
                    700.3, -1.0, ppm=ppm / 2, share=coherence, stamps="none", losses=list(losses)
                ),
            ],
            sample_rate=RATE,
            center_frequency=FREQUENCY,
            bandwidth=1.0,
        )
        self.align = aperture.stream_align(
            search_samples=search, most_offset=1 << 12, clock_error=clock_error, **parameters
        )
        source = self.receivers.source(count, 20000, self.wait)
        f_engine = aperture.f_engine(
            channels=CHANNELS, inputs=2, spectra_per_frame=10, device="cpu"
        )
        xengine = aperture.xengine(
            channels=CHANNELS,
            inputs=2,
            spectra_per_frame=10,
            integration=SPECTRA // 10,
            device="cpu",
        )
        sink, self.aligned = ByteSink(CHANNELS * 24), ByteSink(8)
        status = blocks.message_debug()
        top = gr.top_block()
        for port in range(2):
            top.connect((source, port), (self.align, port), (f_engine, port))
        top.connect((self.align, 0), blocks.null_sink(8))
        top.connect((self.align, 1), self.aligned)
        top.connect(f_engine, xengine, sink)
        top.msg_connect((self.align, "status"), (status, "store"))
        top.run()
        self.messages = [from_pmt(status.get_message(i)) for i in range(status.num_messages())]
        values = np.ascontiguousarray(sink.data()).view(np.complex64).reshape(-1, CHANNELS, 3)
        self.counted = np.array(
            [value.min() for _, value in each_of(sink.tags, "counted", len(values))]
        )
        # channel 0 holds both ends of the band, which a part of a sample rotates apart
        whole = values[self.counted == SPECTRA, 1:]
        #: [integration][channel], of those without a missing spectrum
        self.normalised = whole[:, :, 1] / np.sqrt(whole[:, :, 0].real * whole[:, :, 2].real)

    def wait(self):
        until = time.monotonic() + PATIENCE
        let_work(self.align)  # delivered samples have reached the search
        while self.align.searching() and time.monotonic() < until:
            time.sleep(0.001)
            let_work(self.align)

    def events(self, name):
        return [message for message in self.messages if message["event"] == name]


class qa_separate_crystals(gr_unittest.TestCase):
    def test_followed(self):
        """Coherence and phase of every integration stay while the samples drift by several."""
        coherence, count = 0.5, 1000000
        chain = Chain(coherence, count, interval=0.05, watch=0.02)
        align, truth = chain.align, chain.receivers.truth(1)
        self.assertGreaterEqual(align.measurements(), 3)
        self.assertEqual(align.aligned(), [True, True])
        self.assertEqual(align.slips(), [0, 0])  # a drift is none

        # samples were shifted as a whole, and what was measured is the truth
        shifts = sum(message["samples"] for message in chain.events("aligned")[1:])
        self.assertLessEqual(shifts, -2)
        last = chain.receivers.truth(1, sample=count)["delay"]
        self.assertLess(abs(align.offsets()[1] - last), 0.1)
        sigma = np.sqrt((1 - coherence**2) / 2) / (coherence * np.sqrt(SEARCH))
        for _, (rate,) in tags_of(chain.aligned.tags, "phase_rate"):
            error = rate / RATE - truth["phase_rate"]
            self.assertLess(abs(error), 5 * np.sqrt(12) * sigma / SEARCH)
        # a delay of a flat band is known sqrt(12)/(2 pi) as well as the phase
        for _, (rate,) in tags_of(chain.aligned.tags, "delay_rate"):
            error = rate - truth["delay_rate"]
            self.assertLess(abs(error), 5 * 12 / (2 * np.pi) * sigma / SEARCH)

        # only integrations with a whole-sample shift miss spectra
        self.assertGreater(np.mean(chain.counted == SPECTRA), 0.95)
        mean = chain.normalised.mean(axis=1)
        samples = SPECTRA * (CHANNELS - 1)
        strayed = np.hypot(sigma, np.sqrt(12) * sigma / SEARCH * APART)  # 0.055 rad, 3 degrees
        of_noise = np.sqrt((1 - coherence**2) / 2 / samples)
        self.assertLess(np.abs(np.angle(mean)).max(), 5 * np.hypot(strayed, of_noise / coherence))
        self.assertLess(np.sqrt(np.mean(np.angle(mean) ** 2)), np.radians(5))
        # the phase rate rotates a spectrum's ends by 0.1 rad from its middle: 0.2 percent
        self.assertLess(np.abs(np.abs(mean) - coherence).max(), 5 * of_noise + 0.01 * coherence)
        self.assertLess(abs(np.abs(mean).mean() - coherence), 0.01)

    def test_slip(self):
        """Slips are noticed between two measurements, though the phase rotates all the time."""
        for lost, event in ((5, "slip"), (1500, "doubted")):
            losses = [Loss(200000, lost, announced=False)]
            chain = Chain(0.5, 800000, losses, SEARCH // 2, watch=0.02)
            self.assertEqual(len(chain.events(event)), 1)
            self.assertEqual(chain.align.aligned(), [True, True])
            # each measurement says how many samples were lost, and drifts of a sample or two
            moved = sum(message["samples"] for message in chain.events("slip"))
            moved += sum(message["samples"] for message in chain.events("aligned")[1:])
            self.assertLess(abs(moved - lost), 4)
            # 96000 samples long, of which each integration has the noise 0.01
            mean = chain.normalised.mean(axis=1)[-30:]
            self.assertLess(np.abs(np.abs(mean) - 0.5).max(), 0.06)
            # with rates of half as many samples, 0.6 rad/s, for up to 0.2 s
            self.assertLess(np.abs(np.angle(mean)).max(), 5 * 0.12)

    def test_that_nobody_said(self):
        """Called one clock, two are told, with their ppm and what would be possible; none is said
        to be aligned by the part of the samples in which the phase stands still by chance."""
        for ppm, coherence in ((0.2, 0.9), (3.0, 0.5), (30.0, 0.9)):
            chain = Chain(coherence, 170000, ppm=ppm, clock_error=0)
            self.assertEqual(chain.align.aligned(), [True, False])
            said = chain.events("not_aligned")[0]
            self.assertAlmostEqual(said["ppm"], ppm, delta=0.1 * ppm)
            self.assertIn("two clocks", said["reason"])
            self.assertIn("clock_error", said["reason"])
            self.assertEqual(chain.align.reasons(), ["", said["reason"]])
            # half a cycle in what is compared
            self.assertLess(said["most_ppm"], ppm)
            # on one clock nothing of the kind is said
        chain = Chain(0.1, 170000, ppm=0, clock_error=0)
        self.assertEqual(chain.align.aligned(), [True, True])

    def test_clocks_while_they_run(self):
        """The ppm between clocks are measured while they run, signed, within what the phases of
        eight sections of 2^17 samples say; a rotation that is not followed is said once, one
        clock never, and the difference is that of the doubles."""
        section, coherence = SEARCH // 8, 0.5
        noise = np.sqrt((1 - coherence**2) / (2 * section)) / coherence
        # a line through eight phases, in ppm
        sigma = 1e6 * noise / np.sqrt(42) / section / (2 * np.pi * FREQUENCY / RATE)
        for ppm, told in ((0.03, True), (-0.04, True), (0.0, False)):
            chain = Chain(
                coherence, 900000, ppm=ppm, clock_error=0, watch=0.02, status_interval=1e-3
            )
            self.assertEqual(chain.align.aligned(), [True, True])
            found = chain.align.clock_ppm()
            self.assertEqual(found[0], 0)
            self.assertLess(abs(found[1] - ppm), 5 * sigma)
            state = [m for m in chain.events("state") if np.isfinite(m["ppm"][1])][-1]
            self.assertLess(abs(state["ppm"][1] - ppm), 5 * sigma)
            said = chain.events("clock_drift")
            self.assertEqual(len(said), told)
            for message in said:
                self.assertEqual(message["port"], 1)
                self.assertLess(abs(message["ppm"] - ppm), 5 * sigma)
                turns = abs(ppm) * 1e-6 * FREQUENCY
                self.assertRegex(message["reason"], f"rotates {turns:.0f}.* times a second.*ppm")
                self.assertIn("clock_error", message["reason"])

    def test_clocks_that_are_followed(self):
        """Followed clocks say their ppm, and what lies beyond clock_error says by how much."""
        chain = Chain(0.5, 600000, interval=0.05, ppm=-PPM)
        self.assertAlmostEqual(chain.align.clock_ppm()[1], -PPM, delta=1e-3 * PPM)
        self.assertAlmostEqual(chain.events("aligned")[-1]["ppm"], -PPM, delta=1e-3 * PPM)
        self.assertLess(abs(chain.events("aligned")[-1]["strayed"]), 0.5)
        chain = Chain(0.9, 170000, ppm=30.0, clock_error=2)
        self.assertEqual(chain.align.aligned(), [True, False])
        said = chain.events("not_aligned")[0]
        self.assertAlmostEqual(said["ppm"], 30, delta=3)
        self.assertEqual(said["most_ppm"], 4)
        self.assertRegex(said["reason"], "differ by 30 ppm, more than the 4 ppm .* clock_error 2 ")

    def test_too_faint(self):
        """A signal too faint to follow is reported, and is missing."""
        for coherence, reason in ((0.15, "too faintly"), (0.01, "do not correlate")):
            chain = Chain(coherence, 170000)
            self.assertEqual(chain.align.aligned(), [True, False])
            said = chain.events("not_aligned")[0]["reason"]
            self.assertIn(reason, said)
            self.assertIn("offset unknown", said)
            self.assertEqual(len(chain.normalised), 0)


if __name__ == "__main__":
    gr_unittest.run(qa_separate_crystals)

#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The switching of a noise source while integrations come, without blocks."""

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.calibration.noise_cycle import NoiseCycle, coherence_of


class qa_noise_cycle(gr_unittest.TestCase):
    def test_coherence(self):
        """The root of the mean of |V|² / (V_aa V_bb), of all baselines and channels."""
        rng = np.random.default_rng(1)
        voltages = rng.normal(size=(3, 5, 40, 2)) @ [1, 1j]  # [input][channel][time]
        full = np.einsum("act,bct->cab", voltages, voltages.conj())
        item = np.stack([full[:, a, b] for a in range(3) for b in range(a + 1)], axis=-1)
        squares = [
            abs(full[c, a, b]) ** 2 / (full[c, a, a].real * full[c, b, b].real)
            for c in range(5)
            for a, b in ((1, 0), (2, 0), (2, 1))
        ]
        self.assertAlmostEqual(coherence_of(item), np.sqrt(np.mean(squares)))
        self.assertTrue(np.isnan(coherence_of(np.zeros((4, 3), complex))))

    def test_order(self):
        cycle = NoiseCycle(1.0, 10.0)
        self.assertFalse(cycle.active)
        cycle.begin(5.0)
        self.assertEqual([cycle.ready(t) for t in (5.9, 6.0)], [False, True])
        self.assertEqual([cycle.silent(t) for t in (14.9, 15.0)], [False, True])
        cycle.end(8.0, 0.9)
        self.assertFalse(cycle.ready(9.0) or cycle.silent(20.0))
        # half of an integration has it, then one has it again; one is missing, and says nothing
        found = [
            cycle.look(8 + n, c) for n, c in enumerate((0.9, 0.5, 0.9, 0.5, np.nan, 0.5, 0.1), 1)
        ]
        self.assertEqual(found, ["", "", "", "", "", "", "ended"])
        self.assertFalse(cycle.active)

    def test_taken(self):
        """Somebody else has the source: a search ends, and what is waited for comes later."""
        cycle = NoiseCycle(1.0, 10.0)
        cycle.begin(0.0)
        cycle.cancel()
        self.assertFalse(cycle.active or cycle.searching)
        cycle.begin(5.0)
        cycle.end(8.0, 0.9)
        cycle.wait(100.0)
        self.assertEqual([cycle.look(t, 0.8) for t in (20.0, 117.9, 118.0)], ["", "", "stays"])

    def test_switches_that_do_not_answer(self):
        cycle = NoiseCycle(1.0, 10.0)
        cycle.begin(0.0)
        cycle.end(2.0, 0.9)
        self.assertEqual([cycle.look(t, 0.8) for t in (11.9, 12.0)], ["", "stays"])
        cycle.begin(20.0)
        cycle.end(30.0)  # nothing was heard
        self.assertEqual([cycle.look(t, 0.8) for t in (30.9, 31.0)], ["", "ended"])


if __name__ == "__main__":
    gr_unittest.run(qa_noise_cycle)

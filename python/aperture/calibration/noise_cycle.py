#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The order of events around a noise source that is switched while integrations come.

It is that of lib/stream/noise_cycle.h, for integrations instead of samples: on, measure, off; the
source counts as off once the coherence has fallen in two integrations in a row, of which the first
may have it in part.
"""

import numpy as np

FALLEN = 0.7  # part of the coherence with the source
IN_A_ROW = 2
PAUSE = 60.0  # s after which a source that did not answer is tried again


def coherence_of(item):
    """The coherence of all inputs, rms over channels and baselines, of visibilities
    [channel][product]; not a number where all samples were missing."""
    products = item.shape[1]
    inputs = int((np.sqrt(8 * products + 1) - 1) / 2)
    autos = [a * (a + 3) // 2 for a in range(inputs)]
    powers = item[:, autos].real
    with np.errstate(all="ignore"):
        squares = [
            np.abs(item[:, a * (a + 1) // 2 + b]) ** 2 / (powers[:, a] * powers[:, b])
            for a in range(inputs)
            for b in range(a)
        ]
    found = np.array(squares)
    there = np.isfinite(found)
    return float(np.sqrt(found[there].mean())) if there.any() else np.nan


class NoiseCycle:
    """
    A cycle; all times are seconds of the stream. settle: from switching on to the first integration
    that is measured; patience: in which the switch has to act.
    """

    def __init__(self, settle, patience):
        self._settle, self._patience = settle, patience
        self._since = self._off_since = None  # when it was switched on, and off
        self._reference, self._low = None, 0

    @property
    def active(self):
        """True while integrations may have the source in them."""
        return self._since is not None

    @property
    def searching(self):
        return self.active and self._off_since is None

    def begin(self, time):
        """The source is switched on."""
        self._since, self._off_since = time, None

    def ready(self, time):
        """Returns whether an integration that begins at a time may be measured."""
        return self.searching and time >= self._since + self._settle

    def silent(self, time):
        """Returns whether the source should have been heard by a time."""
        return self.searching and time >= self._since + self._patience

    def end(self, time, coherence=None):
        """The source is switched off; coherence: with it, None if it was not heard."""
        self._off_since, self._reference, self._low = time, coherence, 0

    def cancel(self):
        """Somebody else has the source: nothing is known of it."""
        self._since = None

    def wait(self, seconds):
        """Lets so many seconds pass that say nothing."""
        self._off_since += seconds

    def look(self, time, coherence):
        """
        Takes an integration that ends at a time, after end(): returns "" as long as the source may
        be on, "ended" where it is off from there on, "stays" where it does not go.
        """
        passed = time - self._off_since
        # not a number is not below anything: what is missing says nothing
        self._low = self._low + 1 if coherence < FALLEN * (self._reference or 0) else 0
        known = self._reference is not None
        if self._low >= IN_A_ROW or (not known and passed >= self._settle):
            self._since = None
            return "ended"
        if known and passed >= self._patience:
            self._since = None
            return "stays"
        return ""

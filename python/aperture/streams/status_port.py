#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The message port `status` of blocks in Python that count what comes."""

import time

import numpy as np
import pmt

from .. import tags
from .tag_values import dictionary

STATUS_INTERVAL = 1.0  # s


class StatusPort:
    """Publishes counts on the message port `status` of a block, once a second."""

    def __init__(self, block):
        self._block, self._next = block, 0.0
        self._port = pmt.intern("status")
        block.message_port_register_out(self._port)

    def tick(self, counts, last=False):
        """counts(): a dictionary of counts, or of vectors of real numbers; last: now, whatever the
        time."""
        now = time.monotonic()
        if now < self._next and not last:
            return
        self._next = now + STATUS_INTERVAL
        found = {
            key: value if isinstance(value, np.ndarray) else pmt.from_uint64(int(value))
            for key, value in counts().items()
        }
        self._block.message_port_pub(self._port, dictionary({tags.event: "counts", **found}))

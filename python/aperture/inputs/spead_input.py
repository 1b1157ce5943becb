#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Heaps of digitisers as the source of a command."""

from gnuradio import blocks, gr

from ..formats.spead.heaps import packed_item
from ..spead_source import spead_source


class SpeadInput(gr.hier_block2):
    """
    A port for each input. samples: of each input, then the stream ends; 0: until the digitisers
    end theirs; parameters: of spead_source.
    """

    def __init__(self, samples=0, **parameters):
        per_item, size = packed_item(parameters["sample_type"])
        inputs = parameters["inputs"]
        gr.hier_block2.__init__(
            self, "digitisers", gr.io_signature(0, 0, 0), gr.io_signature(inputs, inputs, size)
        )
        self._per_item = per_item
        self._parameters = parameters
        self.source = spead_source(kind="samples", **parameters)
        self._ends = []
        for port in range(inputs):
            if samples:
                self._ends.append(blocks.head(size, -(-samples // per_item)))
                self.connect((self.source, port), self._ends[-1], (self, port))
            else:
                self.connect((self.source, port), (self, port))

    def align_to(self, samples):
        """The first sample is at a multiple of so many since timestamp 0; before the start."""
        self.source.align_to(samples)

    def nitems_written(self, port):
        """Samples that have gone out."""
        return self._per_item * (self._ends[port] if self._ends else self.source).nitems_written(
            0 if self._ends else port
        )

    def finish(self):
        """Ends the stream, so that all blocks behind this one write what they have."""
        self.source.finish()

    def error(self):
        """Returns why it ended before its time, "" if nothing went wrong."""
        return self.source.error() or ""

    def heap_counts(self):
        """Returns the same as spead_source.counts()."""
        return self.source.counts()

#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""One part of a flowgraph: what stands behind the frames of an F-engine."""


class Part:
    """
    Blocks that take frames.

    Attributes
    ----------
    blocks : dict
        Name -> block, of those that may be watched.
    sinks : dict
        Field of the plan that names files -> block that writes them, of those that end where a disk
        is nearly full.
    results : dict
        The same of small files, which are written even then.
    last : list
        Blocks that end last.
    others : list
        More blocks that may fail.
    """

    def __init__(self):
        self.blocks, self.sinks, self.results, self.last, self.others = {}, {}, {}, [], []

    def connect(self, flowgraph, front):
        """Takes the frames of a FrontEnd, or of what has the methods of one."""
        raise NotImplementedError

    def followers(self):
        """Returns the blocks that follow the samples."""
        return []

    def take_gains(self, gains):
        """Uses the gain of each input for what stands behind the F-engine."""

    def integrations(self):
        """Returns how many were written; None: it has none."""
        return None

    def progress(self):
        """Returns a number that grows as long as data come; None: it has none."""
        return self.integrations()

    def problems(self):
        """Returns what the user is to know of what was lost, as texts, and whether it makes the run
        a failed one."""
        return [], False

    def release(self):
        """Lets go of what would outlive the flowgraph, which has ended for good."""

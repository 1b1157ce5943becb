#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""A flowgraph of a front, which makes a stream of an input, and of parts behind it."""

from gnuradio import gr

from .. import references


class PartGraph(gr.top_block):
    """
    The common part of flowgraphs of plans.

    Attributes
    ----------
    front : object
        What reads, with `blocks`, name -> block, and the methods progress(), samples_done() and
        losses().
    parts : list of Part
        All that stands behind it; the first one that counts says how far it is.
    """

    front, parts = None, ()

    def _of_parts(self, name):
        return {
            field: block for part in self.parts for field, block in getattr(part, name).items()
        }

    # ---- while it runs

    def ended(self):
        """Returns whether all that comes has been written, or looked at."""
        last = [block for part in self.parts for block in part.last]
        return bool(last) and all(references.ended(block) for block in last)

    def _first(self, name):
        counts = (getattr(part, name)() for part in self.parts)
        found = next((count for count in counts if count is not None), None)
        return self.front.progress() if found is None else found

    def integrations(self):
        """Returns how many were written, or heaps sent."""
        return self._first("integrations")

    def progress(self):
        """A number that grows as long as data come."""
        return self._first("progress")

    def samples_done(self):
        """Samples of each input that were taken."""
        return self.front.samples_done()

    def losses(self):
        """Returns what was missing or clamped so far, as text."""
        return self.front.losses()

    def problems(self):
        """Returns what the user is to know of what was lost, as texts, and whether it makes the run
        a failed one."""
        found = [part.problems() for part in self.parts]
        return [text for texts, _ in found for text in texts], any(failed for _, failed in found)

    def errors(self):
        """Returns what went wrong while it ran, as texts."""
        blocks = [*self.front.blocks.values()]
        for part in self.parts:
            blocks += [*part.blocks.values(), *part.others]
        texts = [getattr(block, "error", lambda: "")() for block in blocks]
        return [text for text in texts if text]

    # ---- what a service asks for

    def named_blocks(self):
        """All blocks, by name."""
        return {**self.front.blocks, **self._of_parts("blocks")}

    def sinks(self):
        """The blocks whose files end where a disk is nearly full."""
        return list(self._of_parts("sinks").values())

    def rolling(self):
        """All blocks whose files follow on each other; those of results are small, and are written
        even if the disk is full."""
        return self.sinks() + list(self._of_parts("results").values())

    def whole_files(self):
        """Paths of files that do not change any more."""
        return [path for sink in self.rolling() for path in sink.whole_files()]

    def files(self):
        """Paths of all files that were begun."""
        return [path for sink in self.rolling() for path in sink.files() if "{time}" not in path]

    def roll_over(self):
        """Begins new files."""
        for sink in self.rolling():
            sink.roll_over()

    def release(self):
        """Lets go of what would outlive the flowgraph, which has ended for good."""
        for part in self.parts:
            part.release()

#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The search and the folding of the powers of beams, wherever these come from."""

from dataclasses import dataclass

from ..arrays.array_description import ArrayDescription
from .fold import Folding
from .part import Part
from .search import Searching


@dataclass(frozen=True)
class PowerStream:
    """
    A stream of powers, [beam][product][channel].

    Attributes
    ----------
    products : str
        power, I, IQUV or coherency.
    rows : int
        Beams of an item.
    channels : int
    center_frequency, bandwidth : float
        Hz; of channel n // 2, and of all n.
    time : float
        From one item to the next, s.
    seconds : float or None
        Length of the stream; None: it has no end.
    start_time : (int, float)
        When it begins, UTC since 1970.
    recording : bool
        It comes as fast as it is read, and can wait.
    array : ArrayDescription
        The site.
    beams : list of Beam
    stem : str or None
        Files are named after it where the plan does not name them.
    profiles_ending : str
        Profiles end so where they are named after it.
    source : str
        Name of what is looked at; empty: the beams have it.
    zeros : bool
        Powers of 0 are powers, as in files of few bits, and not what was flagged.
    """

    products: str
    rows: int
    channels: int
    center_frequency: float
    bandwidth: float
    time: float
    seconds: float | None
    start_time: tuple
    recording: bool
    array: ArrayDescription
    beams: list
    stem: str | None = None
    profiles_ending: str = ".fits"
    source: str = ""
    zeros: bool = False


class Powers(Part):
    """
    The search in a PowerStream, and its folding, as the plan says.

    make_ring: as of Searching. Attributes: `searching`, `folding`, each None where there is none.
    """

    def __init__(self, plan, stream, make_ring=None):
        super().__init__()
        self.searching = self.folding = None
        if plan.search.trials is not None:
            self.searching = Searching(plan, stream, make_ring)
            self.blocks |= self.searching.blocks
            self.results["search.candidates"] = self.searching.table
            self.last.append(self.searching.search)
        if plan.fold.by is not None:
            self.folding = Folding(plan, stream)
            self.blocks |= self.folding.blocks
            self.results["fold.file"] = self.folding.sink
            self.last.append(self.folding.sink)

    def connect(self, flowgraph, powers, frames=None):
        """Takes the powers of a block, and the frames of another where voltages are dumped."""
        if self.searching:
            self.searching.connect(flowgraph, powers, frames)
        if self.folding:
            self.folding.connect(flowgraph, powers)

    def problems(self):
        return self.searching.problems() if self.searching else ([], False)

    def release(self):
        if self.searching and self.searching.ring:
            self.searching.ring.release()

    def rows(self):
        """Returns rows of the table at the end."""
        return [
            row for each in (self.searching, self.folding) if each is not None for row in each.rows()
        ]

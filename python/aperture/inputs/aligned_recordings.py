#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Recordings that were made apart, as one source whose inputs are lined up by correlation.

Nothing is known of when each began but what their samples have in common: stream_align finds it,
over as much of them as memory allows.
"""

from dataclasses import replace

from gnuradio import blocks, gr

from .. import aperture_python
from ..parameters.sample_types import SAMPLE_TYPES
from ..system import linux
from .input_format import Option, one_of
from .line_up import line_up, signals_of
from .live_source import FEWEST_SEARCH, FOLLOW, input_states
from .receivers import OPTIONS

#: samples that are compared at most, unless more is asked for: their transforms take seconds
MOST_COMPARED = 1 << 24
#: seconds that are compared at most of clocks that differ: crystals wander
MOST_WANDERING = 0.4
#: bytes of a sample of an input in a search: as complex floats, and its transforms
SEARCH_BYTES = 48
MOST_SEARCH = 1 << 28  # samples, as stream_align has it

ALIGN_OPTIONS = {
    "align": Option(
        one_of("correlation", "time"),
        "correlation: files of one input each, made apart, are lined up by what they have in "
        "common, a noise source or the sky; default: time, by when they began",
        "correlation|time",
    ),
    "clock_error": replace(
        OPTIONS["clock_error"],
        help="with align=correlation: error of the worst of recordings on crystals of their own, "
        "whose difference is followed (default: 0, all are on one clock)",
    ),
    "most_offset": replace(
        OPTIONS["most_offset"],
        help="with align=correlation: time by which files may have begun apart (default: half of "
        "the shortest file, or what memory allows)",
    ),
    "search": replace(
        OPTIONS["search"],
        help="with align=correlation: length of the samples that are compared (default: half of "
        "the shortest file, or what memory allows)",
    ),
}


def samples_compared(length, inputs, item, memory):
    """
    Samples of each input that can be compared, and by which they may be apart.

    length: samples of the shortest recording; item: bytes of a sample; memory: bytes that can be
    had, of which a half is taken.
    """
    # buffers hold twice what is compared, which is as much as they may be apart
    bytes_each = inputs * (2 * (2 * item) + 2 * SEARCH_BYTES)
    return int(max(1, min(length // 2, memory // 2 // bytes_each, MOST_COMPARED)))


def begun_together(recordings):
    """The recordings with the time of the first one: when each of the others began is not known."""
    first = recordings[0]
    found = []
    for entry in recordings:
        moved = first.pieces[0].start - entry.pieces[0].start
        pieces = [replace(piece, start=piece.start + moved) for piece in entry.pieces]
        found.append(replace(entry, pieces=pieces, approximate=first.approximate))
    return found


def aligned(request, recordings, warnings=(), **about):
    """
    The Signals of recordings that are lined up by correlation, each on a port of its own; where
    they are not to be, those of signals_of(), which takes `about`.

    Raises
    ------
    ValueError
        They cannot be compared.
    """
    values = request.values
    if values.get("align", "time") == "time":
        for key in ("clock_error", "most_offset", "search"):
            if key in values:
                raise request.error(f"{key} belongs to align=correlation")
        return signals_of(request, recordings, warnings, **about)
    if len(recordings) < 2:
        raise request.error("align=correlation: one file has nothing to be lined up with")
    for entry in recordings:
        if entry.inputs != 1 or not entry.complex:
            raise request.error(
                f"align=correlation: {entry.name} has {entry.inputs} inputs of "
                f"{'complex' if entry.complex else 'real'} samples; files of one input of complex "
                "samples are compared"
            )
    recordings = begun_together(recordings)
    whole = signals_of(request, recordings, warnings)
    singles = [signals_of(replace(request, array=None), [entry]) for entry in recordings]
    shortest = min(single.samples for single in singles)
    rate, error = whole.sample_rate, values.get("clock_error", 0)
    item = SAMPLE_TYPES[whole.sample_type].size
    most = samples_compared(shortest, len(recordings), item, linux.free_memory())

    def length(key, usual):
        wanted = values.get(key)
        found = usual if wanted is None else round(wanted * rate)
        return int(min(max(found, FEWEST_SEARCH), MOST_SEARCH))

    compared = min(most, round(MOST_WANDERING * rate)) if error else most
    search, offset = length("search", compared), length("most_offset", most)
    if search + offset > shortest:
        raise request.error(
            f"align=correlation: {search + offset} samples are needed, for search and "
            f"most_offset, and the shortest file has {shortest}"
        )

    def source(samples):
        return AlignedRecordings(
            [entry.name for entry in recordings],
            [single.source(0) for single in singles],
            samples,
            type=whole.sample_type,
            search_samples=search,
            most_offset=offset,
            clock_error=error,
            interval=FOLLOW if error else 0,
        )

    # the warnings of files that began together
    _, _, of_places = line_up(recordings)
    return replace(
        whole,
        samples=None,
        source=source,
        warnings=[text for text in whole.warnings if text not in of_places],
        ports=len(recordings),
        endless=True,
        part=None,
        source_from=None,
    )


class AlignedRecordings(gr.hier_block2):
    """
    Sources of a recording each as one source: a port for each, lined up by correlation.

    names: of the recordings; samples: of each input, 0: all there are; parameters: of stream_align.
    """

    def __init__(self, names, sources, samples, **parameters):
        inputs = len(sources)
        size = SAMPLE_TYPES[parameters["type"]].size
        gr.hier_block2.__init__(
            self,
            "aligned_recordings",
            gr.io_signature(0, 0, 0),
            gr.io_signature(inputs, inputs, size),
        )
        self._names, self._sources = names, sources
        self.align = aperture_python.stream_align(inputs=inputs, method="correlation", **parameters)
        self._last = self.align
        ends = []
        for port, source in enumerate(sources):
            self.connect(source, (self.align, port))
            if samples:
                ends.append(blocks.head(size, samples))
                self.connect((self.align, port), ends[-1], (self, port))
            else:
                self.connect((self.align, port), (self, port))
        self._ends = ends

    def nitems_written(self, port):
        """Samples that have gone out."""
        return (self._ends[port] if self._ends else self.align).nitems_written(
            0 if self._ends else port
        )

    def finish(self):
        """Ends the stream, so that all blocks behind this one write what they have."""
        for source in self._sources:
            source.finish()

    def error(self):
        """Returns why reading ended before its time, "" if nothing went wrong."""
        return next(filter(None, (source.error() for source in self._sources)), "")

    def states(self):
        """An InputState of each input."""
        return input_states(self._names, self.align, [0] * len(self._names))

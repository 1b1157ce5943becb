#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Counts of what the outputs of an instrument have written, which outlive its flowgraphs."""

import os

from ..files.checked_file import part_name
from ..files.file_names import TIME


class Written:
    """
    Counts the files, the bytes and what was left out of each output.

    Counts never go back: a file that was moved away or removed has the size that it was seen with,
    and those of a flowgraph that has ended are added to those of the next one.
    """

    def __init__(self):
        self._before, self._now = {}, {}

    def look(self, sinks):
        """Looks at the blocks of outputs of a flowgraph, {name: block}; begin() is called before
        those of another one are."""
        for name, sink in sinks.items():
            now = self._now.setdefault(name, {"sizes": {}, "whole": set(), "left_out": 0})
            whole = set(sink.whole_files())
            for path in sink.files():
                if TIME in path or path in now["whole"]:
                    continue
                size = size_of(path)
                if size is not None:
                    now["sizes"][path] = max(size, now["sizes"].get(path, 0))
                    if path in whole:
                        now["whole"].add(path)
            now["left_out"] = getattr(sink, "left_out", int)()

    def begin(self):
        """The next look is at another flowgraph."""
        self._before, self._now = self.counts(), {}

    def counts(self):
        """{name: {files, bytes, left_out}} since the start of the instrument."""
        found = {name: dict(counts) for name, counts in self._before.items()}
        for name, now in self._now.items():
            counts = found.setdefault(name, {"files": 0, "bytes": 0, "left_out": 0})
            counts["files"] += len(now["sizes"])
            counts["bytes"] += sum(now["sizes"].values())
            counts["left_out"] += now["left_out"]
        return found


def size_of(path):
    """Bytes of a file, which may still have the name of one that is not whole; None: there is
    none."""
    for name in (path, part_name(path)):
        try:
            return os.stat(name).st_size
        except OSError:
            pass
    return None

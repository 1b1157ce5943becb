#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Chunks in the order of their times, with what is missing between them."""

from dataclasses import dataclass


@dataclass
class Piece:
    """
    A stretch of time as long as a chunk. time: timestamp of its start; chunk: None where nothing of
    it came; anew: it does not continue what was before.
    """

    time: int
    chunk: object
    anew: bool


class ChunkTimes:
    """
    Gives the pieces of a stream, one after another.

    The first one has heaps, and begins at a multiple of `align` pieces since timestamp 0. Gaps of
    at most `most_gap` pieces are filled with pieces without a chunk. After a longer one, and where
    time went back, pieces are added up to a multiple of `align`, and the next one is as the first.
    receiver: a ChunkReceiver; ticks: timestamps of a piece.
    """

    def __init__(self, receiver, ticks, align, most_gap):
        self._receiver, self._ticks = receiver, ticks
        self._align, self._most_gap = align, most_gap
        self._expected = self._held = None
        self._fill = 0

    def next(self, timeout):
        """The next Piece; None if none comes within so many seconds. Raises Ended."""
        while True:
            if self._fill:
                self._fill -= 1
                return self._piece(None, False)
            chunk, self._held = self._held, None
            if chunk is None:
                chunk = self._receiver.get(timeout)
            if chunk is None:
                return None
            time = self._receiver.placement.time_of(chunk.chunk_id)
            if self._expected is None:
                if not chunk.present.any() or time // self._ticks % self._align:
                    self._receiver.give_back(chunk)
                    continue
                self._expected = time
                return self._piece(chunk, True)
            gap = (time - self._expected) // self._ticks
            if gap == 0:
                return self._piece(chunk, False)
            self._held = chunk
            if 0 < gap <= self._most_gap:
                self._fill = gap
            else:
                self._fill = -(self._expected // self._ticks) % self._align
                if self._fill == 0:
                    self._expected = None

    def _piece(self, chunk, anew):
        time = self._expected
        self._expected += self._ticks
        return Piece(time, chunk, anew)

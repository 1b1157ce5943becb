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

    The first one has heaps, and begins at a multiple of `align` pieces since timestamp 0. What
    follows one of three things is as the first, after pieces up to a multiple of `align` have been
    added to what was begun:

    - a gap, in which nothing came, of more than `most_gap` pieces. A shorter one is filled with
      pieces without a chunk;
    - a restart, by which time went back;
    - a jump forwards within times that had been given before such a restart. It is not filled: it
      leads back to where the senders had been, and nothing was lost on the way. Otherwise senders
      of different times, which move the window to and fro, would make up to `most_gap` of zeros
      each time.

    A jump is seen by the numbers of the chunks, which the receiver otherwise gives without leaving
    one out, whether heaps came for it or not.

    receiver: a ChunkReceiver; ticks: timestamps of a piece.
    """

    def __init__(self, receiver, ticks, align, most_gap):
        self._receiver, self._ticks = receiver, ticks
        self._align, self._most_gap = align, most_gap
        self._held = None  # chunk that comes behind what is filled
        self._expected = None  # time of the next piece; None: it is as the first
        self._given = None  # end of the times that were given before time was begun anew
        self._fill, self._ends = 0, False  # pieces that are added, and whether time then ends
        self._number, self._jumped = None, False  # last chunk; whether one before was left out

    def next(self, timeout):
        """The next Piece; None if none comes within so many seconds. Raises Ended."""
        while True:
            if self._fill:
                self._fill -= 1
                return self._piece(None, False)
            if self._ends:
                self._given = max(self._expected, self._given or self._expected)
                self._expected, self._ends = None, False
            chunk, self._held = self._held, None
            if chunk is None:
                chunk = self._receive(timeout)
            if chunk is None:
                return None
            time = self._receiver.placement.time_of(chunk.chunk_id)
            if self._expected is None:
                if time // self._ticks % self._align:
                    self._receiver.give_back(chunk)
                    continue
                self._expected, self._jumped = time, False
                return self._piece(chunk, True)
            gap = (time - self._expected) // self._ticks
            if gap == 0:
                self._jumped = False
                return self._piece(chunk, False)
            self._held = chunk
            again = self._given is not None and self._expected < self._given
            most = 0 if again and self._jumped else self._most_gap
            added = -(self._expected // self._ticks) % self._align
            if 0 < gap <= max(most, added):
                self._fill = gap
            else:
                self._fill, self._ends = added, True

    def _receive(self, timeout):
        """The next chunk for which heaps came; None if none comes in time."""
        while chunk := self._receiver.get(timeout):
            self._jumped |= chunk.chunk_id - 1 != self._number
            self._number = chunk.chunk_id
            if chunk.present.any():
                return chunk
            self._receiver.give_back(chunk)
        return None

    def _piece(self, chunk, anew):
        time = self._expected
        self._expected += self._ticks
        return Piece(time, chunk, anew)

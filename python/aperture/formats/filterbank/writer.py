#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Filterbank files: the levels of 8 bits, and what takes the place of missing samples."""

from dataclasses import dataclass

import numpy as np

from ... import file_order

# 8 bits: where the mean is put, and the standard deviation; 0.4 % of the
# signal-to-noise ratio is lost
LEVEL, SIGNED_LEVEL = 64.0, 128.0
DEVIATION = 10.0
FOLDED_AT_ONCE = 1024  # samples: sums of float32 are good to 1e-5 or better


@dataclass
class Levels:
    """The conversion of powers to bytes: round((power - offset) / step), clamped to 0 ... 255.

    offset, step: [if][channel], or more axes.
    """

    offset: np.ndarray
    step: np.ndarray

    @classmethod
    def of(cls, powers, signed=False):
        """Returns levels such that powers [sample][if][channel] have their mean at 64 (at 128 where
        they may be negative) and the standard deviation 10; powers that do not vary get steps of
        1/64 of them. What is no finite number does not count."""
        powers = np.asarray(powers, dtype=np.float64)
        powers = np.where(np.isfinite(powers), powers, np.nan)
        count = np.maximum(np.sum(~np.isnan(powers), axis=0), 1)
        mean = np.nansum(powers, axis=0) / count
        deviation = np.sqrt(np.nansum((powers - mean) ** 2, axis=0) / count)
        level = np.where(
            np.broadcast_to(np.reshape(signed, (-1, 1)), mean.shape), SIGNED_LEVEL, LEVEL
        )
        step = np.where(
            deviation > 1e-6 * np.abs(mean), deviation / DEVIATION, np.abs(mean) / LEVEL
        )
        step = np.where(step > 0, step, 1.0)
        return cls(mean - level * step, step)

    def write_bytes(self, powers, to):
        """Puts the bytes of powers [sample][if][channel], or more axes, into a uint8 array of that
        shape, in which channels may be reversed."""
        contiguous = np.ascontiguousarray
        file_order.to_bytes(
            contiguous(powers, np.float32), contiguous(self.offset), contiguous(self.step), to
        )


class RecentMean:
    """The mean of the last samples, about so many, of which some may be missing."""

    def __init__(self, shape, samples):
        self._samples = samples
        self._count = np.zeros(shape[:-1], np.float32)  # [row][product]
        self._mean = np.zeros(shape, np.float32)  # [row][product][channel]
        # sums of samples that are in none of them yet, none of which is missing
        self._waiting, self._sums, self._scratch = 0, np.zeros_like(self._mean), None

    @property
    def mean(self):
        """float32 [row][product][channel]; the next samples may change it."""
        self._fold_waiting()
        return self._mean

    def add(self, powers, lost=None):
        """Adds powers to the mean. powers: float32 [sample][row][product][channel]; lost: bool
        [sample][row][product], or [sample][row][product][channel]"""
        powers = powers[-self._samples :]
        if lost is not None and lost.ndim == 4:
            # a channel that is lost is one whose power is no number
            powers, lost = np.where(lost[-self._samples :], np.float32(np.nan), powers), None
        if lost is None and self._wait_for_more(powers):
            return
        mean = self.mean
        count = np.full_like(self._count, len(powers))
        if lost is not None:
            lost = lost[-self._samples :]
            powers = np.where(lost[..., None], np.float32(0), powers)
            count -= lost.sum(axis=0)
        sums = powers.sum(axis=0)
        if not np.isfinite(sums.sum()):
            # a power that is no number may be in a file, but in its own sample only
            there = np.isfinite(powers)
            if lost is not None:
                there &= ~lost[..., None]
            numbers = there.sum(axis=0)
            known = np.where(there, powers, 0).sum(axis=0) / np.maximum(numbers, 1)
            sums = count[..., None] * np.where(numbers, known, mean).astype(np.float32)
        self._fold(sums, count)

    def _wait_for_more(self, powers):
        """Only sums up, for this is done for all that is written; False: some is no number."""
        self._scratch = np.sum(powers, axis=0, out=self._scratch)
        if not np.isfinite(self._scratch.sum()):
            return False
        self._sums += self._scratch
        self._waiting += len(powers)
        if self._waiting >= min(self._samples, FOLDED_AT_ONCE):
            self._fold_waiting()
        return True

    def _fold_waiting(self):
        if self._waiting:
            self._fold(self._sums, np.full_like(self._count, self._waiting))
            self._sums.fill(0)
            self._waiting = 0

    def _fold(self, sums, count):
        """Takes sums [row][product][channel] of so many samples [row][product], which it uses
        up."""
        before = np.minimum(self._count, self._samples)
        self._count = before + count
        sums -= count[..., None] * self._mean
        sums /= np.maximum(self._count, 1)[..., None]
        self._mean += sums

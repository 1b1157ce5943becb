#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Filterbank files that grow, and what is told of the samples that are missing in them."""

import json
import os
from dataclasses import dataclass

import numpy as np

from ... import file_order
from ...files import file_lock
from ...files.checked_file import whole_file
from ...parameters.ascii_text import ascii_text

# 8 bits: where the mean is put, and the standard deviation; 0.4 % of the
# signal-to-noise ratio is lost
LEVEL, SIGNED_LEVEL = 64.0, 128.0
DEVIATION = 10.0
MISSING = ".missing"  # the ending of the list's file
SETTINGS = ".settings"  # the ending of the list of settings
ALL_IFS = -1
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


def runs(flags):
    """(first, count) of each run of true ones in flags [sample]."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], np.asarray(flags, np.int8), [0]))))
    return [(int(first), int(end - first)) for first, end in zip(edges[::2], edges[1::2])]


def write_settings(path, lines):
    """
    Writes the text file PATH.settings, which is there only if there are lines: the settings that
    the stream has said, each with its time, for which a header has no room; a list in YAML.
    """
    name = os.path.realpath(path) + SETTINGS
    file_lock.remove_leftover(name)  # left of a file that was replaced
    if lines:
        with whole_file(name) as part, open(part, "w", encoding="utf-8") as file:
            file.write(f"# {os.path.basename(path)}: settings, each with its time\n")
            file.writelines(f"- {json.dumps(line)}\n" for line in lines)


class MissingSamples:
    """
    The text file PATH.missing, which is there only if samples are: a line for each run of them,
    "first count IF", samples and IFs from 0, an IF of -1 for all. numpy.loadtxt() reads it. It is
    that of a file that takes the first one's place as well, for both lack the same samples.
    """

    def __init__(self, path, kept=0):
        """Begins a list; kept: samples of a file that goes on, of which lines stay."""
        self._path, self._name = os.path.realpath(path) + MISSING, os.path.basename(path)
        lines = self._before(kept) if kept and file_lock.is_there(self._path) else []
        file_lock.remove_leftover(self._path)  # left of a file that was replaced
        if lines:
            with whole_file(self._path) as part, open(part, "w", encoding="utf-8") as file:
                file.writelines(lines)

    def _before(self, kept):
        """Lines of the list that is there, as far as they are of the first so many samples."""
        lines = []
        with open(self._path, encoding="utf-8") as file:
            for line in file:
                if not line.startswith("#"):
                    first, count, number = map(int, line.split())
                    if first >= kept:
                        continue
                    line = f"{first} {min(count, kept - first)} {number}\n"
                lines.append(line)
        return lines if any(not line.startswith("#") for line in lines) else []

    def add(self, first, lost):
        """Adds missing samples. lost: bool [sample][IF], from sample `first` of the file on."""
        whole = lost.all(axis=1)
        found = [(*run, ALL_IFS) for run in runs(whole)]
        found += [
            (*run, number)
            for number in range(lost.shape[1])
            for run in runs(lost[:, number] & ~whole)
        ]
        if not found:
            return
        lines = "".join(
            f"{first + begin} {count} {number}\n" for begin, count, number in sorted(found)
        )
        try:
            if not file_lock.is_there(self._path):
                os.close(file_lock.create(self._path))
            with open(self._path, "a", encoding="utf-8", opener=_without_links) as file:
                if file.tell() == 0:
                    lines = (
                        f"# {ascii_text(self._name)}: nothing was received for these "
                        "samples, which hold the mean: first, count, IF (-1: all)\n" + lines
                    )
                file.write(lines)
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._path) from None


def _without_links(name, flags):
    return os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def cells_of(lost):
    """Returns the powers that are lost, [sample][row][product] or [sample][row][product][channel],
    such that it broadcasts with powers."""
    return lost if lost.ndim == 4 else lost[..., np.newaxis]


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

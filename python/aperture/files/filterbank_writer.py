#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Filterbank files that grow, and what is told of the samples that are missing in them."""

import contextlib
import errno
import os

import numpy as np

from ..parameters.ascii_text import ascii_text
from . import file_lock
from .checked_file import CheckedFile
from .growing_file import check_path

MISSING = ".missing"  # the ending of the list's file
ALL_IFS = -1
FOLDED_AT_ONCE = 1024  # samples: sums of float32 are good to 1e-5 or better
HEADER_START = b"\x0c\0\0\0HEADER_START"


def check_names(path):
    """Refuses a file beside which something has one of the names that we need, and is no file."""
    path = os.path.realpath(path)
    for name in (_part_name(path), _old_name(path), path + MISSING, file_lock.lock_name(path)):
        file_lock.is_there(name)


def _part_name(path):
    return path + ".part"


def _old_name(path):
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.old")


class SampleFile(CheckedFile):
    """
    A file of a header and samples, to which whole samples are added. One that `replaces` another
    grows beside it, as PATH.part, until it takes its place. Nobody else can write it while it is
    open; what it holds is left alone until it begins. Without `overwrite`, nothing may be there.
    """

    def __init__(self, path, replaces=False, overwrite=True):
        self.target = os.path.realpath(path)
        part = _part_name(self.target)
        self._replaces = replaces
        if replaces:
            _remove_part(part, path)
            super().__init__(path, part, file_lock.open_locked(part, path, exclusive=True))
            return
        try:
            file = file_lock.open_locked(
                self.target,
                path,
                others=(part, file_lock.lock_name(self.target)),
                exclusive=not overwrite,
            )
        except FileExistsError:
            check_path(path, overwrite)
            raise
        super().__init__(path, self.target, file)

    def begin(self, header):
        """Removes what was there."""
        self.empty()
        self.add(header)

    def take_place(self):
        os.replace(self.name, self.target)
        self.name, self._replaces = self.target, False

    def close(self):
        """Leaves nothing of a file that did not take its place."""
        try:
            if self._replaces:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self.name)
        finally:
            super().close()


def _remove_part(part, path):
    """Removes what a killed process left behind, and nothing that was not ours."""
    if not file_lock.is_there(part):
        return
    file_lock.check_unlocked(part, path)
    with open(part, "rb") as file:
        start = file.read(len(HEADER_START))
    if start != HEADER_START[: len(start)]:
        raise FileExistsError(
            errno.EEXIST,
            "a file of this name is needed, but there is one that "
            "is no filterbank file, which is left as it is",
            part,
        )
    file_lock.remove_leftover(part)


def take_places(files):
    """
    Each file takes the place of the one that it replaces; where one cannot, none does. Until all
    have, what they replace has a second name, .NAME.old, from which it comes back.

    Raises
    ------
    OSError
        One could not, which it names.
    """
    kept = []  # (path, second name) of those that may have lost their places
    try:
        for file in files:
            if len(files) > 1:
                kept.append((file.target, _second_name(file.target)))
            file.take_place()
    except OSError as error:
        text = "; ".join([error.strerror, *(f"what was there is {old}" for old in _put_back(kept))])
        raise OSError(error.errno, text, file.path) from None
    for _, old in kept:
        with contextlib.suppress(OSError):
            os.unlink(old)


def _second_name(path):
    """A hard link to a file, or its copy where there are none."""
    old = _old_name(path)
    file_lock.link_or_copy(path, old)
    return old


def _put_back(kept):
    """Gives files back their names; returns the second names of those that did not get theirs."""
    failed = []
    for path, old in kept:
        try:
            os.replace(old, path)
            # os.replace() leaves two names of one file as they are
            with contextlib.suppress(FileNotFoundError):
                os.unlink(old)
        except OSError:
            failed.append(old)
    return failed


def runs(flags):
    """(first, count) of each run of true ones in flags [sample]."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], np.asarray(flags, np.int8), [0]))))
    return [(int(first), int(end - first)) for first, end in zip(edges[::2], edges[1::2])]


class MissingSamples:
    """
    The text file PATH.missing, which is there only if samples are: a line for each run of them,
    "first count IF", samples and IFs from 0, an IF of -1 for all. numpy.loadtxt() reads it. It is
    that of a file that takes the first one's place as well, for both lack the same samples.
    """

    def __init__(self, path):
        self._path, self._name = os.path.realpath(path) + MISSING, os.path.basename(path)
        file_lock.remove_leftover(self._path)  # left of a file that was replaced

    def add(self, first, lost):
        """lost: bool [sample][IF], from sample `first` of the file on."""
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
        """powers: float32 [sample][row][product][channel]; lost: bool [sample][row][product],
        or [sample][row][product][channel]"""
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

#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Lists beside files of powers that grow: the samples that are missing, and the settings."""

import json
import os

import numpy as np

from ..files import file_lock
from ..files.checked_file import whole_file
from ..parameters.ascii_text import ascii_text

MISSING = ".missing"  # the ending of the list's file
SETTINGS = ".settings"  # the ending of the list of settings
ALL_IFS = -1


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

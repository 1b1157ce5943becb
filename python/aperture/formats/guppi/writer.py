#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Writes voltages as GUPPI raw, a sequence of files NAME.0000.raw, NAME.0001.raw, ..."""

import contextlib
import errno
import os

from ...files.checked_file import PartFile
from ...parameters.times import SECONDS_PER_DAY, UNIX_EPOCH_MJD
from .header import header_bytes, numbered, sequence

LONGEST_TEXT = 68  # characters of a card's text
MOST_SETTINGS = 64  # cards of settings


class GuppiWriter:
    """
    One sequence: voltages of neighbouring channels, of one or two polarisations.

    A file has its name when it is whole; a sequence that is replaced is removed as the new one
    grows.

    Parameters
    ----------
    path : str
        NAME.raw, of which NAME.0000.raw and so on become.
    recording : Recording
        Recording with one or two names.
    spectra : int
        Samples of a channel in each block.
    blocks : int
        In a file, before the next one begins.
    overwrite : bool
        True if existing files are replaced.
    """

    def __init__(self, path, recording, spectra, blocks, overwrite=True):
        if not overwrite and sequence(path):
            raise FileExistsError(
                errno.EEXIST, "the file exists, and overwrite is False", sequence(path)[0]
            )
        self._path, self._overwrite, self._blocks = path, overwrite, blocks
        self._recording, self._spectra = recording, spectra
        self.paths = []
        self._written = 0  # blocks in the current file
        self._missing = self._total = 0
        self._file = None
        self._values = self._header()
        self._open()

    def _header(self):
        recording = self._recording
        channels, parts = len(recording.frequencies), 2 * len(recording.names)
        middle = (recording.frequencies[0] + recording.frequencies[-1]) / 2
        return {
            "BACKEND": "GUPPI",
            "TELESCOP": recording.telescope or "unknown",
            "SRC_NAME": recording.source,
            "OBSERVER": "gr-aperture",
            "OBS_MODE": "RAW",
            "PKTFMT": "1SFA",
            "NBITS": 8,
            "NPOL": parts,
            "OBSNCHAN": channels,
            "OBSFREQ": middle / 1e6,
            "OBSBW": channels * recording.width / 1e6,
            "CHAN_BW": recording.width / 1e6,
            "TBIN": 1 / recording.rate,
            "STT_IMJD": UNIX_EPOCH_MJD + recording.start.seconds // SECONDS_PER_DAY,
            "STT_SMJD": recording.start.seconds % SECONDS_PER_DAY,
            "STT_OFFS": float(recording.start.fraction),
            # a packet is one sample of all channels
            "PKTSIZE": channels * parts,
            "PIPERBLK": self._spectra,
            "OVERLAP": 0,
            "DIRECTIO": 0,
            "BLOCSIZE": channels * parts * self._spectra,
            **{
                f"SET{number:05d}": text[:LONGEST_TEXT]
                for number, text in enumerate(recording.settings[:MOST_SETTINGS])
            },
        }

    def _open(self):
        self._file = PartFile(numbered(self._path, len(self.paths)), self._overwrite)
        self.paths.append(self._file.path)
        self._written = 0

    def add(self, voltages, first, missing=()):
        """
        Adds a block.

        Parameters
        ----------
        voltages : array of uint16
            [channel][time][polarisation], contiguous; each is re and im of 8 bits.
        first : int
            Samples from the start to the block's first one.
        missing : list of (input, first, count)
            Samples that are zeros because nothing was received; an input of None: of all.
        """
        if self._written == self._blocks:
            self._finish_file()
            self._open()
        names = len(self._recording.names)
        lost = sum(count * (names if number is None else 1) for number, _, count in missing)
        self._missing += lost
        self._total += self._spectra * names
        values = {
            **self._values,
            "PKTIDX": first,
            "NDROP": lost // names,
            "DROPBLK": lost / (self._spectra * names),
            "DROPTOT": self._missing / self._total,
        }
        self._file.add(header_bytes(values), voltages)
        self._written += 1

    def _finish_file(self):
        file, self._file = self._file, None
        if not self._written:
            file.abandon()
            self.paths.pop()
            return
        file.finish()

    def finish(self):
        """The last file has its name; OSError: it has not."""
        if self._file is not None:
            self._finish_file()
        if self._overwrite and self.paths:
            for name in sequence(self._path)[len(self.paths) :]:
                with contextlib.suppress(OSError):
                    os.unlink(name)

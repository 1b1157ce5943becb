#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Files of PSRDADA that continue each other."""

from ...parameters.times import elapsed, utc_after
from ..recordings import Piece

#: the keys that may differ between the files of one observation
OF_ONE_FILE = {
    "OBS_OFFSET",
    "FILE_NUMBER",
    "FILE_NAME",
    "FILE_SIZE",
    "OBS_OVERLAP",
    "MJD_START",
    "TRANSFER_SIZE",
    "BYTES_PER_SECOND",
}


def antennas_of(header):
    """Names of the antennas that a header counts (NANT), None where it does not."""
    number = int(header["NANT"]) if header.get("NANT", "unset") != "unset" else 1
    return [f"A{i + 1}" for i in range(number)] if number > 1 else None


def _bytes_of_item(header):
    """Bytes of one sample of each input."""
    return (
        int(header["NBIT"])
        // 8
        * int(header["NDIM"])
        * int(header["NPOL"])
        * len(antennas_of(header) or "1")
    )


def _overlap(header):
    text = header.get("OBS_OVERLAP", "")
    return int(text) if text.isdecimal() else 0


def known_samples(header, recording, later_header, later):
    """
    Returns how many samples of a file an earlier one of the same observation has already, where it
    goes on at the end of that, or by OBS_OVERLAP before; None where it is not of those that do.
    """

    def observation(values):
        return {key: value for key, value in values.items() if key not in OF_ONE_FILE}

    if observation(header) != observation(later_header):
        return None
    last, next_ = recording.pieces[-1], later.pieces[0]
    end = utc_after(last.start, last.samples / recording.rate)
    known = round(elapsed(next_.start, end) * recording.rate) if next_.start < end else 0
    if known == 0:
        return 0
    declared = max(_overlap(header), _overlap(later_header))
    if not declared or known >= min(last.samples, next_.samples):
        return None
    if known * _bytes_of_item(header) > declared:
        raise ValueError(
            f"{next_.file}: its first {known} samples, {known * _bytes_of_item(header)} bytes, are "
            f"of the time of {last.file}, but OBS_OVERLAP is {declared}: expected as many bytes"
        )
    return known


def without(known, header, recording):
    """The piece of a file without so many samples at its beginning."""
    piece = recording.pieces[0]
    return Piece(
        piece.file,
        piece.byte + known * _bytes_of_item(header),
        piece.samples - known,
        utc_after(piece.start, known / recording.rate),
    )

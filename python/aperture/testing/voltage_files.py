#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Simple readers of files of voltages, for tests: models apart from what writes them."""

import json
from pathlib import Path

import numpy as np


def read_guppi(path):
    """A model of a reader: (header, int8 [channel][time][polarisation][re, im]) of each block."""
    data, found = Path(path).read_bytes(), []
    while data:
        header, place = {}, 0
        while not data[place : place + 80].startswith(b"END "):
            key, value = data[place : place + 80].decode("ascii").split("=")
            value = value.strip()
            header[key.strip()] = (
                value[1:-1].strip()
                if value[0] == "'"
                else float(value)
                if "." in value
                else int(value)
            )
            place += 80
        place += 80
        end = place + header["BLOCSIZE"]
        block = np.frombuffer(data[place:end], np.int8).reshape(
            header["OBSNCHAN"], -1, header["NPOL"] // 2, 2
        )
        found.append((header, block))
        data = data[end:]
    return found


def read_sigmf(path):
    """Metadata, and samples [time][input]."""
    meta = json.loads(Path(path).read_text())
    kind = {"ci8": np.dtype((np.int8, 2)), "cf32_le": np.dtype(np.complex64)}[
        meta["global"]["core:datatype"]
    ]
    data = Path(path).with_suffix(".sigmf-data").read_bytes()
    inputs = meta["global"]["core:num_channels"]
    if kind.kind == "c":
        return meta, np.frombuffer(data, np.complex64).reshape(-1, inputs)
    return meta, np.frombuffer(data, np.int8).reshape(-1, inputs, 2)


def read_dada(path):
    """Header (texts), and samples [time][channel][input] or, of integers, [...][re, im]."""
    data = Path(path).read_bytes()
    header = dict(
        line.split(None, 1) for line in data[:4096].rstrip(b"\0").decode("ascii").splitlines()
    )
    bits, complex_, inputs, channels = (
        int(header[key]) for key in ("NBIT", "NDIM", "NPOL", "NCHAN")
    )
    kind = {8: np.int8, 16: np.int16, 32: np.float32}[bits]
    samples = np.frombuffer(data[4096:], kind).reshape(-1, channels, inputs, complex_)
    return header, samples

#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Small files of recorded channels, packed by NumPy and struct, and what a correlator makes of
them."""

import struct

import numpy as np

LEVELS = np.array([40, 12, -12, -40])  # levels of 2 bits in GUPPI raw


def packed(voltages, bits):
    """Bytes of components that fit, in the order of the array; of less than 8 bits the first one is
    in the highest bits."""
    flat = np.asarray(voltages).ravel()
    if bits == 8:
        return flat.astype(np.int8).tobytes()
    if bits == 16:
        return flat.astype("<i2").tobytes()
    if bits == 2:
        codes = (flat[:, np.newaxis] == LEVELS).argmax(axis=1)
    else:
        codes = flat.astype(int) & 15
    places = (codes[:, np.newaxis] >> np.arange(bits - 1, -1, -1)) & 1
    return np.packbits(places.astype(np.uint8)).tobytes()


def random_voltages(rng, shape, bits):
    """Components of some bits, as integers [...][re, im]; none is 0, as what is missing is."""
    if bits == 2:
        return rng.choice(LEVELS, (*shape, 2))
    most = {4: 7, 8: 127, 16: 3000}[bits]
    values = np.clip(np.rint(rng.normal(0, most / 4, (*shape, 2))), -most, most).astype(int)
    return np.where(values == 0, 1, values)


def guppi_block(voltages, bits, **keys):
    """A block of GUPPI raw of voltages [antenna][channel][time][polarisation][re, im]; keys: of its
    header, beside those that follow from these."""
    antennas, channels, _, parts, _ = voltages.shape
    payload = packed(voltages, bits)
    values = {
        "BACKEND": "'GUPPI   '",
        "TELESCOP": "'Effelsberg'",
        "OBSNCHAN": antennas * channels,
        "NPOL": 4 if parts == 2 else 1,
        "NBITS": bits,
        "OBSFREQ": 1400.5,
        "OBSBW": channels * 0.01,
        "TBIN": 1e-4,
        "STT_IMJD": 58908,
        "STT_SMJD": 3600,
        "STT_OFFS": 0.5,
        "OVERLAP": 0,
        "PKTSIZE": 64,
        "DIRECTIO": 0,
        "BLOCSIZE": len(payload),
        **({"NANTS": antennas} if antennas > 1 else {}),
        **keys,
    }
    cards = "".join(f"{key:8}= {value!s:>20}".ljust(80) for key, value in values.items())
    return (cards + "END".ljust(80)).encode() + payload


def write_guppi(path, blocks, bits=8, lost=(), **keys):
    """
    A file of voltages [block][antenna][channel][time][polarisation][re, im], counted by PKTIDX.

    lost: numbers of blocks that are not written; keys: of the headers.
    """
    samples = blocks.shape[3]
    with open(path, "wb") as file:
        for number, block in enumerate(blocks):
            if number not in lost:
                counts = {"PKTIDX": number * samples, "PIPERBLK": samples}
                file.write(guppi_block(block, bits, **{**counts, **keys}))


def write_dada_channels(path, voltages, order, bits=8, block=None, big=False, **keys):
    """
    A file of PSRDADA of voltages [time][antenna][channel][polarisation][re, im].

    order: axes of the file, as ORDER has them, two T for blocks of `block` spectra; big: high bytes
    come first; keys: of the header.
    """
    spectra, antennas, channels, parts, _ = voltages.shape
    letters = "TAFP"
    # axes of length one may stand anywhere
    missing = "".join(letter for letter in letters if letter not in order)
    if order.count("T") == 2 or (block and order[0] != "T"):
        whole = voltages.reshape(spectra // block, block, *voltages.shape[1:])
        inner = order[1:] if order.count("T") == 2 else order
        axes = [0, *(1 + letters.index(letter) for letter in inner + missing), 5]
    else:
        whole, axes = voltages, [*(letters.index(letter) for letter in order + missing), 4]
    data = whole.transpose(axes)
    if bits == 32:
        payload = data.astype(">f4" if big else "<f4").tobytes()
    elif bits == 16:
        payload = data.astype(">i2" if big else "<i2").tobytes()
    else:
        payload = packed(data, bits)
    values = {
        "HEADER": "DADA",
        "HDR_SIZE": 4096,
        "TELESCOPE": "Effelsberg",
        "FREQ": 1400.5,
        "BW": channels * 0.01,
        "TSAMP": 100,
        "NBIT": bits,
        "NDIM": 2,
        "NPOL": parts,
        "NCHAN": channels,
        "ORDER": order,
        "UTC_START": "2020-03-01-01:00:00",
        "PICOSECONDS": 5 * 10**11,
        "OBS_OFFSET": 0,
        **({"NANT": antennas} if antennas > 1 else {}),
        **({"ENDIAN": "BIG"} if big else {}),
        **({"RESOLUTION": len(payload) * block // spectra} if block else {}),
        **keys,
    }
    header = "".join(f"{key:<16} {value}\n" for key, value in values.items()).encode()
    with open(path, "wb") as file:
        file.write(header.ljust(4096, b"\0") + payload)


def write_vdif(path, codes, station=7, second=0, lost=(), invalid=()):
    """
    A VDIF file of complex codes of 4 bits, 0 to 15, [frame][thread][spectrum][channel][re, im].

    A second has 1000 frames; second: of the first one; lost: (frame, thread) of those that are not
    written; invalid: of those that are marked so.
    """
    channels, spectra = codes.shape[3], codes.shape[2]
    size = 32 + channels * spectra
    with open(path, "wb") as file:
        for number, threads in enumerate(codes):
            for thread, code in enumerate(threads):
                if (number, thread) in lost:
                    continue
                marked = (number, thread) in invalid
                words = (
                    marked << 31 | second + number // 1000,
                    40 << 24 | number % 1000,
                    (channels.bit_length() - 1) << 24 | size // 8,
                    1 << 31 | 3 << 26 | thread << 16 | station,
                )
                payload = (code[..., 0] | code[..., 1] << 4).astype(np.uint8)
                file.write(struct.pack("<8I", *words, 0, 0, 0, 0) + payload.tobytes())


def write_drx(path, voltages, lost=(), beam=1, bits=4):
    """
    A file of DRX of voltages [frame][tuning][polarisation][4096][re, im], of 4 or 8 bits.

    lost: (frame, tuning, polarisation) of those that are not written.
    """
    with open(path, "wb") as file:
        for number, tunings in enumerate(voltages):
            for tuning, parts in enumerate(tunings):
                for part, values in enumerate(parts):
                    if (number, tuning, part) in lost:
                        continue
                    id_ = beam | tuning + 1 << 3 | part << 7
                    ticks = 196_000_000 * 1_600_000_000 + number * 4096 * 10
                    word = round((38e6 + 36e6 * tuning) * 2**32 / 196e6)
                    header = struct.pack(
                        ">IIIHHQII", 0xDEC0DE5C, id_ << 24, 0, 10, 30, ticks + 30, word, 0
                    )
                    file.write(header + packed(values, bits))


def spectra_of(blocks):
    """Voltages complex128 [time][input][channel] of those that write_guppi() has."""
    values = blocks[..., 0] + 1j * blocks[..., 1]
    count, antennas, channels, samples, parts = values.shape
    return values.transpose(0, 3, 1, 4, 2).reshape(count * samples, antennas * parts, channels)


def products(spectra):
    """Visibilities [channel][product] of voltages [time][input][channel]: means of x_a conj(x_b)
    over the times at which neither is all zero, a >= b, at a (a + 1) / 2 + b."""
    inputs = spectra.shape[1]
    there = spectra.any(axis=2)
    return np.stack(
        [
            np.sum(spectra[:, a] * spectra[:, b].conj(), axis=0) / np.sum(there[:, a] & there[:, b])
            for a in range(inputs)
            for b in range(a + 1)
        ],
        axis=-1,
    )

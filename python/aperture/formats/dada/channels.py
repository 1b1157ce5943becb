#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Files of PSRDADA with several channels.

ORDER names the axes of a file, the slowest first: T (time), F (channels), A (antennas) and P
(polarisations), each once; a second T, the slowest one, counts blocks in which the other stands for
the spectra of a block, as in MeerKAT's TAFTP. So do blocks of RESOLUTION bytes where T is not the
slowest axis.
"""

import os
import re
from fractions import Fraction

from ...parameters.times import SECONDS_PER_DAY, UNIX_EPOCH_MJD, read_time, utc_after
from ..header_values import HeaderValues
from ..recordings import ChannelRecording, Piece, oversampling_of

FIRST_BYTES = 4096  # in which HDR_SIZE stands
MOST_HEADER = 1 << 24
RATE_TOLERANCE = Fraction(1, 1000)  # TSAMP and BW are rounded, but never as coarsely as this
MOST_BLOCKS = 1 << 24  # pieces of a file
LATEST = 253402300800  # the year 10000, s since 1970
#: NBIT -> coding; of less than a byte, the first component is in the highest bits
CODINGS = {4: "s4_be", 8: "s8", 16: "s16", 32: "f32", -32: "f32"}


def read_header(name):
    """
    The HeaderValues of a file, of a repeated key the first.

    Raises
    ------
    ValueError
        There is no whole header.
    """
    with open(name, "rb") as file:
        text = file.read(FIRST_BYTES)
        header = _parsed(name, text)
        size = header.whole("HDR_SIZE", 1, MOST_HEADER)
        if size > len(text):
            text += file.read(size - len(text))
    if len(text) < size:
        raise header.error("HDR_SIZE", f"must not exceed the size of the file, {len(text)} bytes")
    return _parsed(name, text[:size])


def _parsed(name, data):
    values = {}
    for line in data.partition(b"\0")[0].decode("utf-8", "replace").splitlines():
        key, _, value = line.partition("#")[0].strip().partition(" ")
        key, _, more = key.partition("\t")
        if key:
            values.setdefault(key, f"{more} {value}".strip())
    return HeaderValues(name, values, ("unset",))


def channels_in(name):
    """NCHAN of a file, 1 where it does not say so, for whatever reason."""
    try:
        return read_header(name).whole("NCHAN", 1, 1 << 24, 1)
    except ValueError:
        return 1


def _start(header):
    """Seconds since 1970 of the first sample of the observation, a Fraction, and warnings."""
    rule = "must be yyyy-mm-dd-hh:mm:ss[.f] (UTC, after 1970)"
    day = None
    if header.has("MJD_START"):
        day = header.number("MJD_START", UNIX_EPOCH_MJD, 2973483, "a modified Julian date")
        day = (day - UNIX_EPOCH_MJD) * SECONDS_PER_DAY
    if not header.has("UTC_START"):
        if day is None:
            raise header.error("UTC_START", rule + ", or MJD_START must be there")
        return day, []
    text = re.sub(r"^(\d{4}-\d\d-\d\d)[-T ]", r"\1T", header.text("UTC_START"))
    try:
        start = read_time(text if "T" in text else "")
    except ValueError:
        raise header.error("UTC_START", rule) from None
    start += Fraction(header.whole("PICOSECONDS", 0, 10**12 - 1, 0), 10**12)
    digits = len(header.text("MJD_START").partition(".")[2])
    if day is None or abs(day - start) <= 1 + Fraction(SECONDS_PER_DAY, 10**digits):
        return start, []
    return start, [
        f"{header.name}: MJD_START {header.text('MJD_START')} is {float(day - start):.6g} s after "
        f"UTC_START {header.text('UTC_START')}: UTC_START is used"
    ]


def _rate(header, channels):
    """Spectra a second, a Fraction, and the width of a channel in Hz, with its sign."""
    bandwidth = header.number("BW", -(10**9), 10**9, "the bandwidth in MHz, not 0")
    if not bandwidth:
        raise header.error("BW", "must be the bandwidth in MHz, not 0")
    interval = header.number(
        "TSAMP", Fraction(1, 1000), 10**6, "the time between samples in us, from 0.001 to 1e6"
    )
    width = bandwidth * 10**6 / channels
    per_hertz = 1
    if abs(abs(width) * interval / 10**6 - 1) > RATE_TOLERANCE:
        per_hertz = oversampling_of(10**6 / (abs(width) * interval))
        if per_hertz is None:
            raise header.error(
                "TSAMP",
                f"disagrees with BW {header.text('BW')} of NCHAN {channels}: must be NCHAN / BW, "
                "within 0.1 %, or of oversampled channels less by a ratio such as 27/32",
            )
    shorter = header.digits("TSAMP") < header.digits("BW")
    return 10**6 / interval if shorter else abs(width) * per_hertz, float(width)


def _axes(header, lengths):
    """Letters of the axes that are longer than 1, the slowest first, but for a T in front that
    counts blocks, and whether there is one. lengths: F, A and P -> length."""
    text = header.text("ORDER").upper()
    if not text:
        text = "TFP" if lengths["A"] == 1 else "TAFP"
    letters = re.sub("^T(?=.*T)", "", text)
    rule = "T (time), F (channels), A (antennas) and P (polarisations), each once, or T twice"
    for letter in "TFAP":
        count = letters.count(letter)
        if count > 1 or (not count and lengths.get(letter, 2) > 1):
            raise header.error("ORDER", f"must be of {rule}")
    if set(letters) - set("TFAP"):
        raise header.error("ORDER", f"must be of {rule}")
    axes = "".join(letter for letter in letters if lengths.get(letter, 2) > 1)
    return axes, letters != text


def _strides(axes, lengths):
    """Samples, and rows of a block's spectra, from one to the next on each axis: letter ->
    (samples, rows)."""
    strides, step, behind_time = {}, 1, False
    for letter in reversed(axes):
        strides[letter] = (0, step) if behind_time else (step, 0)
        if letter == "T":
            behind_time = True
        else:
            step *= lengths[letter]
    return strides


def channels_of(name, integers=False, heap=None):
    """
    The ChannelRecording of a file.

    Parameters
    ----------
    name : str
    integers : bool
        NBIT 32 is integers, not floats.
    heap : int
        Spectra of a block, where ORDER has two T and RESOLUTION does not say it.

    Raises
    ------
    ValueError
        The header is none, or contradicts itself.
    """
    header = read_header(name)
    channels = header.whole("NCHAN", 1, 1 << 24)
    lengths = {
        "F": channels,
        "A": header.whole("NANT", 1, 65536, 1),
        "P": header.whole("NPOL", 1, 65536),
    }
    inputs = lengths["A"] * lengths["P"]
    if inputs > 65536:
        raise header.error("NANT", f"must be such that NANT NPOL, {inputs}, is at most 65536")
    bits = header.whole("NBIT", -64, 64)
    if bits not in CODINGS:
        raise header.error("NBIT", "must be 4, 8, 16, 32 or -32")
    if header.whole("NDIM", 1, 2) != 2:
        raise header.error("NDIM", "must be 2: channels of real samples are not read")
    endian = header.text("ENDIAN", "LITTLE").upper()
    if endian not in ("LITTLE", "BIG"):
        raise header.error("ENDIAN", "must be LITTLE or BIG")
    coding = "s32" if integers and bits == 32 else CODINGS[bits]
    if endian == "BIG" and abs(bits) > 8:
        coding += "_be"
    rate, width = _rate(header, channels)
    center = header.number("FREQ", 0, 10**9, "the centre of the band in MHz")
    start, warnings = _start(header)
    spectrum = Fraction(abs(bits) * 2 * inputs * channels, 8)
    axes, blocks = _axes(header, lengths)
    length, size = _blocks(header, axes, blocks, spectrum, heap)
    offset = header.whole("OBS_OFFSET", 0, 1 << 62, 0)
    unit = (length or 1) * spectrum
    if offset % unit:
        raise header.error("OBS_OFFSET", f"must be a multiple of {float(unit):g} bytes")
    if header.whole("OBS_OVERLAP", 0, 1 << 62, 0):
        raise header.error("OBS_OVERLAP", "must be 0: channels of files that overlap are not read")
    first = utc_after(start, offset / spectrum / rate)
    if first >= LATEST:
        raise header.error("OBS_OFFSET", "must be such that the file begins before the year 10000")
    begin = header.whole("HDR_SIZE", 1, MOST_HEADER)
    warnings += _complaints(header, rate * spectrum, size, spectrum, length, axes)
    pieces = []
    if axes[0] == "T" and not length:
        count = size // spectrum
        pieces = [Piece(name, begin, count, first, count)] if count else []
    else:
        count = length or size // spectrum
        bytes_ = int(count * spectrum)
        for number in range(size // bytes_ if bytes_ else 0):
            when = utc_after(first, number * count / rate)
            pieces.append(Piece(name, begin + number * bytes_, count, when, count))
    if not pieces:
        raise ValueError(
            f"{name}: holds {size} bytes after its header: at least the {float(spectrum):g} of a "
            "spectrum must be there" + (", a whole block of them" if length else "")
        )
    strides = _strides(axes, lengths)
    stride = lambda letter: strides.get(letter, (0, 0))
    falling = width < 0
    step, rows = stride("F")
    head, sign = (channels - 1, -1) if falling else (0, 1)
    places = [
        (
            antenna * lengths["P"] + part,
            0,
            channels,
            antenna * stride("A")[0] + part * stride("P")[0] + head * step,
            sign * step,
            stride("T")[0],
            antenna * stride("A")[1] + part * stride("P")[1] + head * rows,
            sign * rows,
        )
        for antenna in range(lengths["A"])
        for part in range(lengths["P"])
    ]
    low = float(center * 10**6) - abs(width) * (channels - 1) / 2
    return ChannelRecording(
        name,
        inputs,
        channels,
        coding,
        Fraction(rate),
        abs(width),
        low,
        pieces,
        places,
        falling,
        header.text("TELESCOPE"),
        antennas=[f"A{i + 1}" for i in range(lengths["A"])] if lengths["A"] > 1 else None,
        warnings=warnings,
    )


def _blocks(header, axes, blocks, spectrum, heap):
    """Spectra of a block, 0 where the file is one, and the bytes behind the header."""
    size = os.path.getsize(header.name) - header.whole("HDR_SIZE", 1, MOST_HEADER)
    resolution = header.whole("RESOLUTION", 0, 1 << 62, 0)
    per_block = resolution / spectrum
    whole = per_block.denominator == 1 and per_block > 1
    if axes[0] == "T" and not blocks:
        return 0, size
    if heap is not None:
        if not blocks:
            raise header.error("ORDER", "must have two T where heap= is given")
        if whole and per_block != heap:
            raise header.error("RESOLUTION", f"is {per_block} spectra, but heap= says {heap}")
        length = heap
    elif whole:
        length = int(per_block)
    elif blocks:
        raise header.error(
            "RESOLUTION",
            f"must be the bytes of a block, a multiple of {float(spectrum):g}, as ORDER "
            f"{header.text('ORDER')} has two T; heap= says how many spectra a block has",
        )
    else:
        length = 0
    if length and size / (length * spectrum) > MOST_BLOCKS:
        raise header.error("RESOLUTION", f"makes more than {MOST_BLOCKS} blocks of the file")
    return length, size


def _complaints(header, bytes_per_second, size, spectrum, length, axes):
    """Warnings of what contradicts what was found."""
    name, found = header.name, []
    said = header.number("BYTES_PER_SECOND", 0, 1 << 62, "a number of bytes", 0)
    if said and abs(said / bytes_per_second - 1) > RATE_TOLERANCE:
        found.append(
            f"{name}: BYTES_PER_SECOND {header.text('BYTES_PER_SECOND')} is not the "
            f"{float(bytes_per_second):.12g} that TSAMP, NCHAN, NBIT, NPOL and NANT make"
        )
    # PSRDADA's own programs count the bytes behind the header, others those of the whole file
    expected, whole = header.whole("FILE_SIZE", 0, 1 << 62, 0), os.path.getsize(name)
    if size < expected and whole != expected:
        found.append(f"{name}: {expected - size} of {expected} bytes (FILE_SIZE) are missing")
    if 0 < expected < size:
        found.append(
            f"{name}: FILE_SIZE is {expected}, and {size} bytes are behind the header: all of them "
            "are taken"
        )
    unit = length * spectrum if length else spectrum
    if size % unit:
        what = f"a block of {length} spectra" if length else "a spectrum"
        found.append(
            f"{name}: the last {float(size % unit):g} bytes are not the {float(unit):g} of {what}, "
            "and are not used"
        )
    if axes[0] != "T" and not length:
        found.append(
            f"{name}: ORDER {header.text('ORDER')} and no RESOLUTION of several spectra: the whole "
            "file is taken for one block"
        )
    if not header.has("ORDER"):
        found.append(f"{name}: ORDER is missing: TFP, with antennas TAFP, is taken")
    return found

#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Files of GUPPI raw: blocks of a header in the manner of FITS and samples,
`[antenna][channel][time][polarisation]`.

The `baseband` package reads the first header. From the others, of which there may be thousands,
only the few values are read that say where a block's samples are.
"""

import os
import re
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

from ...parameters.times import SECONDS_PER_DAY, UNIX_EPOCH_MJD, utc_after
from ..header_values import HeaderValues
from ..recordings import ChannelRecording, Piece, Recording, oversampling_of
from ..voltages import GUPPI_ENDING
from .header import CARD, MOST_HEADER, number_of, numbered, parse_header, sequence

ALIGNED = 512  # bytes of which DIRECTIO makes headers a multiple
MOST_BEFORE = 1 << 28  # bytes in front of the first header
SEARCHED = 1 << 22  # bytes at a time, where a header is not where it should be
RATE_TOLERANCE = Fraction(1, 1000)  # largest difference of TBIN from OBSBW
KEY = b"BLOCSIZE="  # every header has it
#: bits of a component -> its coding
CODINGS = {2: "levels2_be", 4: "s4_be", 8: "s8", 16: "s16"}
#: values that all blocks have in common
COMMON = (
    "OBSNCHAN",
    "NPOL",
    "NBITS",
    "NANTS",
    "PKTFMT",
    "OBSFREQ",
    "OBSBW",
    "TBIN",
    "OVERLAP",
    "STT_IMJD",
    "STT_SMJD",
    "STT_OFFS",
    "PKTSIZE",
    "DIRECTIO",
)


@dataclass(frozen=True)
class Block:
    """A block of a file. file: its index; payload: byte of the first sample; size: bytes by its
    header; there: bytes that the file has; values: of its header."""

    file: int
    payload: int
    size: int
    there: int
    values: dict

    @property
    def common(self):
        return tuple(self.values.get(key) for key in COMMON)


@dataclass
class GuppiStream:
    """
    The contents of GUPPI files.

    header: the first one; bits: of a component; complex; polarizations, antennas; channels: of
    each antenna; channels_first: whether a channel's samples lie in a row; overlap: samples that a
    block has in common with the next one; rate: samples a second of a channel, a Fraction; width:
    Hz, of a channel, below 0 where the sky frequency falls; first_frequency: Hz, of channel 0;
    start: of sample 0, s since 1970, a Fraction; blocks: list of (Block, number of its first
    sample), in the order of time; unused: the fraction of the blocks that is not among them;
    warnings: list of str.
    """

    header: dict
    bits: int
    complex: bool
    polarizations: int
    antennas: int
    channels: int
    channels_first: bool
    overlap: int
    rate: Fraction
    width: float
    first_frequency: float
    start: Fraction
    blocks: list = field(default_factory=list)
    unused: float = 0.0
    warnings: list = field(default_factory=list)

    def antenna_names(self):
        """Returns the names of an array's antennas, as ANTNMS00, ANTNMS01, ... list them, or A1,
        A2, ...; None: it is none."""
        if self.antennas == 1 or self.polarizations > 2:
            return None
        listed = ",".join(
            self.header[key] for key in sorted(self.header) if re.fullmatch(r"ANTNMS\d\d", key)
        )
        names = [name.strip() for name in listed.split(",")]
        known = len(set(names)) == len(names) == self.antennas and all(names)
        return names if known else [f"A{i + 1}" for i in range(self.antennas)]

    @property
    def coding(self):
        """The coding of a component, as recording_source has it."""
        return CODINGS[self.bits]

    @property
    def bits_of_sample(self):
        return self.bits * (2 if self.complex else 1)

    @property
    def inputs(self):
        return self.antennas * self.polarizations

    def samples_in(self, size):
        """Returns the samples of a channel in a block of so many bytes; a fraction if they are not
        whole."""
        return Fraction(8 * size, self.bits_of_sample * self.inputs * self.channels)

    def frequency(self, channel):
        return self.first_frequency + channel * self.width


def _header_at(file, byte):
    """(values, byte of the payload) of a header there; None if there is none."""
    length = 1 << 14
    while True:
        text = os.pread(file, length, byte)
        found = parse_header(text)
        if found or len(text) < length or length >= MOST_HEADER:
            break
        if text[:CARD][8:9] != b"=":
            return None
        length = MOST_HEADER
    if not found or not {"BLOCSIZE", "OBSNCHAN", "NPOL", "NBITS"} <= set(found[0]):
        return None
    values, header = found
    try:
        if int(values["BLOCSIZE"]) <= 0:
            return None
        if int(values.get("DIRECTIO", 0)):
            header = -(-header // ALIGNED) * ALIGNED
    except ValueError:
        return None
    return values, byte + header


def _search(file, byte, size):
    """Byte of the next header that begins at a byte or behind it, or the size of the file."""
    first = byte
    while byte < size:
        data = os.pread(file, SEARCHED + len(KEY), byte)
        at = data.find(KEY)
        while at >= 0:
            begin = _begin_of_header(file, byte + at, first)
            if begin is not None:
                return begin
            at = data.find(KEY, at + 1)
        byte += SEARCHED
    return size


def _begin_of_header(file, card, first):
    """Returns the first byte of the header that has a card at a byte; None: there is none."""
    low = max(first, card - MOST_HEADER)
    before = os.pread(file, card - low, low)
    begin = card
    while begin - CARD >= low:
        text = before[begin - CARD - low : begin - low]
        if text[8:9] != b"=" or not all(32 <= byte < 127 for byte in text):
            break
        begin -= CARD
    return begin if _header_at(file, begin) else None


def _blocks_of(index, name, warnings):
    """
    The blocks of a file. Where the next header is not behind a block, the block need not be whole,
    and is not used.
    """
    blocks = []
    file = os.open(name, os.O_RDONLY)
    try:
        size, byte = os.fstat(file).st_size, 0
        while byte < size:
            found = _header_at(file, byte)
            if found:
                values, payload = found
                length = int(values["BLOCSIZE"])
                blocks.append(
                    Block(index, payload, length, max(0, min(length, size - payload)), values)
                )
                byte = payload + length
                continue
            # the size of the one before may be wrong, or bytes may be missing in it
            before = blocks.pop() if blocks else None
            # a file that has none in the room of two large blocks has none at all
            end = size if before or byte else min(size, MOST_BEFORE)
            after = _search(file, before.payload if before else byte, end)
            after = size if after == end else after
            warnings.append(
                f"{name}: there is no header of GUPPI at byte {byte}: "
                + ("the block before is" if before else "what is there is")
                + " not used"
                + ("" if after < size else ", and none is behind it")
            )
            byte = after
    finally:
        os.close(file)
    return blocks


def _describe(name, values, size, rise, npol):
    """A GuppiStream without blocks, of the values of a header; size: bytes of a block; rise: of
    PKTIDX from block to block, or None; npol: polarisations, where the user says it."""
    header = HeaderValues(name, values)
    bits = header.whole("NBITS", 1, 64)
    if bits not in CODINGS:
        raise header.error("NBITS", "must be 2, 4, 8 or 16")
    all_channels = header.whole("OBSNCHAN", 1, 1 << 20)
    antennas = header.whole("NANTS", 1, 1 << 16, 1)
    if all_channels % antennas:
        raise ValueError(f"{name}: OBSNCHAN {all_channels}: must be a multiple of NANTS {antennas}")
    channels = all_channels // antennas
    bandwidth = header.number("OBSBW", -(10**9), 10**9, "the bandwidth in MHz, not 0")
    interval = header.number(
        "TBIN",
        Fraction(1, 10**15),
        10**9,
        "the time between samples of a channel in seconds, above 0",
    )
    if not bandwidth:
        raise header.error("OBSBW", "must be the bandwidth in MHz, not 0")
    # samples of TBIN are complex, or real ones, which come at twice the rate
    width = bandwidth * 10**6 / channels
    for per_hertz in (1, 2):
        if abs(abs(width) * per_hertz * interval - 1) <= RATE_TOLERANCE:
            break
    else:
        per_hertz = oversampling_of(1 / (abs(width) * interval))
        if per_hertz is None:
            raise ValueError(
                f"{name}: TBIN {values['TBIN']}: disagrees with OBSBW {values['OBSBW']} "
                f"of {channels} channels: must be OBSNCHAN / OBSBW in microseconds, "
                "within 0.1%, or of oversampled channels less by a ratio such as 27/32"
            )
    # the one with fewer digits is what was meant, the other its rounded inverse
    rate = (
        1 / interval if header.digits("TBIN") < header.digits("OBSBW") else abs(width) * per_hertz
    )
    is_complex = per_hertz != 2
    parts = header.whole("NPOL", 1, 4)
    if parts == 3:
        raise ValueError(f"{name}: NPOL {parts}: must be 1, 2 or 4")
    middle = header.number("OBSFREQ", -(10**9), 10**9, "the middle of the band in MHz")
    days = header.whole("STT_IMJD", UNIX_EPOCH_MJD, 2973483)
    seconds = header.number("STT_SMJD", 0, SECONDS_PER_DAY, "the second of the day")
    rule = "a part of a second, from 0 to below 1"
    part = header.number("STT_OFFS", 0, 1, rule, 0)
    if part == 1:
        raise header.error("STT_OFFS", f"must be {rule}")
    samples_first = values.get("PKTFMT", "1SFA") != "SIMPLE"
    if not samples_first and antennas > 1:
        raise ValueError(f"{name}: PKTFMT SIMPLE: cannot be read with NANTS {antennas}")
    stream = GuppiStream(
        values,
        bits,
        is_complex,
        (parts + 1) // 2 if is_complex else parts,
        antennas,
        channels,
        samples_first,
        header.whole("OVERLAP", 0, 1 << 40, 0),
        rate,
        float(width),
        float(middle * 10**6 - bandwidth * 10**6 / 2 + width / 2),
        (days - UNIX_EPOCH_MJD) * SECONDS_PER_DAY + seconds + part,
    )
    if is_complex and parts == 2:
        stream.polarizations = npol or _polarizations(name, stream, size, rise)
    elif npol not in (None, stream.polarizations):
        raise ValueError(
            f"{name}: NPOL {parts}: must be 2 where npol= says what it means, and is "
            f"{stream.polarizations} polarisation"
            f"{'s' if stream.polarizations > 1 else ''}"
        )
    return stream


def _packets_per_block(values, rise):
    """By how much PKTIDX rises from block to block, as PIPERBLK says; None if nothing does, or if
    by its usual rise it does otherwise. (Where many blocks are lost, that is a multiple.)"""
    text = values.get("PIPERBLK", "")
    said = int(text) if text.isdecimal() and len(text) < 18 else 0
    return said if said and (not rise or rise % said == 0) else None


def _polarizations(name, stream, size, rise):
    """
    Returns the meaning of NPOL 2 for complex samples: baseband has the two components of one
    polarisation in mind, and rawspec and the recorders of arrays two polarisations. The samples
    that a block has follow from it, and PKTIDX mostly counts samples, or packets of PKTNTIME or
    HNTIME of them.
    """
    values, said = stream.header, _packets_per_block(stream.header, rise)
    counted = said or rise
    bytes_of_packet = values.get("PKTSIZE", "")
    if not said and rise and bytes_of_packet.isdecimal() and rise * int(bytes_of_packet) == size:
        counted = None  # bytes are as many either way
    times = [int(values[key]) for key in ("PKTNTIME", "HNTIME") if values.get(key, "").isdecimal()]
    for each in [1, *times] if counted else ():
        for count in (1, 2):
            stream.polarizations = count
            if stream.samples_in(size) - stream.overlap == counted * each:
                return count
    assumed = 2 if "NANTS" in values else 1
    stream.warnings.append(
        f"{name}: NPOL 2 is taken for "
        + (
            "two polarisations, as arrays (NANTS) are recorded: npol=1 if it is the two components "
            "of one"
            if assumed == 2
            else "the two components of one polarisation, as baseband has it: npol=2 if it is two, "
            "as rawspec has it"
        )
    )
    return assumed


def _longest_rise(numbers):
    """Places of the longest rising row of numbers, one of those that there are."""
    from bisect import bisect_left

    tails, places, before = [], [], [None] * len(numbers)
    for place, number in enumerate(numbers):
        at = bisect_left(tails, number)
        before[place] = places[at - 1] if at else None
        tails[at : at + 1], places[at : at + 1] = [number], [place]
    row, place = [], places[-1] if places else None
    while place is not None:
        row.append(place)
        place = before[place]
    return row[::-1]


def _usual_rise(numbers):
    """By how much PKTIDX rises from block to block, most often; None if it does not."""
    steps = Counter(b - a for a, b in zip(numbers, numbers[1:]) if b > a)
    return steps.most_common(1)[0][0] if steps else None


def _without_odd_numbers(name, stream, blocks):
    """
    Blocks but for those that lie by a part of a block beside all others: their PKTIDX is damaged.
    Where recording began anew there are several.
    """
    numbers = [int(block.values["PKTIDX"]) for block in blocks]
    rise = _usual_rise(numbers)
    if rise is None or len(blocks) < 4:
        return blocks
    places = Counter(number % rise for number in numbers)
    if len(places) == 1 or places.most_common(1)[0][1] < 3:
        return blocks
    kept = [block for block, number in zip(blocks, numbers) if places[number % rise] > 1]
    if len(kept) < len(blocks):
        stream.warnings.append(
            f"{name}: PKTIDX of {len(blocks) - len(kept)} blocks does not fit "
            "to those of the others: they are not used"
        )
    return kept


def _steps(name, stream, blocks, samples):
    """Samples that one PKTIDX stands for."""
    usual = _usual_rise([int(block.values["PKTIDX"]) for block in blocks])
    new = samples - stream.overlap
    said = _packets_per_block(stream.header, usual)
    if said:
        return Fraction(new, said)
    if usual and "PIPERBLK" in stream.header:
        stream.warnings.append(
            f"{name}: PKTIDX rises by {usual} from block to block: PIPERBLK "
            f"{stream.header['PIPERBLK']} does not say so, and is not used"
        )
    try:
        size = Fraction(stream.header.get("PKTSIZE", ""))
        packet = stream.samples_in(size)
    except ValueError:
        packet = None
    if usual:
        # PKTIDX counts packets, if not samples by chance
        if packet and (usual == new / packet or usual % (new / packet) == 0 and usual != new):
            return packet
        stream.warnings.append(
            f"{name}: PKTIDX rises by {usual} from block to block, which have {new} new samples: "
            "PKTSIZE does not say so, and is not used"
        )
        return Fraction(new, usual)
    return packet or Fraction(1)


def read_stream(names, npol=None):
    """
    Returns the contents of GUPPI files that follow each other.

    npol: polarisations, where NPOL does not say how many there are; None: see _polarizations().

    Raises
    ------
    ValueError
        A file has no block, or blocks that are not read.
    """
    blocks, warnings = [], []
    for index, name in enumerate(names):
        blocks += _blocks_of(index, name, warnings)
    if not blocks:
        raise ValueError(
            f"{names[0]}: has no block of GUPPI raw that can be used: expected a "
            "header of cards of 80 letters with OBSNCHAN, NPOL, NBITS, BLOCSIZE and "
            "END, and BLOCSIZE bytes of samples, again and again"
        )
    common = Counter(block.common for block in blocks).most_common(1)[0][0]
    usual = [block for block in blocks if block.common == common]
    size = Counter(block.size for block in usual).most_common(1)[0][0]
    rise = _usual_rise([int(block.values["PKTIDX"]) for block in usual if _has_number(block)])
    stream = _describe(names[usual[0].file], usual[0].values, size, rise, npol)
    _check(names[usual[0].file], usual[0], stream)
    warnings += stream.warnings
    stream.warnings = warnings
    _mind_the_gaps(names, warnings)
    if len(usual) < len(blocks):
        warnings.append(
            f"{names[0]}: {len(blocks) - len(usual)} of {len(blocks)} blocks have "
            "other headers than the rest, and are not used"
        )
    _place(names, stream, usual, size)
    stream.unused = 1 - len(stream.blocks) / len(blocks)
    return stream


def _check(name, block, stream):
    """Lets baseband judge the first header."""
    from baseband.guppi import GUPPIHeader

    try:
        # a complex sample counts twice in NPOL
        parts = stream.polarizations * (2 if stream.complex else 1)
        header = GUPPIHeader(list({**block.values, "NPOL": parts}.items()))
        _ = header.samples_per_frame, header.sample_rate, header.overlap
    except Exception as error:  # baseband raises anything
        reason = f": {error}" if str(error) else " by what baseband expects of one"
        raise ValueError(f"{name}: its header is none of GUPPI{reason}") from None


def _has_number(block):
    return block.values.get("PKTIDX", "").isdecimal() and len(block.values["PKTIDX"]) < 18


def _place(names, stream, blocks, size):
    """Returns the places of the blocks' samples on one clock; most blocks have `size` bytes."""
    name, warnings = names[blocks[0].file], stream.warnings
    samples = stream.samples_in(size)
    if samples.denominator != 1:
        raise ValueError(
            f"{name}: BLOCSIZE {size}: must be a multiple of the bytes of a sample "
            f"of all channels, {size / samples}"
        )
    samples = int(samples)
    if stream.overlap >= samples:
        raise ValueError(
            f"{name}: OVERLAP {stream.overlap}: must be below the {samples} samples of a block"
        )
    good = []
    for block in blocks:
        whole = stream.samples_in(block.size).denominator == 1 and block.there == block.size
        # the place of a block that is cut off is known if its size is the usual one
        if (whole or block.size == size) and _has_number(block) and block.there:
            good.append(block)
        else:
            warnings.append(
                f"{names[block.file]}: the block at byte {block.payload} has BLOCSIZE "
                f"{block.size} and PKTIDX {block.values.get('PKTIDX', 'missing')}, and the file "
                f"{block.there} bytes of it: it is not used"
            )
    if not good:
        raise ValueError(f"{name}: none of its blocks can be used: " + warnings[-1])
    good = _without_odd_numbers(name, stream, good)
    step = _steps(name, stream, good, samples)
    numbers = [int(block.values["PKTIDX"]) for block in good]
    places = _longest_rise(numbers)
    if len(places) < len(good):
        warnings.append(
            f"{name}: PKTIDX of {len(good) - len(places)} blocks is not between those "
            "of their neighbours: they are not used"
        )
    first = Fraction(numbers[places[0]]) * step
    stream.start = utc_after(stream.start, first / stream.rate)
    firsts = [numbers[place] * step - first for place in places]
    odd = [number for number in firsts if number.denominator != 1]
    if odd:
        warnings.append(
            f"{name}: {len(odd)} blocks do not begin with a whole sample by their "
            "PKTIDX: they are not used"
        )
    kept = [
        (good[place], int(number))
        for place, number in zip(places, firsts)
        if number.denominator == 1
    ]
    stream.blocks = kept
    lost = sum(
        max(0, after - number - int(stream.samples_in(block.size)))
        for (block, number), (_, after) in zip(kept, kept[1:])
    )
    if lost:
        warnings.append(
            f"{name}: {lost} samples are missing between its blocks "
            f"({float(lost / stream.rate):.6g} s)"
        )


def _new_samples(stream, block, number, end):
    """Samples of a block that the ones before it, up to number `end`, have already, and the bytes
    from its beginning to the first one behind them, in a row of one channel, or of all."""
    known = max(0, end - number)
    step = stream.bits_of_sample * stream.polarizations
    step *= 1 if stream.channels_first else stream.channels
    skipped = Fraction(known * step, 8)
    if skipped.denominator != 1:
        raise ValueError(
            f"{stream.header.get('TELESCOP', 'GUPPI')}: OVERLAP {stream.overlap}: must be whole "
            f"bytes of samples of {stream.bits} bits"
        )
    return known, int(skipped)


def pieces_of(stream, channel):
    """
    Rows of recording_source's `pieces` and `layout` for one channel: a set for each antenna, an
    input for each polarisation of each.
    """
    each = stream.bits_of_sample * stream.polarizations
    # bits from a sample of the channel to the next one
    step = each if stream.channels_first else each * stream.channels
    pieces, ends = [], [0] * stream.antennas
    for block, number in stream.blocks:
        samples = int(stream.samples_in(block.size))
        for antenna in range(stream.antennas):
            begin = (
                (antenna * stream.channels + channel) * samples * each
                if stream.channels_first
                else 0
            )
            there = min(samples, max(0, 8 * block.there - begin) // step)
            # samples that two blocks share are read from the first of them
            known, skipped = _new_samples(stream, block, number, ends[antenna])
            if begin % 8:
                raise ValueError(
                    f"channel {channel} begins within a byte, as a block has {samples} samples of "
                    f"{stream.bits} bits: read all channels"
                )
            if there > known:
                pieces.append(
                    (
                        block.file,
                        block.payload + begin // 8 + skipped,
                        there - known,
                        number + known,
                        antenna,
                    )
                )
                ends[antenna] = number + there
    stride = (
        stream.polarizations if stream.channels_first else stream.polarizations * stream.channels
    )
    offset = 0 if stream.channels_first else channel * stream.polarizations
    layout = [
        (antenna, offset + pol, stride)
        for antenna in range(stream.antennas)
        for pol in range(stream.polarizations)
    ]
    return pieces, layout


def samples_of(stream, names, channel):
    """Recordings of one channel of a stream, one for each antenna, to be read beside others."""
    pieces, layout = pieces_of(stream, channel)
    antennas = stream.antenna_names() or [str(stream.header.get("TELESCOP", ""))]
    recordings = [
        Recording(
            names[0],
            stream.polarizations,
            stream.coding,
            stream.complex,
            stream.rate,
            stream.frequency(channel),
            [
                Piece(names[file], byte, count, utc_after(stream.start, number / stream.rate))
                for file, byte, count, number, set_ in pieces
                if set_ == antenna
            ],
            stream.width < 0,
            str(stream.header.get("TELESCOP", "")),
            antennas=[antennas[antenna]] if antenna < len(antennas) else None,
            warnings=stream.warnings if not antenna else [],
            places=[place for set_, *place in layout if set_ == antenna],
        )
        for antenna in range(stream.antennas)
    ]
    for entry in recordings:
        if not entry.pieces:
            raise ValueError(f"{entry.name}: has no samples of channel {channel}")
    return recordings


def end_of(stream):
    """Returns the end of the last block of a stream, s since 1970, a Fraction."""
    block, number = stream.blocks[-1]
    return utc_after(stream.start, (number + stream.samples_in(block.size)) / stream.rate)


def channels_of(stream, names):
    """
    The ChannelRecording of all channels of a stream; an input for each polarisation of each
    antenna.

    Raises
    ------
    ValueError
        Samples are real, or none of all channels are there.
    """
    (name, *_), values = names, stream.header
    if not stream.complex:
        raise ValueError(
            f"{name}: TBIN {values['TBIN']}: samples are real, as there are two for each Hz of a "
            "channel: channel= chooses one of the channels, which the filter bank reads"
        )
    parts, count = stream.polarizations, stream.channels
    pieces, end = [], 0
    for block, number in stream.blocks:
        samples = int(stream.samples_in(block.size))
        known, skipped = _new_samples(stream, block, number, end)
        there = samples
        if block.there < block.size:
            # the last ones of channels that lie one behind the other have no samples
            bits = stream.bits_of_sample * parts * count
            there = 0 if stream.channels_first else 8 * block.there // bits
            stream.warnings.append(
                f"{names[block.file]}: its last block is cut off: {samples - there} spectra that "
                "do not have all channels are not used"
            )
        if there > known:
            start = utc_after(stream.start, (number + known) / stream.rate)
            pieces.append(
                Piece(names[block.file], block.payload + skipped, there - known, start, samples)
            )
            end = number + there
    if not pieces:
        raise ValueError(f"{name}: no block has all {count} channels")
    places = []
    falling = stream.width < 0
    for antenna in range(stream.antennas):
        for part in range(parts):
            # the last channel of a falling band comes first
            first, step = (count - 1, -parts) if falling else (0, parts)
            rows = (parts * (antenna * count + first), step) if stream.channels_first else (0, 0)
            place = (
                (part, 0, parts, *rows)
                if stream.channels_first
                else (parts * first + part, step, parts * count, *rows)
            )
            places.append((antenna * parts + part, 0, count, *place))
    return ChannelRecording(
        name,
        stream.inputs,
        count,
        stream.coding,
        stream.rate,
        abs(stream.width),
        stream.frequency(count - 1 if falling else 0),
        pieces,
        places,
        falling,
        str(values.get("TELESCOP", "")),
        antennas=stream.antenna_names(),
        warnings=stream.warnings,
        unused=stream.unused,
    )


def streams_of(names):
    """Lists of names that follow each other: those of a sequence, of which NAME.0000.raw stands for
    all with higher numbers where it is alone; any other name is a list of its own. ValueError: one
    is there twice."""
    streams = {}
    for place, name in enumerate(names):
        if name in names[:place]:
            raise ValueError(f"{name}: is named twice; expected each file once")
        found = number_of(name)
        streams.setdefault(found[0] if found else name, []).append(name)
    return [
        following(found[0]) if len(found) == 1 else sorted(found, key=lambda name: number_of(name))
        for found in streams.values()
    ]


def following(name):
    """NAME.0000.raw and those that are there with the numbers behind it; else the name alone."""
    found = number_of(name)
    if not found:
        return [name]
    return [name, *(other for other in sequence(found[0]) if number_of(other)[1] > found[1])]


def _mind_the_gaps(names, warnings):
    """Warns of files that are missing in a sequence."""
    parts = [number_of(name) for name in names]
    if None in parts or len({path for path, _ in parts}) > 1:
        return
    for (path, before), (_, number) in zip(parts, parts[1:]):
        if number > before + 1:
            lost = numbered(path, before + 1) + (
                f" to {number - 1:04}{GUPPI_ENDING} are" if number > before + 2 else " is"
            )
            warnings.append(f"{lost} missing between the files that are read")

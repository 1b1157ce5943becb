#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Digital RF: folders with channels of HDF5 files, which the package `digital_rf` reads."""

import math
import os
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..parameters.times import utc_after
from .recordings import Piece, Recording

MOST_PIECES = 1 << 20  # stretches without a gap that a channel may have
#: kind and bytes of a component -> coding; others become floats
CODINGS = {"i1": "s8", "u1": "s8", "i2": "s16", "u2": "s16", "f4": "f32"}
COMPONENTS = {"s8": np.int8, "s16": np.int16, "f32": np.float32}


@dataclass
class DigitalRfChannel:
    """
    A channel, as reader of a Recording's pieces: see inputs.packaged_source; `first` of read()
    counts from the epoch.

    name: of its folder; top: the folder above it; channel: its name; subchannels: those that are
    read; coding: of a component.
    """

    name: str
    top: str
    channel: str
    subchannels: list
    coding: str

    def open(self):
        return _Opened(self)


class _Opened:
    def __init__(self, of):
        import digital_rf

        self._of, self._reader = of, digital_rf.DigitalRFReader(of.top)

    def close(self):
        self._reader.close()

    def read(self, first, count):
        """Samples [count][subchannel][components], NaN or all there."""
        of = self._of
        data = _read(self._reader, of.channel, first, count)
        data = np.ascontiguousarray(data[:, of.subchannels])
        return as_components(data, of.coding)


def _read(reader, channel, first, count):
    """Samples [count][subchannel] of a channel that are all there."""
    # read_vector_raw() takes a single sample of several sub-channels for as many samples
    found = reader.read(first, first + count - 1, channel)
    data = [part.reshape(len(part), -1) for part in found.values()]
    if sum(map(len, data)) != count:
        raise ValueError(f"{channel}: samples from {first} on, {count} of them, are not all there")
    return np.concatenate(data) if len(data) > 1 else data[0]


def as_components(data, coding):
    """
    Samples [sample][subchannel] as they are in files, as [...][re, im or real] of a coding.

    Unsigned integers become signed ones: of 8 bits c - 127.5, rounded half to even and at most 127,
    as `raw:` has it, of 16 bits c - 32768.
    """
    if data.dtype.names:
        parts = np.stack([data["r"], data["i"]], -1)
    elif data.dtype.kind == "c":
        parts = np.stack([data.real, data.imag], -1)
    else:
        parts = data[..., None]
    to = COMPONENTS[coding]
    if parts.dtype.kind == "u":
        bits = 8 * parts.dtype.itemsize
        if bits == 8:
            return np.minimum(np.rint(parts.astype(np.float32) - 127.5), 127).astype(to)
        return (parts.astype(np.int64) - (1 << (bits - 1))).astype(to)
    return parts.astype(to)


def channels_in(top, wanted=None):
    """
    Names of the channels in a folder, all or those wanted.

    Raises
    ------
    ValueError
        It is no folder of Digital RF, or has no such channel.
    """
    import digital_rf

    if not os.path.isdir(top):
        raise ValueError(
            f"{top}: is no folder"
            + ("" if os.path.exists(top) else " that is there")
            + ": expected one with a folder for each channel of Digital RF"
        )
    try:
        reader = digital_rf.DigitalRFReader(top)
        found = reader.get_channels()
        reader.close()
    except Exception as error:  # the package raises anything
        raise ValueError(f"{top}: is no folder of Digital RF: {_text(error)}") from None
    for name in wanted or []:
        if name not in found:
            raise ValueError(
                f"{top}: there is no channel {name}: expected some of {', '.join(found)}"
            )
    return wanted or found


def open_channel(top, channel, subchannels=None, center=None):
    """
    A Recording of a channel, and the DigitalRfChannel of its pieces.

    Parameters
    ----------
    top, channel : str
        The folder, and the channel's name in it.
    subchannels : list of int, optional
        Those that are read; default: all.
    center : float, optional
        Hz, sky frequency; default: what its metadata say.

    Raises
    ------
    ValueError
        It has no samples, no such sub-channel, or sub-channels of different frequencies.
    """
    import digital_rf

    name = os.path.join(top, channel)
    reader = digital_rf.DigitalRFReader(top)
    try:
        about = reader.get_properties(channel)
        first, last = reader.get_bounds(channel)
        if first is None:
            raise ValueError(f"{name}: has no samples")
        blocks = reader.get_continuous_blocks(first, last, channel)
        (begin, _), *_ = blocks.items()
        data = _read(reader, channel, begin, 1)
        metadata = _metadata(reader, channel, first, last)
    except ValueError:
        raise
    except Exception as error:  # the package raises anything
        raise ValueError(f"{name}: cannot be read: {_text(error)}") from None
    finally:
        reader.close()
    if len(blocks) > MOST_PIECES:
        raise ValueError(f"{name}: has {len(blocks) - 1} gaps: expected less than {MOST_PIECES}")
    rate = Fraction(int(about["sample_rate_numerator"]), int(about["sample_rate_denominator"]))
    total = int(about["num_subchannels"])
    chosen = list(range(total)) if subchannels is None else subchannels
    if max(chosen) >= total:
        raise ValueError(
            f"{name}: there is no sub-channel {max(chosen)}: expected some of 0 to {total - 1}"
        )
    frequency, told = _frequency(name, metadata, chosen, total, center)
    kind = data.dtype[0] if data.dtype.names else data.dtype
    component = (
        f"{'f' if kind.kind == 'c' else kind.kind}{kind.itemsize // (1 + (kind.kind == 'c'))}"
    )
    coding = CODINGS.get(component, "f32")
    start = Fraction(first) / rate
    pieces = [
        # the clock goes on over leap seconds, as numbers of samples do
        Piece(name, int(begin), int(count), utc_after(start, Fraction(begin - first) / rate))
        for begin, count in blocks.items()
    ]
    lost = last + 1 - first - sum(piece.samples for piece in pieces)
    if lost:
        told.append(
            f"{name}: {lost} samples are missing in {len(pieces) - 1} gap{'s'[len(pieces) == 2 :]}"
        )
    is_complex = bool(about["is_complex"])
    recording = Recording(
        name, len(chosen), coding, is_complex, rate, frequency, pieces, warnings=told
    )
    return recording, DigitalRfChannel(name, top, channel, chosen, coding)


def _metadata(reader, channel, first, last):
    """The channel's first metadata, {} if there are none."""
    try:
        found = reader.read_metadata(first, last, channel, method="ffill")
    except Exception:  # none there, or none of Digital Metadata
        return {}
    return next(iter(found.values()), {})


def _frequency(name, metadata, chosen, total, center):
    """Sky frequency of the sub-channels that are read, Hz, None if nobody says it; warnings."""
    found = metadata.get("center_frequencies", metadata.get("center_frequency"))
    try:
        found = np.ravel(np.asarray(found, float)) if found is not None else np.zeros(0)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if len(found) not in (1, total) or not np.isfinite(found).all():
        return center, []
    said = found[chosen] if len(found) == total else found
    if center is not None:
        return center, [
            f"{name}: freq= is {center:.10g} Hz, but its metadata say "
            f"{', '.join(f'{value:.10g}' for value in said)} Hz"
        ] if not all(math.isclose(value, center, rel_tol=1e-9) for value in said) else []
    if np.ptp(said):
        of_each = ", ".join(f"{n}: {value:.10g} Hz" for n, value in zip(chosen, said))
        raise ValueError(
            f"{name}: its sub-channels have frequencies of their own ({of_each}): subchannel= "
            "chooses those of one, or freq= says what holds for all"
        )
    return float(said[0]), []


def _text(error):
    return " ".join(str(error).split()) or type(error).__name__

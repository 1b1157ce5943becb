#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Signals: what an input proves to be when it is opened."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction

from ..parameters.times import exact, exact_seconds, utc_after, whole_and_fraction

REAL_TYPES = ("f32", "s16", "s12", "s10", "s8")


@dataclass
class Signals:
    """
    The samples of an opened input.

    Parameters
    ----------
    description : ArrayDescription
        The array's.
    sample_type : str
        Type of the samples, as in pfb_channelizer.
    sample_rate : float
        Hz, samples a second of each input.
    center_frequency : float
        Hz, of the middle of the band.
    samples : int or None
        Samples of each input; None if the length is to be chosen.
    source : callable
        source(n) makes the block for n samples of each input, 0: all there are, or without end.
        The block has finish(), which ends its stream, and may have error(), a text. That of
        receivers is a LiveSource, and is made once.
    start_time : tuple of int, float
        Whole seconds since 1970, and their fraction, of the first sample; of a receiver, about now.
    inverted : bool
        True if the band is inverted, as in pfb_channelizer.
    files : list of str
        All that are read, so that none of them is written over.
    warnings : list of str
        For the user.
    live : bool
        A receiver, which does not wait, and has no end.
    endless : bool
        It has no end of its own, or none that is known, and is read until it ends, or is ended.
    ports : int
        Ports of the source: 1 has all inputs interleaved, more have one input each.
    sync_time : Fraction or None
        Seconds since 1970 at timestamp 0, of what has timestamps.
    unused : float
        The fraction of what the files hold that is damaged, or contradicts the rest, and is not
        read, as far as it is known before they are read; warnings say what it is.
    part : callable or None
        part(first, count): the Signals of some of the inputs, where the others need not be read.
    source_from : callable or None
        source_from(n, first) makes the block as source(n) does, from a sample of each input on,
        whose times stay what they are; None: it is read from its beginning only.
    channels : int
        Above 0: the source sends voltages [input][channel] of so many channels, which others have
        made of samples; a spectrum stands for as many samples as it has channels, at
        `sample_rate`. source(n, type) makes it for the spectra of n samples, of voltages of a
        type, sc8 or fc32, and source_from(n, first, type) from whole spectra on.
    channel_width : float
        Hz, from a channel to the next; less than spectra come a second where they are oversampled.
    """

    description: object
    sample_type: str
    sample_rate: float
    center_frequency: float
    samples: int | None
    source: Callable
    start_time: tuple
    inverted: bool = False
    files: list = field(default_factory=list)
    warnings: list = field(default_factory=list)
    live: bool = False
    ports: int = 1
    endless: bool = False
    sync_time: object = None
    unused: float = 0.0
    part: Callable | None = None
    source_from: Callable | None = None
    channels: int = 0
    channel_width: float = 0.0

    def time_of(self, sample):
        """The time of a sample, a Fraction of seconds since 1970."""
        return utc_after(exact_seconds(self.start_time), Fraction(sample) / exact(self.sample_rate))

    def after(self, first):
        """The Signals from a sample of each input on, for what has `source_from` and a length."""
        part = self.part
        return replace(
            self,
            samples=self.samples - first,
            source=lambda count, *more: self.source_from(count, first, *more),
            source_from=lambda count, later, *more: self.source_from(count, first + later, *more),
            start_time=whole_and_fraction(self.time_of(first)),
            part=None if part is None else lambda *inputs: part(*inputs).after(first),
        )

    def before(self, count):
        """Samples that the source sends for so many of these: as many, unless a block behind it
        makes them."""
        return count

    @property
    def real(self):
        return self.sample_type in REAL_TYPES

    @property
    def bandwidth(self):
        """Hz, of the band of an input."""
        if self.channels:
            return self.channels * self.channel_width
        return self.sample_rate / (2 if self.real else 1)

    @property
    def inputs(self):
        return len(self.description.inputs)

#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Sizes of an instrument: channels, spectra in a frame, and in the integrations of visibilities and
of powers."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from ..parameters.errors import ParameterError
from ..plan.beam_sections import DEFAULT_INTEGRATION as DEFAULT_POWER_INTEGRATION
from ..plan.signal_sections import DEFAULT_INTEGRATION
from .frames import TOLERANCE, Frames, Wanted, choose_frames

MIN_FRAME = 1_000_000  # bytes: below, the cost of a call shows
SHORT_FRAME = 2e-3  # s: the calls for frames that last longer cost a hundredth of it
FEW_SPECTRA = 100  # a short input is cut into fewer channels rather than fewer spectra:
#                            100 average the noise of a spectrum down to 10 %
DEFAULT_CHANNELS = 1024


@dataclass(frozen=True)
class Sizes:
    """
    The parameters that the blocks of an instrument share.

    channels, taps: the F-engine's; length: samples of an input in a tap; hop: those from spectrum
    to spectrum, fewer where the channels are oversampled; sample_rate: Hz; spectra: that the input
    gives, None if it is endless; spectra_per_frame; visibilities: spectra in an integration of
    visibilities, a multiple of those in a frame, None where nothing correlates; averaged:
    integrations of the X-engine that one of visibilities is averaged of; powers: spectra in
    an integration of powers, a divisor of those in a frame or a multiple, None where there are no
    beams; notes: what differs from what was asked, or was chosen, as sentences for the user;
    recorded: the input has the channels; spacing: Hz, of those.

    Where channels are split further, `channels`, `hop` and spectra are of the result, and the others
    of the filter bank before. fine: channels that each channel becomes, 1: none is split;
    fine_points: spectra of that filter bank from one to the next; fine_taps: of the second one.
    """

    channels: int
    taps: int
    length: int
    hop: int
    sample_rate: float
    spectra: int | None
    spectra_per_frame: int
    visibilities: int | None = None
    powers: int | None = None
    notes: tuple = ()
    recorded: bool = False
    spacing: float = 0.0
    fine: int = 1
    fine_points: int = 1
    fine_taps: int = 1
    averaged: int = 1

    def made_by(self, window):
        """Returns who has made the channels, in words; window: of the filter bank."""
        split = f", each channel split into {self.fine}, {self.fine_taps} taps" * (self.fine > 1)
        if self.recorded:
            return f"as recorded{split}"
        oversampled = f", oversampled by {Fraction(self.length, self.coarse_hop)}" * (
            self.length != self.coarse_hop
        )
        return f"{self.taps} taps, {window}{oversampled}{split}"

    @property
    def coarse_hop(self):
        """Samples from one spectrum to the next before channels are split."""
        return self.hop // self.fine_points

    @property
    def window(self):
        """Samples under the filters of a spectrum."""
        return self.taps * self.length + (self.fine_taps * self.fine_points - 1) * self.coarse_hop

    @property
    def coarse(self):
        """The Sizes of the channels before they are split, of which frames and integrations are
        none."""
        if self.fine == 1:
            return self
        found = replace(
            self,
            channels=self.channels // self.fine,
            hop=self.coarse_hop,
            fine=1,
            fine_points=1,
            fine_taps=1,
        )
        samples = self.samples
        return replace(found, spectra=None if samples is None else found.spectra_of(samples))

    @property
    def shift(self):
        """Hz, of channel channels/2 above that of the channels before they are split."""
        before = self.channels // self.fine // 2 * self.fine + self.fine // 2
        return (self.channels // 2 - before) * self.width

    def items_of(self, field, seconds):
        """Integrations of the X-engine in an average of so many seconds, which a field asks for;
        ParameterError: it cannot be had."""
        item = self.visibilities // self.averaged
        wanted = Wanted(field, seconds, None, (self.sample_rate, self.hop), None)
        return whole_frames(item, wanted) // item

    def frames_of(self, field, seconds):
        """Frames in an integration of so many seconds, which a field asks for; ParameterError:
        it cannot be had."""
        rate = self.sample_rate, self.hop
        wanted = Wanted(field, seconds, None, rate, self.spectra)
        return whole_frames(self.spectra_per_frame, wanted) // self.spectra_per_frame

    def span(self, spectra):
        """Samples of each input that give so many spectra."""
        return span_of(spectra, self.hop, self.window)

    def spectra_of(self, samples):
        """Spectra that so many samples of each input give."""
        return spectra_of(samples, self.hop, self.window)

    @property
    def samples(self):
        """Samples of each input that give all spectra; None if endless."""
        return None if self.spectra is None else self.span(self.spectra)

    @property
    def first_middle(self):
        """Seconds from the first sample to the middle of those of the first spectrum."""
        return (self.window - 1) / 2 / self.sample_rate

    @property
    def width(self):
        """Spacing of the channels in Hz."""
        return (self.spacing or self.sample_rate / self.length) / self.fine

    def seconds(self, spectra):
        """Length of so many spectra in seconds."""
        return spectra * self.hop / self.sample_rate

    @property
    def frames(self):
        """Frames in an integration of visibilities."""
        return self.visibilities // self.spectra_per_frame

    @property
    def engine_frames(self):
        """Frames in an integration of the X-engine."""
        return self.frames // self.averaged

    @property
    def integration(self):
        """Length of an integration of visibilities in seconds."""
        return self.seconds(self.visibilities)

    @property
    def power_integration(self):
        """Length of an integration of powers in seconds."""
        return self.seconds(self.powers)

    @property
    def frame_length(self):
        """Length of a frame in seconds."""
        return self.seconds(self.spectra_per_frame)


def span_of(spectra, hop, window):
    """Samples that so many spectra take; window: of one, hop: from one to the next."""
    return (spectra - 1) * hop + window


def spectra_of(samples, hop, window):
    """Spectra of so many samples: the first needs all its samples. The inverse of span_of()."""
    return max(0, (samples - window) // hop + 1)


def ratio_of(oversampling):
    """The Fraction of a text, P/Q. Raises ParameterError where it is none, or below 1."""
    try:
        ratio = Fraction(oversampling.replace(" ", ""))
    except (ValueError, ZeroDivisionError):
        ratio = Fraction(0)
    if ratio < 1:
        raise ParameterError(
            "engines.oversampling",
            f"{oversampling!r} is not allowed: it must be a ratio P/Q of whole numbers, at least 1",
        )
    return ratio


def hop_of(oversampling, channels, length):
    """
    Samples from one spectrum to the next, length Q/P.

    oversampling : a text, P/Q
    length : points of the transform of so many channels

    Raises ParameterError where they are no whole number.
    """
    ratio = ratio_of(oversampling)
    hop = length / ratio
    if hop.denominator != 1:
        raise ParameterError(
            "engines.oversampling",
            f"{ratio} of {channels} channels would make a spectrum every {float(hop):g} samples: "
            "it must be a whole number",
        )
    return int(hop)


def choose_channels(samples, real, taps):
    """1024, or the largest power of two that still gives FEW_SPECTRA of an input this short."""
    channels = DEFAULT_CHANNELS
    while (
        samples is not None
        and channels > 4
        and samples // (channels * (2 if real else 1)) - taps + 1 < FEW_SPECTRA
    ):
        channels //= 2
    return channels


def points_of(fine, ratio):
    """
    Points of the filter bank that splits a channel.

    fine : int
        Channels that each becomes.
    ratio : Fraction
        Of the rate of the channels to their spacing.

    Raises ParameterError where they are no whole number.
    """
    points = fine * ratio
    if points.denominator != 1:
        raise ParameterError(
            "engines.upchannelise",
            f"{fine} fine channels of each channel that is oversampled by {ratio} cannot be cut out of "
            f"{float(points):g}: it must be a multiple of {ratio.denominator}",
        )
    return int(points)


def cut_input(sample_rate, real, taps, samples, duration, channels, oversampling, split):
    """Channels, length, hop and spectra of an input as choose_sizes() has them, and notes for the
    user."""
    fine, points, fine_taps = split
    notes = []
    if channels is None:
        length = samples if duration is None else round(duration * sample_rate)
        channels = choose_channels(length and length // fine, real, taps)
        if channels != DEFAULT_CHANNELS:
            notes.append(f"{channels} channels, because the input is short (--channels)")
    length = channels * (2 if real else 1)
    coarse_hop = hop_of(oversampling, channels, length)
    hop, spectra = points * coarse_hop, None
    if samples is not None:
        window = taps * length + (fine_taps * points - 1) * coarse_hop
        spectra = spectra_of(samples, hop, window)
        if spectra == 0:
            takes = f"{taps} taps x {length} = {taps * length}: --channels or --taps must be less"
            if fine > 1:
                takes = f"{window}: --channels, --upchannelise or --fine-taps must be less"
            raise ValueError(
                f"the input has {samples} samples, one spectrum of {fine * channels} channels "
                f"takes {takes}"
            )
    elif duration is not None:
        spectra = max(1, round(duration * sample_rate / hop))
    return channels, length, hop, spectra, notes


def most_spectra(weights_hold, spectrum_length, cheap):
    """
    Spectra in a frame at most, within which weights do not change: a quarter of the seconds for
    which these hold, unless calls for frames that short cost too much. None: any number.
    """
    if math.isinf(weights_hold):
        return None
    return max(cheap, int(weights_hold / 4 / spectrum_length))


def choose_sizes(
    *,
    inputs,
    sample_rate,
    real,
    taps,
    bytes_per_value,
    samples=None,
    duration=None,
    channels=None,
    oversampling="1",
    spectra_per_frame=None,
    correlates=True,
    integration=None,
    firm=True,
    detects=False,
    power_integration=None,
    multiple=1,
    weights_hold=math.inf,
    shorter=(),
    split=(1, 1, 1),
    averaging=None,
):
    """
    Chooses what was not given, and rounds what was.

    Parameters
    ----------
    inputs : int
    sample_rate : float
        Hz.
    real : bool
        Samples are real, which takes two for each channel.
    taps : int
    bytes_per_value : int
        Of a voltage in a frame, 2 for sc8 and 8 for fc32.
    samples : int
        Of each input, of a recording; None: see duration.
    duration : float
        Seconds of a simulation, which is given the samples more that its last spectra need
        and, where it is a multiple of the integration, whole integrations; None, too: endless.
    channels, spectra_per_frame : int
        As asked; None: to be chosen.
    oversampling : str
        Ratio P/Q of the rate of spectra to the spacing of channels.
    correlates, detects : bool
        Whether there are visibilities, and powers of beams.
    integration, power_integration : float
        Their seconds, as asked, which are kept within 1 %; None: to be chosen.
    firm : bool
        False where nobody sees how long integrations of visibilities are.
    multiple : int
        Factor of the spectra in a frame.
    weights_hold : float
        Seconds, of which a frame lasts a quarter at most if that can be.
    shorter : list of (str, float)
        Integrations of products, fields and seconds: frames fit the shortest, and others are
        multiples of them.
    split : tuple of int
        Channels that each channel is split into, points of the transform for that, and its taps.
    averaging : callable
        averaging(seconds, step, multiple) gives a field, the number of the integrations of the
        X-engine of which one of visibilities, of so many seconds, is averaged, and the seconds of
        one, with `step` seconds from a spectrum to the next; None: it is one.

    Returns
    -------
    Sizes

    Raises
    ------
    ValueError
        The input is too short for one spectrum.
    ParameterError
        An integration that was asked for cannot be had.
    """
    channels, length, hop, spectra, notes = cut_input(
        sample_rate, real, taps, samples, duration, channels, oversampling, split
    )
    channels *= split[0]
    step, rate = hop / sample_rate, (sample_rate, hop)
    size = inputs * channels * bytes_per_value
    visibilities = powers = None
    if correlates:
        visibilities = Wanted(
            "engines.integration", integration, DEFAULT_INTEGRATION, rate, spectra, firm
        )
    if detects:
        powers = Wanted(
            "beams.integration", power_integration, DEFAULT_POWER_INTEGRATION, rate, spectra
        )
    cheap = -(-MIN_FRAME // size)
    if not math.isinf(weights_hold):
        cheap = min(cheap, math.ceil(SHORT_FRAME / step))
    frames = Frames(
        size, cheap, multiple, most_spectra(weights_hold, step, cheap), spectra_per_frame
    )
    shorter, averaged = list(shorter), 1
    if visibilities is not None and averaging is not None:
        field, averaged, item = averaging(visibilities.seconds, step, multiple)
        first = min(shorter, key=lambda each: each[1], default=None)
        if averaged > 1 and first is not None and first[1] < item:
            # integrations of the X-engine are multiples of the frames that fit a fast product
            fast = Wanted(*first, None, rate, spectra)
            fits, refused = frames.shorter(*choose_frames(frames, fast, powers, spectra)), None
            for fit in fits:
                try:
                    field, averaged, item = averaging(visibilities.seconds, step, fit)
                    break
                except ParameterError as error:
                    refused = refused or error
            else:
                raise refused
        if averaged > 1:
            shorter.append((field, item))
    least = min(shorter, key=lambda each: each[1], default=None)
    if visibilities is None or least is None or least[1] >= visibilities.seconds:
        least = None
    shortest = visibilities if least is None else Wanted(*least, None, rate, spectra)
    times, whole, part = choose_frames(frames, shortest, powers, spectra)
    if least is not None:
        others = [visibilities, *(Wanted(*each, None, rate, spectra) for each in shorter)]
        fits = [
            fit
            for fit in frames.shorter(times, whole, part)
            if not any(each.refused(nearest(fit, each)) for each in others)
        ]
        times = fits[0] if fits else times
        whole = whole_frames(times, visibilities)
        if averaged > 1:
            whole = averaged * whole_frames(times, Wanted(field, item, None, rate, spectra))
    if duration is not None:
        spectra = whole_integrations(spectra, duration, visibilities, whole, part)
    sizes = Sizes(channels, taps, length, hop, sample_rate, spectra, times, whole, part)
    sizes = replace(
        sizes, fine=split[0], fine_points=split[1], fine_taps=split[2], averaged=averaged
    )
    if correlates and abs(sizes.integration - visibilities.seconds) > 1e-9 * visibilities.seconds:
        reason = (
            "the input is shorter"
            if spectra is not None and visibilities.seconds / step > spectra + 0.5
            else f"rounded to {sizes.frames} frame{'s'[: sizes.frames > 1]} of {times} spectra"
        )
        notes.append(
            f"integrations of {sizes.integration:.9g} s instead of {visibilities.seconds:.9g} s: "
            + reason
        )
    asked = DEFAULT_POWER_INTEGRATION if power_integration is None else power_integration
    if detects and abs(sizes.power_integration - asked) > 1e-9 * asked:
        notes.append(
            f"integrations {'of powers ' * correlates}of {sizes.power_integration:.6g} s instead "
            f"of {asked:.6g} s: {part} spectra"
        )
    return replace(sizes, notes=tuple(notes))


def nearest(times, wanted):
    """Spectra of the whole number of frames, of so many spectra each, that is nearest to a
    Wanted."""
    return max(1, round(wanted.spectra / times)) * times


def whole_frames(times, wanted):
    """The same as nearest() gives; ParameterError where it is not near."""
    found = nearest(times, wanted)
    if wanted.refused(found):
        raise ParameterError(
            wanted.field,
            f"cannot be had within {100 * TOLERANCE:g} % beside a shorter one, of frames of "
            f"{times} spectra: {wanted.length(found):.9g} s can",
        )
    return int(found)


def whole_integrations(spectra, duration, visibilities, whole, part):
    """Spectra of a simulation, so that its last integration is not partial: of powers, or, where
    the duration is so many of them, and not even half of one is left, of visibilities."""
    if visibilities is None:
        return max(1, round(spectra / part)) * part
    wanted = round(duration / visibilities.seconds)
    if wanted and abs(wanted * visibilities.seconds - duration) < 1e-6 * duration:
        return round(spectra / whole) * whole or spectra
    return spectra

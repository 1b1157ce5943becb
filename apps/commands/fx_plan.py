#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Sizes for an FX correlator: channels, spectra in a frame and frames in an integration."""

import math
from dataclasses import dataclass

MIN_FRAME = 1_000_000  # bytes: below, the cost of a call shows
MAX_FRAME = 128_000_000  # bytes: above, rings of four frames become too large
BEST_FRAME = 8 << 20
FRAME_MULTIPLE = 2 << 20  # granularity of device memory
FEW_SPECTRA = 100  # a short input is cut into fewer channels rather than fewer spectra:
#                            100 average the noise of a spectrum down to 10 %
DEFAULT_CHANNELS = 1024
DEFAULT_INTEGRATION = 1.0  # s


@dataclass(frozen=True)
class Plan:
    """The parameters of the correlator's blocks.

    channels, taps: the F-engine's; hop: samples of an input from spectrum to spectrum;
    sample_rate: Hz; spectra: that the input gives, None if it is endless;
    spectra_per_frame: spectra in a frame; frames: those in an integration; notes: what differs
    from what was asked, or was chosen, as sentences for the user.
    """

    channels: int
    taps: int
    hop: int
    sample_rate: float
    spectra: int
    spectra_per_frame: int
    frames: int
    notes: tuple

    @property
    def samples(self):
        """Samples of each input that give all spectra; None if endless."""
        return None if self.spectra is None else (self.spectra + self.taps - 1) * self.hop

    @property
    def integration(self):
        """Length of an integration in seconds."""
        return self.spectra_per_frame * self.frames * self.hop / self.sample_rate


def spectra_of(samples, hop, taps):
    """floor(samples/hop) - taps + 1, but at least 0: the first needs all its samples."""
    return max(0, samples // hop - taps + 1)


def choose_channels(samples, real, taps):
    """1024, or the largest power of two that still gives FEW_SPECTRA of an input this short."""
    channels = DEFAULT_CHANNELS
    while (
        samples is not None
        and channels > 4
        and spectra_of(samples, channels * (2 if real else 1), taps) < FEW_SPECTRA
    ):
        channels //= 2
    return channels


def round_to(number, multiple):
    """The nearest multiple that is not 0."""
    return max(multiple, multiple * round(number / multiple))


def choose_times(spectra, spectrum_bytes, multiple=1, most_spectra=None):
    """Cuts an integration into frames: spectra in a frame, and frames.

    spectra: wanted in an integration; spectrum_bytes: of all inputs and channels. An
    integration of up to 8 MiB is one frame. In a longer one the frames have 1 to 128 MB, where
    a single spectrum is not larger, and together exactly the wanted length, where it has such
    a divisor, else the nearest to it that frames near 8 MiB give. The spectra in a frame are a
    multiple of `multiple`, and `most_spectra` at most, where they are not that multiple itself.
    """
    most = max(1, MAX_FRAME // spectrum_bytes)
    best_size = BEST_FRAME
    if most_spectra is not None:
        most = min(most, max(most_spectra, multiple))
        best_size = min(BEST_FRAME, most * spectrum_bytes)
    if spectra * spectrum_bytes <= best_size:
        # not less than wanted, or the end of a short input would be an integration of its own
        return -(-spectra // multiple) * multiple, 1
    least = min(most, max(1, -(-MIN_FRAME // spectrum_bytes)))
    best = spectra * spectrum_bytes / best_size
    fewest = -(-spectra // most)
    largest = max(fewest, spectra // least)
    # An eighth to eight times the best size; the last limit bounds the search.
    first = min(max(fewest, int(best / 8)), largest)
    last = max(first, min(largest, math.ceil(best * 8), first + 20000))

    def badness(frames):
        times = round_to(spectra / frames, multiple)
        size = times * spectrum_bytes
        return (
            times > max(most, multiple),
            abs(times * frames - spectra),
            size % FRAME_MULTIPLE != 0,
            times % 32 != 0,
            abs(math.log2(size / best_size)),
        )

    frames = min(range(first, last + 1), key=badness)
    return round_to(spectra / frames, multiple), frames


def cut_input(sample_rate, real, taps, samples, duration, channels):
    """Channels, hop and spectra of an input as make_plan() has them, and notes for the user."""
    notes = []
    if channels is None:
        length = samples if duration is None else round(duration * sample_rate)
        channels = choose_channels(length, real, taps)
        if channels != DEFAULT_CHANNELS:
            notes.append(f"{channels} channels, because the input is short (--channels)")
    hop = channels * (2 if real else 1)
    spectra = None
    if samples is not None:
        spectra = spectra_of(samples, hop, taps)
        if spectra == 0:
            raise ValueError(
                f"the input has {samples} samples, one spectrum of {channels} channels takes "
                f"{taps} taps x {hop} = {taps * hop}: --channels or --taps must be less"
            )
    elif duration is not None:
        spectra = max(1, round(duration * sample_rate / hop))
    return channels, hop, spectra, notes


def make_plan(
    *,
    inputs,
    sample_rate,
    real,
    taps,
    bytes_per_value,
    samples=None,
    duration=None,
    channels=None,
    spectra_per_frame=None,
    integration=None,
    multiple=1,
):
    """Chooses what was not given, and rounds what was.

    inputs; sample_rate in Hz; real: samples are real, which takes two for each channel;
    bytes_per_value: of a voltage in a frame, 2 for sc8 and 8 for fc32;
    samples: of each input, of a recording, or `duration` in seconds, of a simulation, which
    is given the (taps - 1) hops more that its last spectra need and, where `duration` is a
    multiple of the integration, whole integrations; or None of both: endless;
    channels, spectra_per_frame, integration (seconds): as asked, None: to be chosen;
    multiple: that spectra in a frame have to be of, where they are chosen.
    Raises ValueError where the input is too short for one spectrum.
    """
    channels, hop, spectra, notes = cut_input(sample_rate, real, taps, samples, duration, channels)
    asked = DEFAULT_INTEGRATION if integration is None else integration
    wanted = max(1, round(asked * sample_rate / hop))
    if spectra is not None and wanted > spectra:
        wanted = spectra
        if integration is None:
            asked = spectra * hop / sample_rate
    if spectra_per_frame is None:
        times, frames = choose_times(wanted, inputs * channels * bytes_per_value, multiple)
    else:
        times, frames = spectra_per_frame, max(1, round(wanted / spectra_per_frame))
    if duration is not None:
        # A duration in whole integrations becomes as many of those that come as there is time for,
        # unless not even half of one is.
        whole = round(duration / asked)
        if whole and abs(whole * asked - duration) < 1e-6 * duration:
            spectra = round(spectra / (times * frames)) * times * frames or spectra
    plan = Plan(channels, taps, hop, sample_rate, spectra, times, frames, ())
    if abs(plan.integration - asked) > 1e-9 * asked:
        reason = (
            "the input is shorter"
            if spectra is not None and asked * sample_rate / hop > spectra + 0.5
            else f"rounded to {frames} frame{'s'[: frames > 1]} of {times} spectra"
        )
        notes.append(f"integrations of {plan.integration:.9g} s instead of {asked:.9g} s: {reason}")
    return Plan(channels, taps, hop, sample_rate, spectra, times, frames, tuple(notes))

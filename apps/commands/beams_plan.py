#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Sizes for a beamformer: channels, spectra in a frame and in an integration of powers."""

import math
from dataclasses import dataclass

from .fx_plan import BEST_FRAME, MIN_FRAME, Plan, choose_times, cut_input

DEFAULT_INTEGRATION = 1e-3  # s
SHORT_FRAME = 2e-3  # s: the calls for frames that last longer cost a hundredth of it


@dataclass(frozen=True)
class BeamsPlan(Plan):
    """A Plan whose integrations are parts of a frame, or whole frames.

    integrated: spectra in an integration, a divisor of `spectra_per_frame` or a multiple of it;
    frames: in an integration, 1 if it is shorter than a frame.
    """

    integrated: int = 1

    @property
    def integration(self):
        """Length of an integration in seconds."""
        return self.integrated * self.hop / self.sample_rate

    @property
    def frame_length(self):
        """Length of a frame in seconds."""
        return self.spectra_per_frame * self.hop / self.sample_rate


def most_spectra(weights_hold, spectrum_length, spectrum_bytes):
    """
    Spectra in a frame at most, within which weights do not change: a quarter of the seconds for
    which these hold, unless calls for frames that short cost too much. None: any number.
    """
    if math.isinf(weights_hold):
        return None
    cheap = min(math.ceil(SHORT_FRAME / spectrum_length), math.ceil(MIN_FRAME / spectrum_bytes))
    return max(1, cheap, int(weights_hold / 4 / spectrum_length))


def cut_frames(integrated, spectrum_bytes, spectra=None, multiple=1, most=None):
    """
    Spectra in an integration and in a frame, so that one divides the other.

    Parameters
    ----------
    integrated : int
        Spectra in an integration, as wanted.
    spectrum_bytes : int
        Bytes of a spectrum of all inputs and channels.
    spectra : int
        Spectra of the whole input: a frame is not longer than the integrations that these make.
        None: endless.
    multiple : int
        Factor of the spectra in a frame.
    most : int
        Spectra in a frame, where `multiple` is not more. None: any number.

    Returns
    -------
    integrated, times, frames : int
        Spectra that are added, integrations, frames: where there is more than one frame, an
        integration is rounded to whole ones.
    """
    best = BEST_FRAME if most is None else min(BEST_FRAME, max(most, multiple) * spectrum_bytes)
    step = multiple // math.gcd(multiple, integrated)  # integrations that make a legal frame
    if integrated * spectrum_bytes > best or (
        most is not None and step * integrated > max(most, multiple)
    ):
        times, frames = choose_times(integrated, spectrum_bytes, multiple, most)
        return times * frames, times, frames
    count = max(1, best // (integrated * spectrum_bytes))
    if spectra is not None:
        count = min(count, -(-spectra // integrated))
    count = max(step, count // step * step)
    return integrated, count * integrated, 1


def make_beams_plan(
    *,
    inputs,
    sample_rate,
    real,
    taps,
    bytes_per_value,
    samples=None,
    duration=None,
    channels=None,
    integration=None,
    multiple=1,
    weights_hold=math.inf,
):
    """
    Chooses what was not given, and rounds what was; arguments as in fx_plan.make_plan().

    weights_hold: seconds, of which a frame lasts a quarter at most if that can be; see
    most_spectra().

    The integration is rounded to whole spectra, and to whole frames where it is longer than one.
    """
    channels, hop, spectra, notes = cut_input(sample_rate, real, taps, samples, duration, channels)
    asked = DEFAULT_INTEGRATION if integration is None else integration
    wanted = max(1, round(asked * sample_rate / hop))
    if spectra is not None and wanted > spectra:
        wanted = spectra
    size = inputs * channels * bytes_per_value
    integrated, times, frames = cut_frames(
        wanted, size, spectra, multiple, most_spectra(weights_hold, hop / sample_rate, size)
    )
    if duration is not None:
        # whole integrations, so that the last is not partial
        spectra = max(1, round(spectra / integrated)) * integrated
    plan = BeamsPlan(channels, taps, hop, sample_rate, spectra, times, frames, (), integrated)
    if abs(plan.integration - asked) > 1e-9 * asked:
        notes.append(
            f"integrations of {plan.integration:.6g} s instead of {asked:.6g} s: "
            f"{integrated} spectra"
        )
    return BeamsPlan(
        channels, taps, hop, sample_rate, spectra, times, frames, tuple(notes), integrated
    )

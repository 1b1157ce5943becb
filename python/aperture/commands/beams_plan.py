#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Sizes for a beamformer: channels, spectra in a block and in an integration of powers."""

import math
from dataclasses import dataclass

from .fx_plan import BEST_BLOCK, Plan, choose_times, cut_input

DEFAULT_INTEGRATION = 1e-3  # s


@dataclass(frozen=True)
class BeamsPlan(Plan):
    """A Plan whose integrations are parts of a block, or whole blocks.

    integrated: spectra in an integration, a divisor of `times` or a multiple of it; blocks: in an
    integration, 1 if it is shorter than a block.
    """
    integrated: int = 1

    @property
    def integration(self):
        """Length of an integration in seconds."""
        return self.integrated * self.hop / self.sample_rate


def cut_blocks(integrated, spectrum_bytes, spectra=None, multiple=1):
    """
    Spectra in an integration and in a block, so that one divides the other.

    Parameters
    ----------
    integrated : int
        Spectra in an integration, as wanted.
    spectrum_bytes : int
        Of all inputs and channels.
    spectra : int
        Of the whole input: a block is not longer than the integrations that these make. None:
        endless.
    multiple : int
        That spectra in a block have to be of.

    Returns
    -------
    integrated, times, blocks : int
        Of more than one block, an integration is rounded to whole ones.
    """
    if integrated * spectrum_bytes > BEST_BLOCK:
        times, blocks = choose_times(integrated, spectrum_bytes, multiple)
        return times * blocks, times, blocks
    step = multiple // math.gcd(multiple, integrated)  # integrations that make a legal block
    count = max(1, BEST_BLOCK // (integrated * spectrum_bytes))
    if spectra is not None:
        count = min(count, -(-spectra // integrated))
    count = max(step, count // step * step)
    return integrated, count * integrated, 1


def make_beams_plan(*, inputs, sample_rate, real, taps, bytes_per_value, samples=None,
                    duration=None, channels=None, integration=None, multiple=1):
    """
    Chooses what was not given, and rounds what was; arguments as in fx_plan.make_plan().

    The integration is rounded to whole spectra, and to whole blocks where it is longer than one.
    """
    channels, hop, spectra, notes = cut_input(sample_rate, real, taps, samples, duration, channels)
    asked = DEFAULT_INTEGRATION if integration is None else integration
    wanted = max(1, round(asked * sample_rate / hop))
    if spectra is not None and wanted > spectra:
        wanted = spectra
    integrated, times, blocks = cut_blocks(wanted, inputs * channels * bytes_per_value, spectra,
                                           multiple)
    if duration is not None:
        # whole integrations, so that the last is not partial
        spectra = max(1, round(spectra / integrated)) * integrated
    plan = BeamsPlan(channels, taps, hop, sample_rate, spectra, times, blocks, (), integrated)
    if abs(plan.integration - asked) > 1e-9 * asked:
        notes.append(f"integrations of {plan.integration:.6g} s instead of {asked:.6g} s: "
                     f"{integrated} spectra")
    return BeamsPlan(channels, taps, hop, sample_rate, spectra, times, blocks, tuple(notes),
                     integrated)

#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Dispersed pulses and pulsars: delays, trials, candidates, folding."""

from .dispersion import DISPERSION_CONSTANT, channel_frequencies, delay, rounded_delays
from .trials import TrialLayout, TrialPlan, parse_range, plan_trials

#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Spectra of one dish: kelvin, velocities, the galaxy's hydrogen, and files."""

#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Calibrations, which make the inputs of an array equal: their file, measurement and use."""

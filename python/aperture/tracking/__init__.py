#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Tracking on the sky: directions, their delays, and phase centres of visibilities."""

#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Coherences, lags and fringes of visibilities, computed for pictures, displays and reports."""

#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""GUPPI raw: voltages of channels, in blocks of a header in the manner of FITS and samples."""

#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Visibilities in files of several formats: selected, calibrated, phased, averaged, and written."""

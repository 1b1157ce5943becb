#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Dirty images of visibilities: geometry, weights, gridding, and files of images."""

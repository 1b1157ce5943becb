#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The name by which scripts of users know decibels()."""

from .style import decibels  # noqa: F401

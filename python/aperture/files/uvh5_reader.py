#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The name by which scripts of users know formats/uvh5/reader.py."""

from ..formats.uvh5.reader import VisibilityFile  # noqa: F401

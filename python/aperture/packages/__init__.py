#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Packages from PyPI that some commands need, in one virtual environment of their own."""

#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""What makes the inputs of an array equal: its file, how it is measured, and how it is used."""

#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Where an array is: its description, its geometry, and how the Earth turns under the sky."""

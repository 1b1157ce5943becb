#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Arrays: their description, their geometry, and how the Earth rotates under the sky."""

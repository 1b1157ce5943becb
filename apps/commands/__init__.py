#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The programs aperture_fx, aperture_beams, aperture_plot and aperture_doctor."""

#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The examinations of aperture_doctor, and the remedy of each of their findings."""

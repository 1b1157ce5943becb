#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""What users give, as parameters or in files they write, and what is wrong with it."""

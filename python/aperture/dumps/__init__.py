#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Dumps of voltages out of a ring, when a trigger asks for them."""

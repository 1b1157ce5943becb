#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""SPEAD by way of spead2: heaps as MeerKAT has them, and how they are sent and received."""

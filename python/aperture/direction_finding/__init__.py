#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Direction finding: where the transmitters are that an array of a few antennas hears."""

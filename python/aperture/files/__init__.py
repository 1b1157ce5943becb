#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Files of any format: their names, who writes them, and what keeps them whole while they grow."""

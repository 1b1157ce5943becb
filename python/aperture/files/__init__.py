#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Files that are read and written: UVH5, filterbank, and what keeps them whole while they grow."""

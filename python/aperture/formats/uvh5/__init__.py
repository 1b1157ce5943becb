#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""UVH5: visibilities in HDF5, by pyuvdata's memo."""

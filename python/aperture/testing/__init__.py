#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Parts of tests only: the reference model in NumPy, and how tests run flowgraphs."""

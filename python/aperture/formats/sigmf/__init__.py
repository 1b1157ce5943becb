#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""SigMF: samples of one channel, and metadata of JSON beside them."""

#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""PSRDADA: a header of text, then samples in the order of axes that it says."""

#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""SIGPROC's filterbank files (.fil): powers over time and frequency."""

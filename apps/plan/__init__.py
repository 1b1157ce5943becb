#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Plans of instruments: typed sections, of which options, YAML files, their schema and the manual's
reference are made."""

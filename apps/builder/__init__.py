#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The flowgraph of any plan: source, F-engines, and behind them what the plan says."""

#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
The server of monitoring: a process of its own, without GNU Radio.

It gets what an instrument does through a socket that it is started with, draws pictures of that,
and answers over HTTP: see docs/monitoring.md.
"""

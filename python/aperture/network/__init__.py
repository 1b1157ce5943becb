#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Addresses, sockets that listen for packets, and protocols of servers of samples."""

#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Formats of files and packets: each has a module or a package, its reader beside its writer."""

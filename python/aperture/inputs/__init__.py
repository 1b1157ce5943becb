#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Sources of samples: simulations, files of many formats, receivers.

One text names an input in commands, plans, GNU Radio Companion and Python:
`KIND:NAME[,NAME...][,key=value...]`, for example `dada:a.dada` or `sim:y8`. A kind is one module of
the package `kinds`, which is found by being there; input_format.py says what such a module has.
"""

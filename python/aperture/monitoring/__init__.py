#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Control and monitoring of an instrument that runs, from outside of its process.

`start(instrument, section)` publishes what the instrument does to a server process, which has no
GNU Radio, answers over HTTP and hands commands back. See docs/monitoring.md.

Names are loaded when they are asked for: the server's process loads this package, too, and must not
load what needs GNU Radio.
"""

import importlib

_WHERE = {
    "Publisher": "publisher",
    "start": "publisher",
    "array_section": "array_values",
    "beams_section": "beam_values",
    "Section": "section",
    "SectionError": "section",
    "ServerProcess": "server_process",
}

__all__ = list(_WHERE)


def __getattr__(name):
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("." + _WHERE[name], __name__), name)

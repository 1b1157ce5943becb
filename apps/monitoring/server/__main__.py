#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Starts the server. `python3 -m gnuradio.aperture.monitoring.server` has loaded GNU Radio on the way
here, and so begins anew without; publisher.py starts this file by its path.
"""

import importlib
import os
import pathlib
import sys
import types

#: the name here of the package gnuradio.aperture, whose __init__ is not run
PACKAGE = "aperture_without_gnuradio"


def load():
    """The module serve, of a package whose modules are those of gnuradio.aperture."""
    package = types.ModuleType(PACKAGE)
    package.__path__ = [str(pathlib.Path(__file__).resolve().parents[2])]
    sys.modules[PACKAGE] = package
    return importlib.import_module(f"{PACKAGE}.monitoring.server.serve")


if __name__ == "__main__":
    if "gnuradio" in sys.modules:
        os.execv(sys.executable, [sys.executable, "-I", os.path.abspath(__file__), *sys.argv[1:]])
    try:
        serve = load()
    except ModuleNotFoundError as error:
        sys.exit(
            f"monitoring: Python's {error.name} is missing; the server needs Debian's "
            "packages python3-aiohttp, python3-jsonschema and python3-prometheus-client"
        )
    sys.exit(serve.main())

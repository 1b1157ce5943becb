#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Modules that packages of the distribution bring."""

import importlib


class MissingPackageError(RuntimeError):
    """A package is not installed; the message has the command that installs it."""


def import_or_name_package(module, package):
    """A module, or MissingPackageError that names the package of Debian with it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingPackageError(
            f"this needs {module} ({error}): sudo apt install {package}"
        ) from None

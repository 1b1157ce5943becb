#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Files of spectra: ECSV, tables of text with units, which astropy and specutils read.

A spectrum has the columns frequency (Hz, as it was observed), velocity (km/s, LSRK), and for each
input a temperature (K) and its standard deviation; a series has a row for each integration. What
else is known is in `meta`. Written from astropy's description of the format, its APE 6.
"""

import re

import numpy as np

from ..files.checked_file import whole_file
from ..files.growing_file import check_path
from ..parameters.errors import ParameterError

ENDING = ".ecsv"
LOADS, SPECTRUM, SERIES = "aperture loads", "aperture spectrum", "aperture series"


def write_table(path, kind, columns, meta, overwrite=False):
    """
    Writes a table, whole or not at all.

    Parameters
    ----------
    path : str
    kind : str
        LOADS, SPECTRUM or SERIES.
    columns : dict of str to (array, str)
        Values of each column, of one length, and their unit ("" for none).
    meta : dict
        Numbers and texts.

    Raises
    ------
    OSError
    """
    from astropy import units
    from astropy.table import Table

    check_path(path, overwrite=overwrite)
    made = Table(meta={"kind": kind, **meta})
    for name, (values, unit) in columns.items():
        made[name] = np.asarray(values)
        made[name].unit = units.Unit(unit) if unit else None
    with whole_file(path) as part:
        made.write(part, format="ascii.ecsv", overwrite=True)


def read_table(path, kind):
    """
    The columns of a table that write_table() has written, {name: array}, and its meta.

    Raises
    ------
    OSError, ParameterError
        It is not such a file, or one of another kind.
    """
    from astropy.table import Table

    try:
        found = Table.read(path, format="ascii.ecsv")
    except OSError:
        raise
    except Exception as error:
        text = re.sub(r"\s+", " ", str(error))[:100]
        raise ParameterError(str(path), f"is not a table in ECSV: {text}") from None
    meta = dict(found.meta)
    if meta.get("kind") != kind:
        raise ParameterError(
            str(path), f"{meta.get('kind')!r} is not {kind!r}, which aperture_spectrum writes"
        )
    return {name: np.asarray(found[name]) for name in found.colnames}, meta

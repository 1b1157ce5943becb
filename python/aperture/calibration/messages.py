#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""A calibration as what F-engines take: messages for their ports `delays` and `gains`."""

import numpy as np
import pmt

from .. import tags
from ..streams.tag_values import dictionary, time_value

MODEL = "calibration"  # the name of these settings among others, which act beside them


def _message(time, **values):
    """A dictionary with the model's name; time: (whole seconds, fraction), or None."""
    if time is not None:
        values["time"] = time_value(time)
    return dictionary(
        {tags.model: MODEL, **{getattr(tags, key): value for key, value in values.items()}}
    )


def calibration_messages(calibration, names, frequencies, scale="model", time=None):
    """
    The settings that make an F-engine apply a calibration.

    Parameters
    ----------
    calibration : Calibration
    names : list of str
        Names of the F-engine's inputs.
    frequencies : array of float
        Sky frequencies of all its channels, Hz, whatever is selected of them.
    scale : str
        The scale, as in `Calibration.bandpasses`.
    time : (int, float)
        From when on they hold, seconds since 1970; None: from the next spectrum on.

    Returns
    -------
    list of (str, pmt)
        Ports and messages: one for all delays and phases, one for the gains of each input.

    Raises
    ------
    CalibrationError
        An input or a channel that the calibration does not have.
    """
    frequencies = np.asarray(frequencies, float)
    bandpasses = calibration.bandpasses(frequencies, names, scale)
    delays = calibration.delays(names)
    phases = calibration.phases(frequencies[len(frequencies) // 2], names)
    # phases are known modulo a cycle
    phases = np.angle(np.exp(1j * phases))
    found = [
        (
            "delays",
            _message(
                time,
                delay=pmt.init_f64vector(len(delays), delays.tolist()),
                phase=pmt.init_f64vector(len(phases), phases.tolist()),
            ),
        )
    ]
    for number, row in enumerate(bandpasses.astype(np.complex64)):
        found.append(
            (
                "gains",
                _message(
                    time,
                    input=pmt.from_long(number),
                    gain=pmt.init_c32vector(len(row), row.tolist()),
                ),
            )
        )
    return found


def apply_calibration(calibration, block, names, frequencies, scale="model"):
    """Sets a calibration in an F-engine, or a channeliser, that is here; arguments as above. Before
    it is started it holds from the first spectrum on."""
    for port, message in calibration_messages(calibration, names, frequencies, scale):
        block.to_basic_block()._post(pmt.intern(port), message)

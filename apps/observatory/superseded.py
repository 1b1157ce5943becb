#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Settings that were made while the instrument ran, and a new configuration that says otherwise."""

import re

#: block/port of a setting -> (section, key) of the configuration that say the same; a key of None:
#: any of the section
SAID_BY = {
    "tracker/direction": (("tracking", "direction"),),
    "pointing/direction": (("beams", "directions"),),
    "beams/weights": (("beams", "directions"), ("beams", "taper"), ("calibration", None)),
    "f_engine/gains": (("engines", "format"), ("calibration", None)),
    "f_engine/delays": (("calibration", None),),
    "xengine/integration": (("engines", "integration"),),
}


def said_by(setting, before, after):
    """
    The field of a new configuration by which a setting is void.

    Parameters
    ----------
    setting : observatory.kept_settings.KeptSetting
    before, after : dict
        Section -> key -> value, of the old configuration and the new one.

    Returns
    -------
    str
        Such as tracking.direction, which is another one than it was; None: there is none.
    """
    # blocks of several devices are f_engine0 and so on
    name = f"{re.sub(r'[0-9]+$', '', setting.block)}/{setting.port}"
    for section, key in SAID_BY.get(name, ()):
        old, new = ((one.get(section) or {}) for one in (before, after))
        for each in sorted({*old, *new} if key is None else {key}):
            if old.get(each) != new.get(each):
                return f"{section}.{each}"
    return None

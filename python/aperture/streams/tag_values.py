#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The values of tags, for the blocks that write files."""

import pmt

from .. import tags

# tags of the source that a sender copies
FROM_SOURCE = (tags.rx_time, tags.rx_freq, tags.rx_rate, tags.bandwidth)


def time_of(value):
    """Seconds since 1970 and fraction of an rx_time."""
    seconds = pmt.to_uint64(pmt.tuple_ref(value, 0))
    fraction = pmt.to_double(pmt.tuple_ref(value, 1))
    if not 0 <= fraction < 1:
        raise ValueError("fraction")
    return seconds, fraction


def missing_run(value):
    """Input, first spectrum and number of spectra of a `missing` dictionary."""
    part = lambda key: pmt.dict_ref(value, pmt.intern(key), pmt.PMT_NIL)
    return (
        pmt.to_long(part(tags.input)),
        pmt.to_uint64(part(tags.first)),
        pmt.to_uint64(part(tags.count)),
    )


def tag_value(found, key, convert, last=None, sender="X-engine", of="an integration"):
    """
    A tag's value.

    Parameters
    ----------
    found : dict
        Key to value of the tags on one item.
    key : str
    convert : callable
        A function of the value; what it raises is told as a value that is not allowed.
    last : dict
        Values of tags that need not be repeated.
    sender : str
        Whose output has this tag, for the message.
    of : str
        The name, in the message, of what has these tags.

    Raises
    ------
    ValueError
    """
    if key not in found:
        if last and key in last:
            return last[key]
        raise ValueError(f"tags: {of} has no {key}: the {sender}'s output must come here as it is")
    try:
        return convert(found[key])
    except Exception as error:
        raise ValueError(
            f"tags: {key} {pmt.write_string(found[key])} is not allowed: "
            "see gnuradio/aperture/tags.h"
        ) from error


def require(found, keys, sender, of="integration"):
    """
    Refuses a first integration (or what `of` says) that lacks any of these tags, and says who has
    to send them.

    Raises
    ------
    ValueError
    """
    missing = [key for key in keys if key not in found]
    if not missing:
        return
    text = f"tags: the first {of} has no {', '.join(missing)}"
    if any(key not in FROM_SOURCE for key in missing):
        text += f": connect the {sender}'s output as it is"
    else:
        text += f": the {sender} knows them only if the source tells them"
    raise ValueError(
        f"{text}; the source's first sample must have the tags rx_time, rx_rate and "
        "rx_freq: Receiver Tags behind each source adds them, as do Sample Rate and "
        'Center Frequency of FX Correlator (docs/tags.md, "Sources without tags")'
    )

#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The values of tags, for the blocks that write files."""

import numpy as np
import pmt

from .. import tags
from ..parameters.times import whole_and_fraction

ROUNDING = 1e-9  # part of a rate by which what a block computes may be off
# tags of the source that a sender copies
FROM_SOURCE = (tags.rx_time, tags.rx_freq, tags.rx_rate, tags.bandwidth)


def time_of(value):
    """Seconds since 1970 and fraction of an rx_time."""
    seconds = pmt.to_uint64(pmt.tuple_ref(value, 0))
    fraction = pmt.to_double(pmt.tuple_ref(value, 1))
    if not 0 <= fraction < 1:
        raise ValueError("fraction")
    return seconds, fraction


def time_value(time):
    """The value of an rx_time: of seconds since 1970, or of (whole seconds, fraction)."""
    seconds, fraction = whole_and_fraction(time)
    return pmt.make_tuple(pmt.from_uint64(seconds), pmt.from_double(fraction))


def dictionary(entries):
    """A PMT dictionary of {text: PMT, text, real number or vector of real numbers}."""
    made = pmt.make_dict()
    for key, value in entries.items():
        if isinstance(value, str):
            value = pmt.intern(value)
        elif isinstance(value, np.ndarray):
            value = pmt.init_f64vector(len(value), value.tolist())
        elif isinstance(value, float):
            value = pmt.from_double(value)
        made = pmt.dict_add(made, pmt.intern(key), value)
    return made


def dict_value(message, key):
    """The value of a key of a PMT dictionary; PMT_NIL where it has none."""
    return pmt.dict_ref(message, pmt.intern(key), pmt.PMT_NIL)


def looked_at(message):
    """The text of a message `look`: a symbol, or a dictionary or pair with one as `look`."""
    value = dict_value(message, "look") if pmt.is_dict(message) else message
    if pmt.is_pair(value):
        value = pmt.cdr(value)
    return pmt.symbol_to_string(value) if pmt.is_symbol(value) else pmt.write_string(value)


def missing_value(number, first, count):
    """The value of a `missing` tag: an input, the first spectrum and the number of spectra."""
    return dictionary(
        {
            tags.input: pmt.from_long(int(number)),
            tags.first: pmt.from_uint64(int(first)),
            tags.count: pmt.from_uint64(int(count)),
        }
    )


def missing_run(value):
    """Input, first spectrum and number of spectra of a `missing` dictionary."""
    return (
        pmt.to_long(dict_value(value, tags.input)),
        pmt.to_uint64(dict_value(value, tags.first)),
        pmt.to_uint64(dict_value(value, tags.count)),
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


def spectrum_interval(found, channels, bandwidth, last=None):
    """
    Seconds from a spectrum to the next of those that an integration is made of.

    It is what the X-engine says by `spectrum_rate`. Without that, and but for rounding with it,
    channels are critically sampled: as many spectra come a second as channels are Hz apart.

    Parameters
    ----------
    found : dict
        Key to value of the tags on the integration.
    channels : int
    bandwidth : float
        Hz, of all channels.
    last : float
        What it was before; None: not known.

    Raises
    ------
    ValueError
        The rate is none.
    """
    critical = channels / bandwidth
    if tags.spectrum_rate not in found:
        return critical if last is None else last
    rate = tag_value(found, tags.spectrum_rate, pmt.to_double)
    if not 0 < rate < np.inf:
        raise ValueError(f"tags: spectrum_rate {rate} is not allowed: finite, above 0")
    return critical if abs(rate * critical - 1) < ROUNDING else 1 / rate


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

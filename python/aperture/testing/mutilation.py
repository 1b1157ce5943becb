#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Files that are not as they should be, and what readers of recordings have to make of them.

A reader says in one line, which names the file, why it cannot be read, or reads what is good. It
never crashes, hangs, or raises what is meant for programmers.
"""

import faulthandler
import os
import re

from .played_inputs import read_all

LONGEST_WAIT = 60  # s, for one file
LONGEST_MESSAGE = 700  # characters
MOST_READ = 3000  # samples
#: texts that a header may have instead of a number
IMPOSSIBLE = (
    b"0",
    b"-1",
    b"1e300",
    b"99999999999999999999",
    b"9223372036854775807",
    b"nan",
    b"-inf",
    b"",
    b"x",
    b"0x10",
    b"1.5",
    b"[]",
    b"null",
    b'"1"',
    b"1970-01-01T00:00:00Z",
    b"9999999",
    b"4294967296",
    b"\0",
    b"\xff",
    b"1 1",
)
_NUMBER = re.compile(rb"-?\d+(\.\d+)?")


def _cut(data, head, rng):
    return data[: rng.integers(0, len(data))]


def _cut_in_header(data, head, rng):
    return data[: rng.integers(0, head + 1)]


def _zeros(data, head, rng):
    begin = int(rng.integers(0, head))
    length = int(rng.integers(1, 64))
    return data[:begin] + bytes(min(length, len(data) - begin)) + data[begin + length :]


def _noise(data, head, rng):
    begin = int(rng.integers(0, head))
    length = int(rng.integers(1, 9))
    return data[:begin] + rng.bytes(length) + data[begin + length :]


def _bit(data, head, rng):
    place = int(rng.integers(0, head))
    return data[:place] + bytes([data[place] ^ 1 << int(rng.integers(0, 8))]) + data[place + 1 :]


def _lost(data, head, rng):
    begin = int(rng.integers(0, head))
    return data[:begin] + data[begin + int(rng.integers(1, 100)) :]


def _twice(data, head, rng):
    begin = int(rng.integers(0, head))
    end = begin + int(rng.integers(1, 100))
    return data[:end] + data[begin:]


def _longer(data, head, rng):
    return data + rng.bytes(int(rng.integers(1, 50)))


def _number(data, head, rng):
    found = list(_NUMBER.finditer(data[:head]))
    if not found:
        return _noise(data, head, rng)
    chosen = found[rng.integers(0, len(found))]
    return (
        data[: chosen.start()] + IMPOSSIBLE[rng.integers(0, len(IMPOSSIBLE))] + data[chosen.end() :]
    )


def _nothing(data, head, rng):
    return bytes(int(rng.integers(0, 2)) * int(rng.integers(0, len(data))))


#: each with its share of the files
WAYS = (
    _cut,
    _cut_in_header,
    _zeros,
    _noise,
    _bit,
    _lost,
    _twice,
    _longer,
    _number,
    _number,
    _number,
    _number,
    _nothing,
)


def mutilate(data, rng, header=None):
    """
    One way to spoil a file.

    data: bytes of a good one; header: how many of them are a header (None: all), where most of what
    happens happens; rng: NumPy's generator, so that a seed gives the same files. Returns the name
    of what was done, and bytes.
    """
    way = WAYS[rng.integers(0, len(WAYS))]
    head = max(1, len(data) if header is None else header)
    return way.__name__[1:], way(data, head, rng)


def check_reader(test, open_signals, name, data, what):
    """
    Lets a reader read a file that was spoilt.

    Parameters
    ----------
    test : unittest.TestCase
    open_signals : callable
        Without arguments: opens the file, returns Signals or raises.
    name : str
        Its file, which an error has to name.
    data : bytes
        Data of the file, for a failure's message.
    what : str
        The name, in messages, of what was done to it.

    Returns
    -------
    Whether there was something to read.
    """
    shown = f"{what} of {name}: {data[:3000]!r}"
    # a reader that hangs ends the test, with a traceback
    faulthandler.dump_traceback_later(LONGEST_WAIT, exit=True)
    try:
        signals = open_signals()
        each = max(1, signals.channels)  # samples that a spectrum stands for
        samples = min(signals.samples, -(-MOST_READ // each) * each)
        out, _ = read_all(signals, samples)
    except (ValueError, RuntimeError, OSError) as error:
        text = (
            f"{error.filename}: {error.strerror}"
            if isinstance(error, OSError) and error.filename
            else str(error)
        )
        test.assertIn(os.path.basename(name), text, shown)
        test.assertNotIn("\n", text, shown)
        test.assertLess(len(text), LONGEST_MESSAGE, shown)
        return False
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {error}; {shown}") from error
    finally:
        faulthandler.cancel_dump_traceback_later()
    # samples of which a believed header speaks must be there
    test.assertEqual(len(out) * each, samples, shown)
    test.assertGreater(samples, 0, shown)
    return True

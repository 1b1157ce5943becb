#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The base of our blocks in Python: how long they live, and what an exception in them does."""

import gc
import os
import sys
import sysconfig
import traceback
from pathlib import Path

import pmt
from gnuradio import gr

from .. import references, stream_states, tags

# GNU Radio's gateway in C++ calls the Python object without holding a reference to it, so that a
# block that is made within connect(...) would be freed under its flowgraph. Blocks that were
# connected are therefore held here until the gateway belongs to the Python object alone.
_connected = references.HeldBlocks()


def keep_while_connected(block):
    """Keeps a block with a `gateway` alive, from to_basic_block() until no flowgraph holds it."""
    _connected.keep(block, block.gateway)


def let_go():
    """Forgets blocks that no flowgraph holds any more."""
    _connected.let_go()


# no function in Python: an interrupt that comes in one that the collector calls gets lost
gc.callbacks.append(references.after_collection)


def printable(text):
    """A text that can be written anywhere: what is no UTF-8 in the name of a file becomes
    \\udc.."""
    return text.encode("utf-8", "backslashreplace").decode()


def text_of(error):
    """Returns what an exception tells a user, in one line."""
    if isinstance(error, OSError) and error.strerror:
        text = ": ".join(str(part) for part in (error.filename, error.strerror) if part is not None)
    else:
        text = str(error)
        # an error that is not ours is told with its kind
        if not text or not isinstance(error, (ValueError, OSError)):
            text = f"{type(error).__name__}: {text}".rstrip(": ")
    return printable(" ".join(text.split("\n")))


def _is_users(file):
    """Returns whether a file of code is neither ours nor an installed library's."""
    libraries = [Path(__file__).parents[1], *map(sysconfig.get_path, ("stdlib", "platstdlib"))]
    return not (
        any(Path(file).is_relative_to(folder) for folder in libraries)
        or {"dist-packages", "site-packages"} & set(Path(file).parts)
    )


def text_with_place(error, debug):
    """
    Returns what an exception in a user's code tells him, in one line: its type, and where in his
    code it was. `trace` has the rest.
    """
    trace(error, debug)
    places = [
        (frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    users = [f" ({file}, line {line})" for file, line in places if _is_users(file)]
    text = f"{type(error).__name__}: {error}".rstrip(": ")
    return printable(" ".join(text.split()) + "".join(users[-1:]))


def trace(error, debug=None):
    """Prints the traceback of an exception with APERTURE_TRACEBACK=1 in the environment; otherwise
    gives it to a function that logs it for debugging."""
    printed = os.environ.get("APERTURE_TRACEBACK", "") not in ("", "0")
    if printed or debug is not None:
        text = printable("".join(traceback.format_exception(error)))
        if printed:
            print(text, end="", file=sys.stderr, flush=True)
        else:
            debug(text)


def vector_of(kind, length):
    """The type of a port in a block's signature; NumPy deprecates what GNU Radio makes of a vector
    of one."""
    return (kind, int(length)) if length > 1 else kind


class python_block(gr.sync_block):
    """
    A sync_block whose subclasses have, instead of start(), work() and stop(),

    - _start(): before the first items come, of each run
    - _work(input_items, output_items): as work()
    - _stop(): after the last ones
    - _say(error): the text for an exception, which names what the user knows; as `text_of`.

    An exception out of one of GNU Radio's own calls would end a thread and not the flowgraph, or
    the whole process. Here any exception is logged, once, and ends the flowgraph; `error()` gives
    it. An object that is made within connect(...) lives as long as the flowgraph.
    """

    def __init__(self, name, in_sig, out_sig):
        self._error = self._failure = None
        self._states = {}  # port -> stream_states
        let_go()
        gr.sync_block.__init__(self, name, in_sig, out_sig)

    def to_basic_block(self):
        keep_while_connected(self)
        return super().to_basic_block()

    def error(self):
        """Returns what ended the block before its time, or None."""
        return self._error

    def failure(self):
        """Returns the exception that ended the block before its time, or None."""
        return self._failure

    def tags_by_item(self, port, count, missing=None):
        """
        Returns the tags of the next items of a port: number of the item, from 0 -> key -> value.
        missing: a dictionary that takes the values of `missing` tags, item -> list of them, of
        which an item may have several; None: they are as the others.
        """
        first, found = self.nitems_read(port), {}
        for tag in self.get_tags_in_window(port, 0, count):
            key, item = pmt.symbol_to_string(tag.key), tag.offset - first
            if missing is not None and key == tags.missing:
                missing.setdefault(item, []).append(tag.value)
            else:
                found.setdefault(item, {})[key] = tag.value
        return found

    def runs(self, port, count):
        """
        Returns the runs of the next items of a port, in which the same states hold: see
        stream_states. All items that are consumed are to be asked for, once.
        """
        first = self.nitems_read(port)
        states = self._states.setdefault(port, stream_states())
        return states.take(self.get_tags_in_window(port, 0, count), first, first + count)

    def described(self, port, count):
        """
        Returns what holds for each of the next items of a port, a list of dictionaries of keys and
        values: states, and events of the item. As with runs(), each item is asked for once.
        """
        return [
            run.at(item) for run in self.runs(port, count) for item in range(run.first, run.end)
        ]

    def start(self):
        self._error = self._failure = None
        self._guarded(self._start)
        return True

    def work(self, input_items, output_items):
        if self._error is None:
            count = self._guarded(self._work, input_items, output_items)
            if count is not None:
                return count
        return -1

    def stop(self):
        self._guarded(self._stop)
        return True

    def _guarded(self, function, *arguments):
        """Returns what the function returns; None after an exception."""
        try:
            return function(*arguments)
        except Exception as error:
            # errors that follow from the first one are not told
            if self._error is None:
                self._error, self._failure = self._say(error), error
                self.logger.error(self._error)
                trace(error)
            return None

    def _start(self):
        pass

    def _work(self, input_items, output_items):
        raise NotImplementedError

    def _stop(self):
        pass

    def _say(self, error):
        return text_of(error)


class rate_block(python_block):
    """
    A python_block that gives fewer items than it takes, or none.

    _work(input_items, output_items) returns how many it has made, and calls consume_each() with how
    many it has read.
    """

    def __init__(self, name, in_sig, out_sig):
        python_block.__init__(self, name, in_sig, out_sig)
        self._block_type = gr.GW_BLOCK_GENERAL

    def forecast(self, noutput_items, ninputs):
        """GNU Radio's: one item is enough for a call."""
        return [1] * ninputs

    def general_work(self, input_items, output_items):
        """GNU Radio's name for work() where what is consumed is not what is produced."""
        return python_block.work(self, input_items, output_items)

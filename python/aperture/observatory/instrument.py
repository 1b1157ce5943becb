#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""A running instrument, as what watches and controls it sees it."""

import threading
import time

import pmt

from ..parameters.rules import NAME_RULE, is_name, refuse
from .kept_settings import KeptSetting, KeptSettings


class Instrument:
    """
    A flowgraph that runs, its blocks by name, and who is told of what happens to it.

    An instrument outlives its flowgraph: where a receiver fails and the flowgraph is made anew,
    `top` and `blocks` are those of the new one from then on. Whoever connects something to the
    blocks does so in a function that is given to `before_start()`, which is called each time
    when the blocks are made and connected, and the flowgraph is not yet started.

    Attributes
    ----------
    name : str
        Name of the instrument.
    top : gr.top_block
        None before the first start.
    blocks : dict
        Name ([A-Za-z0-9_-]{1,64}) -> GNU Radio block.
    state : str
        made, starting, running, restarting, stopping or stopped.
    restarts : int
        How many times the flowgraph was made anew.
    kept : KeptSettings
        Settings that were made while it ran; the next flowgraph gets them, too.
    """

    def __init__(self, name="instrument", configuration=None, version=""):
        self.name = name
        self.top, self.blocks = None, {}
        self.state, self.restarts = "made", 0
        self._configuration, self._version = configuration or {}, version
        self._about = {}
        self._start_hooks, self._publish_hooks = [], []
        self._lock = threading.Lock()
        self.kept, self._set_one = KeptSettings(), None
        #: plain values of what is recorded, which monitoring publishes with its figures
        self.figures = {}
        #: hooks that raised an exception; they are not called again
        self.failed_hooks = []

    def replace(self, top, blocks, about=None):
        """
        Takes the place of the flowgraph by another one, which is connected and not yet started.

        Parameters
        ----------
        top : gr.top_block
        blocks : dict
            Name -> block.
        about : dict
            Sections of plain values that describe() gives, too: array, engines, outputs.

        Raises
        ------
        ValueError
            A name of a block is not allowed.
        """
        for name in blocks:
            if not is_name(name):
                refuse("blocks", name, f"names of {NAME_RULE}")
        with self._lock:
            self.top, self.blocks, self._about = top, dict(blocks), dict(about or {})
        for hook in list(self._start_hooks):
            hook(self)

    def release(self):
        """
        Lets go of a flowgraph that has ended, and publishes the event `released`: whoever holds its
        blocks lets go of them, too, or receivers could not be opened again.
        """
        with self._lock:
            self.top, self.blocks, self._set_one = None, {}, None
        self.publish("released")

    def before_start(self, hook):
        """Calls hook(instrument) whenever a flowgraph was made and is not yet started; at once,
        too, if that is so now. What it raises ends the start."""
        self._start_hooks.append(hook)
        if self.top is not None and self.state in ("made", "starting"):
            hook(self)

    def on_publish(self, hook):
        """
        Calls hook(event) with all that publish() is given, in the thread in which it happens:
        it must return at once. One that raises is not called again.
        """
        self._publish_hooks.append(hook)

    def publish(self, event, **values):
        """
        Tells all hooks of something that happened.

        Parameters
        ----------
        event : str
            state, setting, file (one is whole), integration, alarm, log, released or trigger.
        values
            Plain values (numbers, texts, lists, dictionaries) that describe it.
        """
        message = {"event": event, **values}
        for hook in list(self._publish_hooks):
            try:
                hook(message)
            except Exception as error:
                self._publish_hooks.remove(hook)
                self.failed_hooks.append(f"{type(error).__name__}: {error}")

    def say(self, event, text):
        """Publishes a line, a log or an alarm; a service puts a function in its place that writes
        it, too."""
        self.publish(event, text=text)

    def keep(self, block, port, value):
        """Notes a setting that a block has taken while it runs, of a port, by their names."""
        kept = KeptSetting(block, port, value, time.time())
        self.kept.keep(kept)
        self.publish("setting", block=block, port=port, value=value, text=str(kept))

    def restore(self, set_one=None, port=None):
        """
        Sets what was kept in a flowgraph that is not yet started, and tells what was, and what
        could not be.

        Parameters
        ----------
        set_one : callable
            set_one(block, port, value) sets one; what it raises is told. None: as before.
        port : str
            The port whose settings are set; None: all.
        """
        self._set_one = set_one = set_one or self._set_one
        if set_one is None:
            return
        chosen = lambda setting: port in (None, setting.port)
        for kept, problem in self.kept.apply(
            lambda setting: set_one(setting.block, setting.port, setting.value), chosen
        ):
            if problem is None:
                self.say("log", f"kept: {kept}")
            else:
                self.say("alarm", f"not kept: {kept}: {problem}")

    def set_state(self, state):
        """Changes the state, and publishes that."""
        self.state = state
        self.publish("state", state=state, restarts=self.restarts)

    def describe(self):
        """
        Returns a description of the instrument, a dictionary of plain values that JSON can hold:
        name, version, state, restarts, configuration (the sections of its file), blocks (name ->
        type, and the message ports `in` and `out`), settings (those that were made while it ran:
        block, port, value, and time, UTC seconds since 1970), and what its flowgraph adds (array,
        engines, outputs).
        """
        with self._lock:
            blocks, about = dict(self.blocks), dict(self._about)
        return {
            "name": self.name,
            "version": self._version,
            "state": self.state,
            "restarts": self.restarts,
            "configuration": self._configuration,
            "blocks": {name: described(block) for name, block in blocks.items()},
            "settings": [vars(setting) for setting in self.kept.all()],
            **about,
        }


def described(block):
    """The type of a block, and the names of its message ports, without those of GNU Radio."""
    names = lambda ports: sorted(set(map(str, pmt.to_python(ports))) - {"system"})
    return {
        "type": block.name(),
        "in": names(block.message_ports_in()),
        "out": names(block.message_ports_out()),
    }

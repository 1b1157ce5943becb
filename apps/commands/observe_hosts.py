#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The part that a host of several has of a correlator, as a flowgraph of aperture_observe."""

import functools
import json

from ..streams.python_block import printable
from .fx_hosts import ReceivingChain, SendingChain, level_sending, make_receiving, make_sending
from .observe_chain import Observed, open_or_wait


class ObservedSending(Observed, SendingChain):
    """The F-engine of some inputs."""

    def sinks(self):
        return [self.voltages] if self.voltages else []

    def named_blocks(self):
        found = {
            "source": self.source,
            "tracker": self.tracker,
            "f_engine": self.f_engine,
            "sender": self.sink,
            "voltages": self.voltages,
        }
        return {name: block for name, block in found.items() if block}

    def progress(self):
        return self.sink.counts().get("heaps", 0)


class ObservedReceiving(Observed, ReceivingChain):
    """The X-engine of some channels."""

    def sinks(self):
        return [self.sink]

    def named_blocks(self):
        return {
            "receiver": self.source,
            "xengine": self.correlator,
            "visibilities": self.sink,
            "snapshot": self.correlating.tap,
        }

    def progress(self):
        return self.sink.integrations() + self.sink.left_out()


def make_part(configuration, program):
    """
    The flowgraph of --role f or x of a Configuration; program: what stands in histories.

    Raises
    ------
    InputFailure
        The input could not be opened.
    CommandError, ValueError, RuntimeError, OSError
        As the commands and blocks raise them.
    """
    options = configuration.options
    note = f"configuration of {options.name}: " + json.dumps(
        configuration.sections, ensure_ascii=False
    )
    if options.role == "f":
        chain = make_sending(program, options, ObservedSending)
        chain.texts = list(chain.warnings) + chain.texts
        level_sending(chain, chain.texts.append)
    else:
        signals = open_or_wait(options)
        chain = make_receiving(
            program,
            options,
            options.output,
            signals,
            functools.partial(ObservedReceiving, note=printable(note)),
        )
    chain.set_roll_over()
    return chain

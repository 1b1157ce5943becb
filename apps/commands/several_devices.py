#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Engines of the commands on several devices: F-engines by inputs, X-engines by channels."""

import math

import numpy as np
import pmt
from gnuradio import blocks, gr

from .. import exchange, f_engine, join_channels, tags, xengine
from ..streams.tag_values import dict_value
from .running import CommandError

#: keys of settings that have a value for each input
FOR_EACH_INPUT = (tags.delay, tags.delay_rate, tags.phase, tags.phase_rate)


def devices_of(options):
    """Names of the devices of --devices; None: there is one device, that of --device."""
    text = getattr(options, "devices", None)
    return None if text is None else text.split(",")


def use_first_device(options):
    """Sets the first of several devices for what runs on one device, to measure gains."""
    names = devices_of(options)
    if names:
        options.device = names[0]


def check_several_devices(options, signals, plan):
    """Refuses what several devices cannot do, before anything is computed. Raises CommandError."""
    names = devices_of(options)
    if names is None:
        return
    if options.voltages:
        raise CommandError(
            f"--voltages {options.voltages}: not with --devices: no device has all "
            "channels of all inputs"
        )
    for what, count in (("inputs", signals.inputs), ("channels", plan.channels)):
        if len(names) > count:
            raise CommandError(
                f"--devices {options.devices}: {len(names)} devices are more than "
                f"the {count} {what}"
            )
    if 1 < signals.ports < len(names):
        raise CommandError(
            f"--devices {options.devices}: the input has {signals.ports} streams, "
            f"and {len(names)} devices need one each"
        )


def _split(message, first, count):
    """Returns the part of a setting of all inputs for `count` inputs from `first` on; None:
    nothing."""
    key = pmt.intern(tags.input)
    if pmt.dict_has_key(message, key):
        number = pmt.to_long(dict_value(message, tags.input))
        if not first <= number < first + count:
            return None
        return pmt.dict_add(message, key, pmt.from_long(number - first))
    for name in FOR_EACH_INPUT:
        value = dict_value(message, name)
        if pmt.is_f64vector(value) and pmt.length(value) > 1:
            own = pmt.f64vector_elements(value)[first : first + count]
            message = pmt.dict_add(message, pmt.intern(name), pmt.init_f64vector(len(own), own))
    return message


class _Settings(gr.basic_block):
    """Passes settings of all inputs on to F-engines of ranges of them: delays -> delays0, ..."""

    def __init__(self, ranges):
        gr.basic_block.__init__(self, "settings of ranges", None, None)
        self._ranges = ranges
        self.message_port_register_in(pmt.intern("delays"))
        for number in range(len(ranges)):
            self.message_port_register_out(pmt.intern(f"delays{number}"))
        self.set_msg_handler(pmt.intern("delays"), self._pass_on)

    def _pass_on(self, message):
        for number, (first, count) in enumerate(self._ranges):
            own = _split(message, first, count)
            if own is not None:
                self.message_port_pub(pmt.intern(f"delays{number}"), own)


class FEngines:
    """
    F-engines of ranges of inputs, each on a device, with the methods of one of all inputs that the
    commands use.

    Attributes: `engines`, and `ranges`, (first input, number of inputs) of each.
    """

    def __init__(self, names, signals, **parameters):
        self.names, self.ports, self._settings = names, signals.ports, None
        units = signals.inputs if signals.ports == 1 else signals.ports
        self.ranges = [exchange.range_of(part, len(names), units) for part in range(len(names))]
        del parameters["inputs"], parameters["inputs_per_port"], parameters["device"]
        self.engines = [
            f_engine(
                inputs=count,
                inputs_per_port=count if signals.ports == 1 else 1,
                device=name,
                **parameters,
            )
            for name, (_, count) in zip(names, self.ranges)
        ]

    def _of(self, number):
        """The engine of an input, and its number there."""
        for engine, (first, count) in zip(self.engines, self.ranges):
            if number < first + count:
                return engine, number - first
        raise IndexError(number)

    def connect(self, flowgraph, source, followers, tracker):
        """Connects the source, the blocks that follow its stream, and a tracker, or None."""
        before = [block for block in (source, *followers) if block]
        if len(before) > 1:
            flowgraph.connect(*before)
        before = before[-1]
        if self.ports > 1:
            ports = [(source, port) for port in range(self.ports)]
            ports[0] = (before, 0)
            for engine, (first, count) in zip(self.engines, self.ranges):
                for port in range(count):
                    flowgraph.connect(ports[first + port], (engine, port))
        else:
            self._connect_parts(flowgraph, before)
        if tracker:
            # kept here: GNU Radio holds no reference to what is written in Python
            self._settings = _Settings(self.ranges)
            flowgraph.msg_connect(tracker, "delays", self._settings, "delays")
            for number, engine in enumerate(self.engines):
                flowgraph.msg_connect(self._settings, f"delays{number}", engine, "delays")

    def _connect_parts(self, flowgraph, source):
        """Shares items [input] out: parts of equal length, some of which go together again."""
        counts = [count for _, count in self.ranges]
        unit = math.gcd(*counts)
        sample = self.engines[0].input_signature().sizeof_stream_item(0) // counts[0]
        parts = blocks.vector_to_streams(sample * unit, sum(counts) // unit)
        flowgraph.connect(source, parts)
        port = 0
        for engine, count in zip(self.engines, counts):
            several = count // unit
            last = (parts, port)
            if several > 1:
                last = blocks.streams_to_vector(sample * unit, several)
                for number in range(several):
                    flowgraph.connect((parts, port + number), (last, number))
            flowgraph.connect(last, engine)
            port += several

    def to_basic_block(self):
        """Returns the block to which settings are posted."""
        return self

    def _post(self, port, message):
        for engine, (first, count) in zip(self.engines, self.ranges):
            own = _split(message, first, count)
            if own is not None:
                engine.to_basic_block()._post(port, own)

    def set_log_level(self, level):
        """Sets the level of all, like a block's."""
        for engine in self.engines:
            engine.set_log_level(level)

    def set_gain(self, gain, number):
        """The gain of an input."""
        engine, own = self._of(number)
        engine.set_gain(gain, own)

    def delays(self):
        """Models of the delays, as of f_engine."""
        return [
            {**model, "input": model["input"] + first}
            for engine, (first, _) in zip(self.engines, self.ranges)
            for model in engine.delays()
        ]

    def nitems_read(self, port):
        """Items that all engines have taken."""
        return min(engine.nitems_read(port) for engine in self.engines)

    def error(self):
        """The first error of any of them."""
        return next((text for text in (engine.error() for engine in self.engines) if text), "")

    def device_name(self):
        """Returns the names of all devices."""
        return ", ".join(engine.device_name() for engine in self.engines)

    def device_description(self):
        """Returns the description of the first device."""
        return self.engines[0].device_description()

    def implementation(self):
        """Returns the implementation of the first one: they are alike."""
        return self.engines[0].implementation()

    def flagged_of_channels(self):
        """Cells of each channel, of all inputs."""
        return np.sum([engine.flagged_of_channels() for engine in self.engines], axis=0).tolist()


def _joined(name):
    def method(self):
        """Returns the values of all inputs."""
        return [value for engine in self.engines for value in getattr(engine, name)()]

    return method


for _name in ("missing", "clamped", "clamped_samples", "cells", "flagged_of_inputs"):
    setattr(FEngines, _name, _joined(_name))


class XEngines:
    """
    X-engines of ranges of channels, each on a device, between `exchange` and `join_channels`.

    f_engines: FEngines; masked: spectra of a slice of its masks, 0: there are none; parameters: of
    xengine.
    """

    def __init__(self, f_engines, masked, channels, **parameters):
        self.names, self._f_engines = f_engines.names, f_engines
        #: channels of the first device
        self.channels = exchange.range_of(0, len(self.names), channels)[1]
        del parameters["device"]
        self.engines = [
            xengine(
                channels=exchange.range_of(part, len(self.names), channels)[1],
                spectra_per_slice=masked,
                device=name,
                **parameters,
            )
            for part, name in enumerate(self.names)
        ]
        self.exchanges = [
            exchange(
                channels=channels,
                inputs=parameters["inputs"],
                type=parameters["type"],
                spectra_per_frame=parameters["spectra_per_frame"],
                input_devices=self.names,
                output_devices=self.names,
                spectra_per_slice=slice_,
            )
            for slice_ in ([0, masked] if masked else [0])
        ]
        self.joins = [
            join_channels(channels, parameters["inputs"], len(self.names), kind)
            for kind in ("fc32", "u32")[: len(self.exchanges)]
        ]

    def connect(self, flowgraph, sink):
        """Connects the F-engines to a sink, whose second port takes counts."""
        for port, (crossing, join) in enumerate(zip(self.exchanges, self.joins)):
            for number, (before, behind) in enumerate(zip(self._f_engines.engines, self.engines)):
                flowgraph.connect(
                    (before, port), (crossing, number), (behind, port), (join, number)
                )
            flowgraph.connect((join, 0), (sink, port))

    def set_log_level(self, level):
        """Sets the level of all, like a block's."""
        for block in (*self.engines, *self.exchanges):
            block.set_log_level(level)

    def parts(self):
        """The blocks that may fail."""
        return [*self.exchanges, *self.engines, *self.joins]

    def implementation(self):
        """Returns the implementation of the first one, and of the exchange."""
        return f"{self.engines[0].implementation()}, exchange {self.exchanges[0].implementation()}"

#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The F-engines of a flowgraph, each on a device, of a range of the inputs."""

import math

import pmt
from gnuradio import blocks

from .. import exchange, f_engine, tags
from ..delay_tracker import delay_tracker
from ..streams.tag_values import dict_value

#: keys of settings that have a value for each input
FOR_EACH_INPUT = (tags.delay, tags.delay_rate, tags.phase, tags.phase_rate)


def part_of(message, first, count):
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


def numbered(name, blocks):
    """Blocks by name: `name` of one, name0, name1 and so on of several."""
    if len(blocks) == 1:
        return {name: blocks[0]}
    return {f"{name}{number}": each for number, each in enumerate(blocks)}


class shared_tracker(delay_tracker):
    """A delay_tracker for F-engines of ranges of the inputs, which has a port for each of them:
    delays0, delays1 and so on."""

    def share_out(self, ranges):
        """Takes the first input and the number of inputs of each, before it is connected."""
        self._ranges = ranges
        for number in range(len(ranges)):
            self.message_port_register_out(pmt.intern(f"delays{number}"))

    def _publish(self, message):
        for number, (first, count) in enumerate(self._ranges):
            own = part_of(message, first, count)
            if own is not None:
                self.message_port_pub(pmt.intern(f"delays{number}"), own)


class FEngines:
    """
    The F-engines of all inputs: one on each device.

    Parameters
    ----------
    devices : list of str
    signals : Signals
    parameters
        Of f_engine, but for inputs and device.

    Attributes
    ----------
    engines : list of f_engine
    ranges : list of (int, int)
        First input, and number of inputs, of each.
    frames : block
        The one on the first device, whose ports send frames and masks.
    label : str
        The name of what makes frames, in tables.
    """

    label = "F-engine"

    def __init__(self, devices, signals, **parameters):
        self.devices, self._ports = devices, signals.ports
        units = signals.inputs if signals.ports == 1 else signals.ports
        each = signals.inputs // units
        self.ranges = [
            tuple(each * number for number in exchange.range_of(part, len(devices), units))
            for part in range(len(devices))
        ]
        self.engines = [
            f_engine(
                inputs=count,
                inputs_per_port=count if signals.ports == 1 else each,
                device=name,
                **parameters,
            )
            for name, (_, count) in zip(devices, self.ranges)
        ]
        for engine in self.engines:
            engine.set_log_level("warning")  # lost samples, for example
        self.frames = self.engines[0]

    @property
    def blocks(self):
        """Name -> block; those of several devices are f_engine0, f_engine1 and so on."""
        return numbered("f_engine", self.engines)

    def connect(self, flowgraph, source, followers, tracker):
        """Connects the source, the blocks that follow its stream beside the engines, and a tracker,
        which is one of them (for several engines a shared_tracker), or None."""
        for follower in followers:
            # an F-engine or a beamformer waits for who sends it settings
            flowgraph.connect(source, follower)
        if self._ports > 1:
            ports = [(source, port) for port in range(self._ports)]
            for engine in self.engines:
                for port in range(engine.input_signature().min_streams()):
                    flowgraph.connect(ports.pop(0), (engine, port))
        elif len(self.engines) == 1:
            flowgraph.connect(source, self.engines[0])
        else:
            self._share_out(flowgraph, source)
        if isinstance(tracker, shared_tracker):
            tracker.share_out(self.ranges)
            for number, engine in enumerate(self.engines):
                flowgraph.msg_connect(tracker, f"delays{number}", engine, "delays")
        elif tracker:
            flowgraph.msg_connect(tracker, "delays", self.engines[0], "delays")

    def _share_out(self, flowgraph, source):
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

    def calibrate(self, calibrator):
        """Sets a calibration, before the start."""
        for engine, (first, count) in zip(self.engines, self.ranges):
            calibrator.set(engine, first, count)

    def set_gains(self, gains):
        """Sets the gain of each input."""
        for engine, (first, count) in zip(self.engines, self.ranges):
            for number in range(count):
                engine.set_gain(complex(gains[first + number]), number)

    def of_inputs(self, *names):
        """Returns for each input the sum of what these methods of the engines return."""
        return [
            sum(values)
            for engine in self.engines
            for values in zip(*(getattr(engine, name)() for name in names))
        ]

    def missing(self):
        """Spectra of each input that are missing."""
        return self.of_inputs("missing")

    def clamped(self):
        """Voltages and samples of each input that were clamped."""
        return self.of_inputs("clamped", "clamped_samples")

    def late_settings(self):
        """Settings that came after their time."""
        return sum(engine.late_settings() for engine in self.engines)

    def delays(self):
        """Models of the delays, as of f_engine."""
        return [
            {**model, "input": model["input"] + first}
            for engine, (first, _) in zip(self.engines, self.ranges)
            for model in engine.delays()
        ]

    def samples_read(self):
        """Samples of each input that all engines have taken."""
        return min(engine.nitems_read(0) for engine in self.engines)

    def device_name(self):
        """Returns the names of all devices."""
        return ", ".join(engine.device_name() for engine in self.engines)

    def device_description(self):
        """Returns the description of the first device."""
        return self.engines[0].device_description()

    def implementation(self):
        """Returns the implementation of the first one: they are alike."""
        return self.engines[0].implementation()

    def flags(self):
        """Returns for each input the slices of a channel that were flagged, and all there were."""
        return self.of_inputs("flagged_of_inputs"), self.of_inputs("cells")

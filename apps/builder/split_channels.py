#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Channels that are split further before they are collected into frames: those of a filter bank of
ours, and what recorded channels have in common with them."""

from .. import corner_turn, flagger, pfb_channelizer, upchanneliser


def connect_ports(flowgraph, chain, ports):
    """Connects blocks, each behind the one before, by as many ports; the last two by one."""
    for before, after in zip(chain, chain[1:]):
        for port in range(min(ports, after.input_signature().min_streams())):
            flowgraph.connect((before, port), (after, port))


class FrameBlocks:
    """
    upchanneliser, where channels are split -> corner_turn -> flagger, where anything is flagged.

    splitting: parameters of the upchanneliser, empty where channels are not split; flagging: those
    of the flagger; the others are of corner_turn.

    Attributes: `blocks`, name -> block; `frames`, the block that sends frames and masks.
    """

    def __init__(
        self, splitting, flagging, *, channels, inputs, inputs_per_port, spectra_per_frame, type, device
    ):
        frame = dict(
            channels=channels,
            inputs=inputs,
            spectra_per_frame=spectra_per_frame,
            type=type,
            device=device,
        )
        self.blocks, self.flagger, self.split = {}, None, None
        if splitting:
            self.split = self.blocks["upchanneliser"] = upchanneliser(
                channels=channels // splitting["fine"],
                inputs=inputs,
                inputs_per_port=inputs_per_port,
                input_type=type,
                output_type=type,
                device=device,
                **splitting,
            )
        self.turn = self.frames = corner_turn(inputs_per_port=inputs_per_port, **frame)
        self.blocks["corner_turn"] = self.turn
        if flagging:
            self.flagger = self.frames = flagger(**frame, **flagging)
            self.blocks["flagger"] = self.flagger
        for block in self.blocks.values():
            block.set_log_level("warning")

    def clamped(self):
        """Voltages of each input that were clamped."""
        counts = [self.turn.clamped()]
        if self.split:
            counts += [self.split.clamped(), self.split.clamped_samples()]
        return [sum(each) for each in zip(*counts)]

    def implementation(self):
        """Returns the implementations."""
        blocks = [self.split, self.turn] if self.split else [self.turn]
        return " + ".join(block.implementation() for block in blocks)

    def flags(self):
        """Returns for each input the slices of a channel that were flagged, and all there were."""
        return self.flagger.flagged_of_inputs(), self.flagger.cells()


class SplitEngines:
    """
    pfb_channelizer -> upchanneliser -> corner_turn -> flagger, with the methods of FEngines.

    signals: Signals; filtering: parameters of the channeliser, but for inputs; splitting, flagging,
    and the others: as FrameBlocks has them.
    """

    label = "F-engine"

    def __init__(self, signals, filtering, splitting, flagging, *, type, device, **frame):
        inputs, self._ports = signals.inputs, signals.ports
        shared = dict(inputs=inputs, inputs_per_port=inputs // signals.ports, device=device)
        self.ranges = [(0, inputs)]
        self._bank = pfb_channelizer(output_type=type, **filtering, **shared)
        self._bank.set_log_level("warning")
        self._behind = FrameBlocks(splitting, flagging, type=type, **shared, **frame)
        self.blocks = {"pfb_channelizer": self._bank, **self._behind.blocks}
        self.frames = self._behind.frames
        self.engines = [self.frames]

    def connect(self, flowgraph, source, followers, tracker):
        """Connects the source, the blocks that follow its stream beside the engine, and a tracker,
        which is one of them, or None."""
        for follower in followers:
            # an F-engine or a beamformer waits for who sends it settings
            flowgraph.connect(source, follower)
        connect_ports(flowgraph, [source, *self.blocks.values()], self._ports)
        if tracker:
            flowgraph.msg_connect(tracker, "delays", self._bank, "delays")

    def calibrate(self, calibrator):
        """Sets a calibration, before the start."""
        calibrator.set(self._bank)

    def set_gains(self, gains):
        """Sets the gain of each input."""
        for number, gain in enumerate(gains):
            self._bank.set_gain(complex(gain), number)

    def missing(self):
        """Spectra of each input that are missing."""
        return self._behind.turn.missing()

    def clamped(self):
        """Voltages and samples of each input that were clamped."""
        counts = self._bank.clamped(), self._bank.clamped_samples(), self._behind.clamped()
        return [sum(each) for each in zip(*counts)]

    def late_settings(self):
        """Settings that came after their time."""
        return self._bank.late_settings()

    def delays(self):
        """Models of the delays, as of pfb_channelizer."""
        return self._bank.delays()

    def samples_read(self):
        """Samples of each input that were taken."""
        return self._bank.nitems_read(0)

    def device_name(self):
        """Returns the name of the device."""
        return self._bank.device_name()

    def device_description(self):
        """Returns the description of the device."""
        return self._bank.device_description()

    def implementation(self):
        """Returns the implementations."""
        return f"{self._bank.implementation()} + {self._behind.implementation()}"

    def flags(self):
        """Returns for each input the slices of a channel that were flagged, and all there were."""
        return self._behind.flags()

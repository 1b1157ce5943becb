#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The beginning of a flowgraph whose input has channels already: no F-engine, but what splits
channels further, collects spectra into frames, and flags them."""

from .split_channels import FrameBlocks, connect_ports

#: fields of the F-engine, which channels that others have made do not need
OF_FILTER_BANK = "engines.channels", "engines.taps", "engines.oversampling", "engines.window"


def check_recorded(plan, signals):
    """Refuses what only an F-engine could do, of an input that has channels already, and what only
    such an input has."""
    if not signals.channels:
        if plan.engines.coarse_taps is not None:
            raise plan.error(
                "engines.coarse_taps",
                f"is for recorded channels: {plan.naming('engines.taps')} are those of the F-engine",
                shown=True,
            )
        return
    has = f"the {signals.channels} channels of the input are as recorded, without an F-engine"
    splits = plan.engines.upchannelise is not None
    for field in OF_FILTER_BANK:
        if splits and field == "engines.window":
            continue  # the filter bank in each channel has it
        if field in plan.source.options or field in plan.source.keys:
            raise plan.error(
                field, f"is not allowed: {has} (channel= of guppi: chooses one, to be cut up)"
            )
    if plan.tracking.direction is not None:
        centers = plan.naming("tracking.phase_centers")
        raise plan.error(
            "tracking.direction",
            f"is not allowed: {has}, which alone sets delays; {centers} rotates phases",
        )
    if plan.calibration.file is not None and plan.calibration.by == "f-engine":
        raise plan.error("calibration.by", f"must be sink or nobody: {has}", shown=True)
    if plan.calibration.measure is not None:
        raise plan.error("calibration.measure", f"is not allowed: {has}, which would apply it")
    if plan.network.role != "fx":
        raise plan.error("network.role", f"must be fx: {has}", shown=True)
    if plan.device.several is not None:
        raise plan.error("device.names", f"must be one device: {has}", shown=True)


class RecordedChannels:
    """
    The blocks of FrameBlocks behind a source of channels, with the methods of FEngines.

    source: a channel_source; the others are of FrameBlocks.

    Attributes: `blocks`, name -> block; `frames`, the block that sends frames and masks; `label`.
    """

    label = "corner turn"

    def __init__(self, source, splitting, flagging, *, inputs, **parameters):
        self.ranges, self._source = [(0, inputs)], source
        self._behind = FrameBlocks(
            splitting, flagging, inputs=inputs, inputs_per_port=inputs, **parameters
        )
        self.blocks, self.frames = self._behind.blocks, self._behind.frames
        self.engines, self._turn = [self.frames], self._behind.turn

    def connect(self, flowgraph, source, followers, tracker):
        """Connects the source and the blocks that follow its stream; there is no tracker."""
        for follower in followers:
            flowgraph.connect(source, follower)
        connect_ports(flowgraph, [source, *self.blocks.values()], 1)

    def calibrate(self, calibrator):
        """Does nothing: a calibration is applied behind the correlator."""

    def set_gains(self, gains):
        """Sets the gain of each input."""
        for number, gain in enumerate(gains):
            self._source.set_gain(complex(gain), number)

    def missing(self):
        """Spectra of each input that are missing."""
        return self._turn.missing()

    def clamped(self):
        """Voltages of each input that were clamped."""
        return [sum(counts) for counts in zip(self._source.clamped(), self._behind.clamped())]

    def late_settings(self):
        """Returns that no settings come late: there are none."""
        return 0

    def delays(self):
        """Returns no models of delays."""
        return []

    def samples_read(self):
        """Samples of each input, as many as spectra have channels, that were taken."""
        first = next(iter(self.blocks.values()))
        return first.nitems_read(0) * self._source.channels()

    def device_name(self):
        """Returns the name of the device."""
        return self._turn.device_name()

    def device_description(self):
        """Returns the description of the device."""
        return self._turn.device_description()

    def implementation(self):
        """Returns the implementations."""
        return self._behind.implementation()

    def flags(self):
        """Returns for each input the slices of a channel that were flagged, and all there were."""
        return self._behind.flags()

#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The beamformer of the commands: from the frames of an F-engine to powers, their files, and what
is looked for in them."""

import os
from dataclasses import replace

import numpy as np

from .. import beam_power, beamformer
from ..beams.beams import coherent, in_order, load_beams
from ..beams.weights import (
    beam_directions,
    beam_masks,
    find_polarizations,
    incoherent_masks,
    live_beams,
)
from ..filterbank_sink import filterbank_sink, row_names
from ..parameters.regular_file import check_regular
from ..pointing import pointing
from ..streams.python_block import printable
from ..streams.silent_block import silent
from .folding import Folding
from .running import CommandError
from .searching import Searching
from .voltages import make_voltage_sink


class BeamForming:
    """
    beam_power -> filterbank_sink, with `pointing`, which follows the stream and sends weights,
    unless all beams are incoherent; with --voltages, beamformer -> voltage_sink beside it, with the
    same weights; with --fold and --search what folding.py and searching.py say.

    options: as those of aperture_beams; beams: list of Beam, incoherent ones behind the others;
    source: that `pointing` follows; tracked: what the F-engine's delays follow, or None; flagging:
    as FrontEnd has it.

    Attributes: `pointing`, `beamformer`, `sink`, `searching`, `folding`, `voltages`,
    `voltage_beams`, each None where there is none.
    """

    def __init__(self, program, signals, plan, options, beams, source, tracked=None, flagging=None):
        array, inputs, channels = signals.description, signals.inputs, plan.channels
        self._signals, self._flagging, self.beams = signals, flagging or {}, beams
        sizes = dict(
            channels=channels,
            inputs=inputs,
            type=options.format,
            spectra_per_frame=plan.spectra_per_frame,
            device=options.device,
        )
        polarizations = find_polarizations(array)
        pointed, others = coherent(beams), [beam for beam in beams if beam.incoherent]
        masks = [beam_masks(array, pointed)] if pointed else []
        masks += [incoherent_masks(array, others)] if others else []
        self.pointing = (
            silent(
                pointing,
                array=array,
                beams=beams,
                channels=channels,
                phase_error=options.phase_error,
                frame_length=plan.frame_length,
                taper=options.taper,
                normalise=options.normalise,
                item_size=source.output_signature().sizeof_stream_item(0),
                real=signals.real,
                inverted=signals.inverted,
                tracked=tracked,
            )
            if pointed
            else None
        )
        self.beamformer = beam_power(
            beams=len(pointed) * len(polarizations),
            incoherent_beams=len(others) * len(polarizations),
            masks=np.concatenate(masks),
            products=options.products,
            basis="circular" if polarizations[0] in "rl" else "linear",
            spectra=plan.integrated,
            summed_channels=options.sum_channels,
            spectra_per_slice=self._flagging.get("spectra_per_slice", 0),
            **sizes,
        )
        self.sink = (
            silent(
                filterbank_sink,
                filename=options.output,
                array=array,
                beams=beams,
                channels=channels // options.sum_channels,
                products=options.products,
                nbits=options.nbits,
                overwrite=options.overwrite,
                counts=bool(self._flagging),
            )
            if options.output is not None
            else None
        )
        rows = len(row_names(array, beams, options.products))
        self.searching = Searching(options, plan, signals, array, rows) if options.search else None
        self.folding = Folding(options, plan, signals, array, beams, rows) if options.fold else None
        #: outputs beside the filterbank file
        self.more = [part for part in (self.searching, self.folding) if part]
        # incoherent beams have no voltages
        self.voltages = (
            make_voltage_sink(
                options,
                plan,
                array,
                kind="beams",
                inputs=len(pointed) * len(polarizations),
                polarizations=len(polarizations),
                names=[beam.name for beam in pointed],
                description=f"{program}: " + printable(options.input),
            )
            if pointed
            else None
        )
        self.voltage_beams = (
            beamformer(
                beams=len(pointed) * len(polarizations),
                masks=masks[0],
                output_type=options.format,
                **sizes,
            )
            if self.voltages
            else None
        )
        for block in filter(None, (self.beamformer, self.voltage_beams)):
            block.set_log_level("warning")  # lost samples, for example

    def connect(self, flowgraph, frames):
        """Takes the frames of an F-engine; `pointing` is connected with those that follow its
        stream."""
        flowgraph.connect(frames, self.beamformer)
        if self.sink:
            flowgraph.connect(self.beamformer, self.sink)
        if self._flagging:
            flowgraph.connect((frames, 1), (self.beamformer, 1))
            if self.sink:
                flowgraph.connect((self.beamformer, 1), (self.sink, 1))
        if self.searching:
            self.searching.connect(flowgraph, self.beamformer, frames)
        if self.folding:
            self.folding.connect(flowgraph, self.beamformer)
        if self.pointing:
            flowgraph.msg_connect(self.pointing, "weights", self.beamformer, "weights")
        if self.voltages:
            flowgraph.connect(frames, self.voltage_beams, self.voltages)
            flowgraph.msg_connect(self.pointing, "weights", self.voltage_beams, "weights")

    def take_gains(self, gains):
        """Equalises inputs again: their weights take out the gains for 8 bits."""
        if self.pointing:
            own = np.array([entry.gain for entry in self._signals.description.inputs])
            self.pointing.set_calibration(
                np.divide(
                    np.max(gains),
                    own * gains,
                    out=np.zeros(self._signals.inputs, complex),
                    where=own != 0,
                )
            )

    def parts(self):
        """The blocks that may fail."""
        return [
            block
            for block in (
                self.pointing,
                self.beamformer,
                self.sink,
                self.voltage_beams,
                self.voltages,
            )
            if block
        ] + [block for part in self.more for block in part.parts()]

    def ended(self):
        """Returns whether all that comes has been written, or looked at."""
        return all(block.detail().done() for block in (self.sink, self.voltages) if block) and all(
            part.last().detail().done() for part in self.more
        )


def beams_to_form(options, array, time):
    """Returns the beams of --beams and --incoherent; time: of the start, s."""
    check_regular(os.path.expanduser(options.beams), "the description of beams")
    beams = load_beams(options.beams, array, time)
    if options.incoherent is None:
        return beams
    antennas = tuple(options.incoherent.split("+")) if options.incoherent else None
    names = {beam.name for beam in beams}
    name = "incoherent"
    while name in names:
        name += "_"
    # only its file knows of a direction
    more = replace(beams[0], name=name, antennas=antennas, incoherent=True)
    incoherent_masks(array, [more])  # complains about antennas
    return in_order([*beams, more])


def blind_beams(beams, array, time):
    """Warnings of beams that cannot see where they look, or anything at all."""
    pointed = coherent(beams)
    if not pointed:
        return []
    low = beam_directions(array, pointed, time)[:, 2] < 0
    dead = ~live_beams(array, pointed).all(axis=1)
    texts = []
    for what, which in (
        ("below the horizon at the start", low),
        ("zeros, as all inputs of a polarisation have a gain of 0", dead),
    ):
        names = [repr(beam.name) for beam, is_one in zip(pointed, which) if is_one]
        if names:
            more = f" and {len(names) - 4} more" if len(names) > 4 else ""
            texts.append(f"{what}: {', '.join(names[:4])}{more}")
    return texts


def choose_products(options, plan, array):
    """Sets --products where they are not given; refuses what the array does not have."""
    if plan.channels % options.sum_channels:
        raise CommandError(
            f"--sum-channels {options.sum_channels}: it must divide the {plan.channels} channels"
        )
    polarizations = find_polarizations(array)
    if options.products is None:
        options.products = "I" if len(polarizations) == 2 else "power"
    elif options.products != "power" and len(polarizations) != 2:
        raise CommandError(
            f"--products {options.products}: array {array.name!r} has one polarisation"
        )


def check_beam_voltages(options, beams):
    """Refuses voltages that cannot be."""
    if options.voltages is not None:
        if not coherent(beams):
            raise CommandError(f"--voltages {options.voltages}: incoherent beams have none")
        if options.format == "sc8" and options.normalise != "noise":
            raise CommandError(
                f"--normalise {options.normalise}: --voltages of 8 bits need noise, "
                "with which they fit these (or --format fc32)"
            )

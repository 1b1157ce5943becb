#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Beams of a flowgraph: from frames to powers, their files, and what is looked for in them."""

import os
from dataclasses import replace

import numpy as np

from .. import beam_power, beamformer, discard
from ..beams.beams import coherent, in_order, load_beams
from ..beams.weights import (
    beam_directions,
    beam_masks,
    find_polarizations,
    incoherent_masks,
    live_beams,
)
from ..filterbank_sink import filterbank_sink
from ..parameters.regular_file import check_regular
from ..pointing import Drift, pointing, update_interval
from ..power_file_sink import paths_of, row_names
from ..psrfits_search_sink import psrfits_search_sink
from ..streams.python_block import printable
from ..streams.silent_block import silent
from .input import check_writable, is_recording
from .part import Part
from .powers import Powers, PowerStream
from .units import seconds_text
from .vlbi import VlbiBeams
from .voltages import make_ring, make_voltage_sink


class Sky:
    """
    The beams of a plan, and how fast their weights change; nothing without a section `beams`.

    Attributes: `beams`, list of Beam, incoherent ones behind the others; `weights_hold`, seconds.
    """

    def __init__(self, plan, signals):
        array = signals.description
        self._phase_error = plan.beams.phase_error
        self.beams, self.weights_hold = [], float("inf")
        if plan.beams.directions is None:
            return
        self.beams = beams_to_form(plan.beams, array, sum(signals.start_time))
        self._drift = Drift(
            array,
            self.beams,
            [array.center_frequency + signals.sample_rate / 2],
            tracked=plan.tracking.tracked,
        )
        self.weights_hold = self._drift.span(self._phase_error)

    def problems(self, plan, frame):
        """Returns what to tell a user whose frames, of so many seconds, are longer than weights
        hold."""
        if not self.beams:
            return []
        error = self._drift.error(update_interval(self.weights_hold, frame) + frame)
        if error <= self._phase_error * (1 + 1e-6):
            return []
        return [
            f"{plan.naming('beams.phase_error')} {self._phase_error:g}: weights hold for "
            f"{seconds_text(self.weights_hold)}, frames last {seconds_text(frame)}: phases are "
            f"wrong by up to {error:.3g}°"
        ]


def beams_to_form(section, array, time):
    """Returns the beams of a section `beams`; time: of the start, s."""
    check_regular(os.path.expanduser(section.directions), "the description of beams")
    beams = load_beams(section.directions, array, time)
    if section.incoherent is None:
        return beams
    antennas = tuple(section.incoherent.split("+")) if section.incoherent else None
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


def choose_products(plan, sizes, array):
    """Returns the products of the powers; refuses what the array does not have."""
    summed, products = plan.beams.sum_channels, plan.beams.products
    if sizes.channels % summed:
        raise plan.error(
            "beams.sum_channels", f"it must divide the {sizes.channels} channels", shown=True
        )
    polarizations = find_polarizations(array)
    if products is None:
        return "I" if len(polarizations) == 2 else "power"
    if products != "power" and len(polarizations) != 2:
        raise plan.error(
            "beams.products", f"array {array.name!r} has one polarisation", shown=True
        )
    return products


def power_files(plan, sizes, array, beams):
    """The names of the files of powers."""
    return paths_of(plan.beams.file, row_names(array, beams, choose_products(plan, sizes, array)))


def check_voltages(plan, beams):
    """Refuses voltages that cannot be."""
    if plan.beams.voltages is None:
        return
    if not coherent(beams):
        raise plan.error("beams.voltages", "incoherent beams have none", shown=True)
    if plan.engines.format == "sc8" and plan.beams.normalise != "noise":
        raise plan.error(
            "beams.normalise",
            f"{plan.naming('beams.voltages')} of 8 bits need noise, with which they fit these (or "
            f"{plan.naming('engines.format')} fc32)",
            shown=True,
        )


def make_power_sink(plan, rows, **parameters):
    """The block that writes the powers of beams, of the format that the file's name says; rows:
    names of the beams."""
    section = plan.beams
    if section.is_psrfits and len(rows) > 1 and "{beam}" not in section.file:
        raise plan.error(
            "beams.file",
            f"PSRFITS has a file for each of {len(rows)} beams: expected {{beam}} in its name",
            shown=True,
        )
    check_writable(plan, "beams.file", paths_of(section.file, rows))
    return silent(
        psrfits_search_sink if section.is_psrfits else filterbank_sink,
        filename=section.file,
        nbits=section.bits,
        overwrite=plan.outputs.overwrite,
        **parameters,
    )


def stream_of(plan, signals, sizes, products, beams, rows):
    """The PowerStream of beams; products: of the powers; rows: beams of the powers."""
    summed = plan.beams.sum_channels
    channels, width = sizes.channels // summed, sizes.width
    if signals.real:
        width = sizes.sample_rate / 2 / sizes.channels
    # the middle channel of those that come out of beam_power
    shift = channels // 2 * summed + (summed - 1) / 2 - sizes.channels // 2
    file = plan.beams.file
    return PowerStream(
        products=products,
        rows=rows,
        channels=channels,
        center_frequency=signals.description.center_frequency + sizes.shift + shift * width,
        bandwidth=width * sizes.channels,
        time=sizes.power_integration,
        seconds=None if sizes.samples is None else sizes.samples / sizes.sample_rate,
        start_time=signals.start_time,
        recording=is_recording(signals),
        array=signals.description,
        beams=beams,
        stem=None if file is None else os.path.splitext(file)[0],
    )


class Beams(Part):
    """
    beam_power -> filterbank_sink, with `pointing`, which follows the samples and sends weights,
    unless all beams are incoherent; where voltages are written, beamformer -> voltage_sink beside
    it, with the same weights, and for VDIF those of vlbi.py; and the search and the folding of
    powers.py.

    beams: list of Beam, incoherent ones behind the others; front: FrontEnd, whose source `pointing`
    follows.

    Attributes: `beams`, `products`; `pointing`, `beamformer`, `sink`, `searching`, `folding`,
    `voltages`, `vlbi`, each None where there is none.
    """

    def __init__(self, plan, signals, sizes, beams, front):
        super().__init__()
        array, section, flagging = signals.description, plan.beams, front.flagging
        self._signals, self.beams = signals, beams
        self.products = choose_products(plan, sizes, array)
        check_voltages(plan, beams)
        shared = dict(
            channels=sizes.channels,
            inputs=signals.inputs,
            type=plan.engines.format,
            spectra_per_frame=sizes.spectra_per_frame,
            device=plan.device.first,
        )
        polarizations = find_polarizations(array)
        pointed, others = coherent(beams), [beam for beam in beams if beam.incoherent]
        masks = [beam_masks(array, pointed)] if pointed else []
        masks += [incoherent_masks(array, others)] if others else []
        self.pointing = self.sink = self.voltages = self._voltage_beams = None
        if pointed:
            self.pointing = silent(
                pointing,
                array=array,
                beams=beams,
                channels=sizes.channels,
                fine=sizes.fine,
                phase_error=section.phase_error,
                frame_length=sizes.frame_length,
                taper=section.taper,
                normalise=section.normalise,
                item_size=front.stream.output_signature().sizeof_stream_item(0),
                real=signals.real,
                inverted=signals.inverted,
                tracked=plan.tracking.tracked,
            )
        self.beamformer = beam_power(
            beams=len(pointed) * len(polarizations),
            incoherent_beams=len(others) * len(polarizations),
            masks=np.concatenate(masks),
            products=self.products,
            basis="circular" if polarizations[0] in "rl" else "linear",
            spectra=sizes.powers,
            summed_channels=section.sum_channels,
            spectra_per_slice=flagging.get("spectra_per_slice", 0),
            **shared,
        )
        self._unused = discard(
            self.beamformer.output_signature().sizeof_stream_item(0), device=plan.device.first
        )
        rows = row_names(array, beams, self.products)
        if section.file is not None:
            self.sink = make_power_sink(
                plan,
                rows,
                array=array,
                beams=beams,
                channels=sizes.channels // section.sum_channels,
                products=self.products,
                counts=bool(flagging),
            )
        self._powers = Powers(
            plan,
            stream_of(plan, signals, sizes, self.products, beams, len(rows)),
            lambda *wanted, **more: make_ring(plan, signals, sizes, *wanted, **more),
        )
        self.searching, self.folding = self._powers.searching, self._powers.folding
        # incoherent beams have no voltages
        if pointed and section.voltages is not None:
            self.voltages = make_voltage_sink(
                plan,
                sizes,
                array,
                ("beams.voltages", "beams.voltage_channels"),
                selected_channels=section.selected,
                kind="beams",
                inputs=len(pointed) * len(polarizations),
                polarizations=len(polarizations),
                names=[beam.name for beam in pointed],
                description=f"{plan.program}: " + printable(plan.input.source),
            )
            self._voltage_beams = beamformer(
                beams=len(pointed) * len(polarizations),
                masks=masks[0],
                output_type=plan.engines.format,
                **shared,
            )
        self.vlbi = None
        if plan.vdif.to is not None:
            if not pointed:
                raise plan.error("vdif.to", "incoherent beams have no voltages", shown=True)
            self.vlbi = VlbiBeams(
                plan, signals, sizes, pointed, len(polarizations), masks=masks[0], **shared
            )
        for block in self._weighted():
            block.set_log_level("warning")  # lost samples, for example
        blocks = {
            "pointing": self.pointing,
            "beams": self.beamformer,
            "powers": self.sink,
            "voltage_beams": self._voltage_beams,
            "beam_voltages": self.voltages,
            **(self.vlbi.blocks if self.vlbi else {}),
        }
        self.blocks = {name: block for name, block in blocks.items() if block}
        sinks = {
            "beams.file": self.sink,
            "beams.voltages": self.voltages,
            "vdif.to": self.vlbi.sink if self.vlbi and plan.vdif.file else None,
        }
        self.sinks = {field: sink for field, sink in sinks.items() if sink}
        self.last = list(self.sinks.values())
        if self.vlbi and not plan.vdif.file:
            self.last.append(self.vlbi.sink)
        self.blocks |= self._powers.blocks
        self.results |= self._powers.results
        self.last += self._powers.last

    def go_on(self, resumed, whole):
        """Goes on with the files of a run that was stopped, as a Resumption says; whole: the
        Signals of all of it."""
        if resumed.kept:
            self.sink.go_on(resumed.kept, resumed.passed_over)
            if self.pointing:
                self.pointing.continue_from(sum(whole.start_time))

    def _weighted(self):
        """The blocks that take weights."""
        vlbi = self.vlbi and self.vlbi.beamformer
        return filter(None, (self.beamformer, self._voltage_beams, vlbi))

    def followers(self):
        return [self.pointing] if self.pointing else []

    def connect(self, flowgraph, front):
        for port in range(2 if front.flagging else 1):
            flowgraph.connect((front.frames, port), (self.beamformer, port))
            if self.sink:
                flowgraph.connect((self.beamformer, port), (self.sink, port))
        self._powers.connect(flowgraph, self.beamformer, front.frames)
        if not (self.sink or self.searching or self.folding):
            # voltages are all that is wanted
            flowgraph.connect((self.beamformer, 0), self._unused)
        if self.voltages:
            flowgraph.connect(front.frames, self._voltage_beams, self.voltages)
        if self.vlbi:
            self.vlbi.connect(flowgraph, front)
        for block in self._weighted():
            if self.pointing:
                flowgraph.msg_connect(self.pointing, "weights", block, "weights")

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

    def integrations(self):
        return self.sink.integrations() if self.sink else self.progress()

    def progress(self):
        return self.beamformer.nitems_written(0)

    def problems(self):
        texts, failed = self._powers.problems()
        return texts + (self.vlbi.problems() if self.vlbi else []), failed

    def release(self):
        self._powers.release()

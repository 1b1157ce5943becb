#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""More products of one correlation, each with a file of its own."""

import re
from dataclasses import replace

from .. import select_inputs, xengine
from ..plan.product_sections import file_of
from .correlator import history, make_sink
from .part import Part


def inputs_named(array, text):
    """
    The numbers of the inputs that a text names, "A1x+A2+0-3", in the order of the array.

    Raises
    ------
    ValueError
        The word that names none, or one that was named before.
    """
    names, found = list(array.input_names), set()
    for word in text.split("+"):
        word = word.strip()
        of_antenna = [i for i, entry in enumerate(array.inputs) if entry.antenna == word]
        numbers = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", word)
        if word in names:
            more = {names.index(word)}
        elif of_antenna:
            more = set(of_antenna)
        elif numbers and int(numbers[1]) <= int(numbers[2] or numbers[1]) < len(names):
            more = set(range(int(numbers[1]), int(numbers[2] or numbers[1]) + 1))
        else:
            raise ValueError(
                f"{word!r} is no input or antenna of {array.name}, which has "
                f"{', '.join(names[:6])}{', ...' * (len(names) > 6)}, nor numbers from 0 to "
                f"{len(names) - 1}"
            )
        if more & found:
            raise ValueError(f"{names[min(more & found)]} is named twice, the second time by {word!r}")
        found |= more
    return sorted(found)


class FastProduct(Part):
    """
    select_inputs -> xengine -> uvh5_sink: an X-engine of its own for some of the inputs, from the
    same frames.

    name: of the product; the others are as `Correlator` has them.

    Attributes: `name`, `selected` (numbers of its inputs), `length` (seconds of an integration).
    """

    def __init__(self, plan, signals, sizes, flagging, program, note, name):
        super().__init__()
        self.name, product = name, plan.products[name]
        field = f"products.{name}"
        self.selected = list(range(signals.inputs))
        if product.inputs is not None:
            try:
                self.selected = inputs_named(signals.description, product.inputs)
            except ValueError as error:
                raise plan.error(f"{field}.inputs", str(error)) from None
        frames = sizes.frames_of(f"{field}.integration", product.integration)
        self.length = frames * sizes.frame_length
        masked = flagging.get("spectra_per_slice", 0)
        self._history = program, plan, sizes, flagging, f"product {name}" + f", {note}" * bool(note)
        shared = dict(
            channels=sizes.channels,
            spectra_per_frame=sizes.spectra_per_frame,
            type=plan.engines.format,
            device=plan.device.first,
        )
        self._selects = []
        if len(self.selected) < signals.inputs:
            self._selects = [
                select_inputs(
                    inputs=signals.inputs, selected=self.selected, spectra_per_slice=each, **shared
                )
                for each in ([0, masked] if masked else [0])
            ]
        self.engine = xengine(
            inputs=len(self.selected),
            integration=frames,
            spectra_per_slice=masked,
            **shared,
        )
        array = signals.description
        self.sink = make_sink(
            plan,
            f"{field}.file",
            filename=file_of(plan, name),
            array=replace(array, inputs=[array.inputs[number] for number in self.selected]),
            channels=sizes.channels,
            history=history(*self._history),
            counts=bool(flagging),
        )
        for block in (self.engine, *self._selects):
            block.set_log_level("warning")
        # monitoring draws what X-engines among the blocks send: that of all inputs
        self.blocks = {f"visibilities_{name}": self.sink}
        self.sinks, self.last = {f"{field}.file": self.sink}, [self.sink]
        self.others = [self.engine, *self._selects]

    def connect(self, flowgraph, front):
        for port in range(2 if front.flagging else 1):
            before = (front.frames, port)
            if self._selects:
                flowgraph.connect(before, self._selects[port])
                before = (self._selects[port], 0)
            flowgraph.connect(before, (self.engine, port), (self.sink, port))

    def take_gains(self, gains):
        of_selected = gains[self.selected]
        self.sink.take_gains(of_selected, history(*self._history, of_selected))

    def integrations(self):
        """Returns None: the correlator's count."""

    def about(self):
        """Returns a line about it, for people."""
        return f"{len(self.selected)} input{'s'[: len(self.selected) != 1]}"

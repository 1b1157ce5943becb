#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""More products of one correlation, each with a file of its own."""

import contextlib
import math
import os
import re
from dataclasses import replace

import numpy as np

from .. import join_averages, select_inputs, visibility_averager, xengine
from ..folder import block_segments, phase_segments
from ..parameters.errors import ParameterError
from ..plan.product_sections import MOST_LENGTH, file_of
from ..tracking.averages import average_lengths, products_of
from ..tracking.phase_center import place_at
from ..tracking.smearing import FINE_CYCLES, Smearing
from ..transients.par_file import read_par
from .correlator import connect_trackers, history, make_sink, make_trackers, rotates_before
from .fold import HOURS_OF_ENDLESS
from .frames import TOLERANCE
from .part import Part
from .units import seconds_text

#: part of a gate of a pulsar that an integration of the X-engine may have: it blurs the edges
GATE_PART = 0.25
MOST_TRIES = 1000
FEWEST = 100  # spectra of an integration of the X-engine, whatever phases do


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


def baselines_named(array, text):
    """
    The pairs of inputs of the baselines that a text names, "A1-A2+A1x-A1x", between inputs, or
    antennas with all of theirs.

    Raises
    ------
    ValueError
        The word that names none, or one that was named before.
    """
    known = {*array.input_names, *(entry.antenna for entry in array.inputs)}
    found = {}
    for word in text.split("+"):
        # names may have hyphens in them
        ends = [
            (word[:at].strip(), word[at + 1 :].strip())
            for at, letter in enumerate(word)
            if letter == "-"
        ]
        ends = [pair for pair in ends if known.issuperset(pair)]
        if not ends:
            raise ValueError(f"{word!r} is no baseline of {array.name}: expected such as A1-A2")
        first, second = (inputs_named(array, name) for name in ends[0])
        pairs = sorted({(max(a, b), min(a, b)) for a in first for b in second})
        if found.keys() & set(pairs):
            raise ValueError(f"{word!r} is named twice")
        found.update(dict.fromkeys(pairs))
    return list(found)


def averaged_of(plan, signals, seconds, step, multiple):
    """
    The field that needs integrations of the X-engine that are shorter than those of visibilities,
    of so many seconds, how many of them one of visibilities is averaged of, and the seconds of one.
    step: seconds from a spectrum to the next; multiple: factor of the spectra in a frame.
    """
    needs, multiples = [], []
    if rotates_before(plan, signals):
        length = _seconds_of(plan, signals, plan.tracking.centers)
        needs.append((min(seconds, max(length, FEWEST * step)), "tracking.phase_centers"))
    for name, product in plan.products.items():
        if product.fast:
            continue
        field = f"products.{name}"
        if product.integration is not None:
            needs.append((min(seconds, product.integration), f"{field}.integration"))
            multiples.append((product.integration, f"{field}.integration"))
        if product.gate is not None:
            period = 1 / float(_model_of(plan, name).frequency)
            width = min((end - begin) % 1 or 1 for begin, end in product.gates)
            needs.append((GATE_PART * width * period, f"{field}.gate"))
        if product.centers:
            length = _seconds_of(plan, signals, product.centers)
            needs.append((max(length, FEWEST * step), f"{field}.phase_centers"))
    if not needs:
        return "engines.integration", 1, seconds
    least, field = min(needs)
    frame = multiple * step
    multiples += [
        (product.integration, f"products.{name}.integration")
        for name, product in plan.products.items()
        if product.fast and product.integration >= least
    ]
    first = max(1, math.ceil(seconds / least * (1 - 1e-9)))
    for count in range(first, first + MOST_TRIES):
        item = max(1, round(seconds / count / frame)) * frame
        if all(
            abs(max(1, round(wanted / item)) * item - wanted) <= TOLERANCE * wanted
            for wanted, _ in [(seconds, ""), *multiples]
        ) and (max(1, round(seconds / item)) == count):
            return field, count, item
    wanted, name = [*multiples, (least, field)][0]
    raise plan.error(
        name,
        f"{wanted:g} s and {plan.naming('engines.integration')} {seconds:g} s are no multiples of "
        f"one length near {least:.3g} s",
    )


def _model_of(plan, name):
    """The TimingModel of a product with a gate."""
    try:
        return read_par(os.path.expanduser(plan.products[name].gate))
    except (ParameterError, OSError) as error:
        text = getattr(error, "strerror", None) or str(error)
        raise plan.error(f"products.{name}.gate", text, shown=isinstance(error, OSError)) from None


def _seconds_of(plan, signals, centers):
    """Seconds in which phases towards phase centres hardly change beside those of what is
    tracked."""
    array, angle = signals.description, None
    if plan.tracking.direction is not None:
        start = sum(signals.start_time)
        tracked, *others = (
            place_at(each, start, array).to_uvw[2]
            for each in (plan.tracking.tracked, *centers)
        )
        angle = float(np.arccos(np.clip(np.array(others) @ tracked, -1, 1)).max())
    frequency = Smearing(
        array.input_positions(), array.latitude, _top(signals), angle
    ).fringe_frequency
    return FINE_CYCLES / frequency if frequency > 0 else math.inf


def _top(signals):
    """The highest frequency of the band, Hz."""
    return abs(signals.center_frequency) + signals.bandwidth / 2


class Product(Part):
    """
    A product beside the correlation of all inputs.

    Attributes: `name`; `length`, seconds of an integration; `selected`, numbers of its inputs;
    `writers`, the sinks of its files.
    """

    def __init__(self, plan, signals, sizes, front, program, note, name):
        super().__init__()
        self.name, self.length, self.writers = name, 0.0, []
        self._plan, self._signals, self._flagging = plan, signals, front.flagging
        self._history = (
            program,
            plan,
            sizes,
            front.flagging,
            f"product {name}" + f", {note}" * bool(note),
        )
        self.product, self.selected = plan.products[name], list(range(signals.inputs))
        if self.product.inputs is not None:
            self.selected = self._found("inputs", inputs_named)

    def _field(self, key):
        return f"products.{self.name}.{key}"

    def _found(self, key, find):
        """Returns what find(array, text) finds for a field."""
        try:
            return find(self._signals.description, getattr(self.product, key))
        except ValueError as error:
            raise self._plan.error(self._field(key), str(error)) from None

    @contextlib.contextmanager
    def _naming(self):
        """Makes what the sizes refuse an error of the plan."""
        try:
            yield
        except ParameterError as error:
            raise self._plan.error(error.field, error.problem, shown=True) from None

    def _write(self, array, **parameters):
        """Makes the sink of a file; the parameters are its own."""
        sink = make_sink(
            self._plan,
            self._field("file"),
            array=array,
            history=history(*self._history),
            counts=bool(self._flagging),
            **parameters,
        )
        more = f"_{len(self.writers)}" * bool(self.writers)
        # monitoring draws what X-engines among the blocks send: that of all inputs
        self.blocks[f"visibilities_{self.name}{more}"] = sink
        self.sinks[self._field("file") + more] = sink
        self.writers.append(sink)
        self.last.append(sink)
        return sink

    def take_gains(self, gains):
        for sink in self.writers:
            sink.take_gains(gains, history(*self._history, gains))

    def integrations(self):
        """Returns None: the correlator's count."""

    def files(self):
        """Paths of its files."""
        return [path for sink in self.writers for path in sink.files()]

    def about(self):
        """Returns a line about it, for people."""
        count, files = len(self.selected), len(self.writers)
        return f"{count} input{'s'[: count != 1]}" + f", {files} files" * (files > 1)

    def times(self):
        """Returns the length of its integrations, for people."""
        return seconds_text(self.length)


class FastProduct(Product):
    """
    select_inputs -> xengine -> uvh5_sink: an X-engine of its own for some of the inputs, from the
    same frames.

    front, program, note: as `Flowgraph` and `Correlator` have them; name: of the product.
    """

    def __init__(self, plan, signals, sizes, front, program, note, name):
        super().__init__(plan, signals, sizes, front, program, note, name)
        with self._naming():
            frames = sizes.frames_of(self._field("integration"), self.product.integration)
        self.length = frames * sizes.frame_length
        masked = front.flagging.get("spectra_per_slice", 0)
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
        self._engine = xengine(
            inputs=len(self.selected), integration=frames, spectra_per_slice=masked, **shared
        )
        self.others = [self._engine, *self._selects]
        for block in self.others:
            block.set_log_level("warning")
        array = signals.description
        self._write(
            replace(array, inputs=[array.inputs[number] for number in self.selected]),
            filename=file_of(plan, name),
            channels=sizes.channels,
            tracked=plan.tracking.direction,
        )

    def take_gains(self, gains):
        super().take_gains(gains[self.selected])

    def connect(self, flowgraph, front):
        for port in range(2 if front.flagging else 1):
            before = (front.frames, port)
            if self._selects:
                flowgraph.connect(before, self._selects[port])
                before = (self._selects[port], 0)
            flowgraph.connect(before, (self._engine, port), (self.writers[0], port))


class AveragedProduct(Product):
    """
    visibility_averager -> (join_averages) -> uvh5_sink, for each phase centre and each gate: averages
    of what the X-engine of all inputs sends.

    The parameters are those of FastProduct.
    """

    def __init__(self, plan, signals, sizes, front, program, note, name):
        super().__init__(plan, signals, sizes, front, program, note, name)
        product, wanted = self.product, self.product.integration
        self._pairs = products_of(self.selected)
        if product.baselines is not None:
            self._pairs = self._found("baselines", baselines_named)
            self.selected = sorted({number for pair in self._pairs for number in pair})
        with self._naming():
            items = sizes.items_of(
                self._field("integration"), sizes.integration if wanted is None else wanted
            )
        self.length = items * sizes.integration / sizes.averaged
        self._channels, left = divmod(sizes.channels, product.average_channels)
        if left:
            raise plan.error(
                self._field("average_channels"),
                f"expected a divisor of the {sizes.channels} channels",
                shown=True,
            )
        if product.centers and (signals.channels or sizes.fine > 1):
            raise plan.error(
                self._field("phase_centers"),
                "not of channels that were recorded or split: the delays are those of an F-engine",
            )
        #: [product]: integrations in one of its averages
        self._lengths = self._lengths_of(product) if product.loss is not None else []
        self._averager = visibility_averager(
            channels=sizes.channels,
            inputs=signals.inputs,
            integration=items,
            average_channels=product.average_channels,
            products=self._pairs,
            lengths=self._lengths,
            centers=len(product.centers),
            segments=self._segments(sizes) if product.gate is not None else [],
            gates=product.gates,
            counts=bool(front.flagging),
            device=plan.device.first,
        )
        self._averager.set_log_level("warning")
        self._trackers = make_trackers(plan, signals, sizes, front.stream, product.centers)
        self._kinds = ["fc32", "u32"] if front.flagging else ["fc32"]
        #: ports of the averager, blocks that join them, and the sink, of each file
        self._ways = [
            self._way(center, gate)
            for center in range(max(1, len(product.centers)))
            for gate in range(max(1, len(product.gates)))
        ]
        joins = [join for _, joins, _ in self._ways for join in joins]
        self.others = [self._averager, *self._trackers, *joins]

    def _lengths_of(self, product):
        # channels that were recorded may have followed a source
        tracked = product.centers or self._plan.tracking.direction or self._signals.channels
        radius = product.radius
        if radius is None and tracked:
            radius = 180
        if radius is not None and not tracked:
            raise self._plan.error(
                self._field("radius"),
                f"needs {self._plan.naming('tracking.direction')}, or phase_centers of the product: "
                "where nothing is tracked, all sources move alike",
                shown=True,
            )
        try:
            return average_lengths(
                self._signals.description,
                self._pairs,
                _top(self._signals),
                self.length,
                product.loss,
                radius,
                MOST_LENGTH,
            )
        except ValueError as error:
            raise self._plan.error(self._field("loss"), str(error)) from None

    def _segments(self, sizes):
        """The model of the pulsar's phase."""
        span = HOURS_OF_ENDLESS * 3600
        if sizes.spectra is not None:
            span = sizes.seconds(sizes.spectra)
        start = self._signals.start_time
        return block_segments(
            phase_segments(
                par=_model_of(self._plan, self.name),
                array=self._signals.description,
                start_time=(start[0] - 60, start[1]),
                hours=min(8800.0, max(1.0, math.ceil(span / 3600 + 0.1))),
            )
        )

    def _way(self, center, gate):
        """Ports of the averager, the blocks that join them, and the sink of a file."""
        product = self.product
        lengths = sorted(set(self._lengths)) or [1]
        ports = [
            (number * max(1, len(product.centers)) + center) * max(1, len(product.gates)) + gate
            for number in range(len(lengths))
        ]
        joins, products = [], self._pairs
        if len(lengths) > 1:
            of_length = [
                [pair for pair, one in zip(self._pairs, self._lengths) if one == length]
                for length in lengths
            ]
            joins = [
                join_averages(self._channels, of_length, lengths, kind) for kind in self._kinds
            ]
            products = joins[0].parts()
            for kind in range(len(joins)):
                for port, length in zip(ports, lengths):
                    # all that belongs to the longest average waits for it
                    self._averager.set_min_output_buffer(
                        port + kind * self._averager.outputs(), 2 * lengths[-1] // length + 2
                    )
        tracked = self._plan.tracking.direction
        sink = self._write(
            self._signals.description,
            filename=file_of(self._plan, self.name).replace("{bin}", str(gate)),
            channels=self._channels,
            tracked=product.centers[center] if product.centers else tracked,
            products=products,
        )
        return ports, joins, sink

    def followers(self):
        return self._trackers

    def times(self):
        longest = max(self._lengths, default=1)
        return seconds_text(self.length) + (
            f" to {seconds_text(longest * self.length)}" if longest > 1 else ""
        )

    def connect(self, flowgraph, front):
        for kind in range(len(self._kinds)):
            flowgraph.connect((self.engine, kind), (self._averager, kind))
            for ports, joins, sink in self._ways:
                before = [(self._averager, port + kind * self._averager.outputs()) for port in ports]
                if joins:
                    for number, port in enumerate(before):
                        flowgraph.connect(port, (joins[kind], number))
                    before = [(joins[kind], 0)]
                flowgraph.connect(before[0], (sink, kind))
        connect_trackers(flowgraph, self._trackers, self._averager, front)

    #: the block that sends the visibilities of all inputs, to be set before connect()
    engine = None


def make_products(plan, signals, sizes, front, correlator, program, note):
    """The products of a plan, beside the correlation of all inputs."""
    found, paths = [], dict.fromkeys(
        map(os.path.realpath, correlator.files()), plan.naming("outputs.file")
    )
    for name, product in plan.products.items():
        kind = FastProduct if product.fast else AveragedProduct
        made = kind(plan, signals, sizes, front, program, note, name)
        made.engine = correlator.visibilities
        found.append(made)
        for path in made.files():
            whose = paths.setdefault(os.path.realpath(path), f"products.{name}")
            if whose != f"products.{name}":
                raise plan.error(f"products.{name}.file", f"is that of {whose}, too", shown=path)
    return found

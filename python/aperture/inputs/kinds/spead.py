#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""`spead:`, samples of digitisers as heaps of SPEAD."""

import dataclasses
import time
from fractions import Fraction

from ...formats.spead.heaps import SAMPLE_BITS
from ...network.addresses import parse_addresses
from ...parameters.errors import ParameterError
from ...parameters.rules import whole_reader
from ...parameters.times import read_time, whole_and_fraction
from ..input_format import InputFormat, Option, one_of
from ..receivers import array_of_receivers
from ..recordings import describe_with
from ..signals import Signals
from ..spead_input import SpeadInput
from ..values import CENTER, RATE


def ids(text):
    """Whole numbers, as 0x1a or 26, with semicolons between them."""
    try:
        found = [int(part, 0) for part in text.split(";")]
    except ValueError:
        raise ValueError("expected whole numbers with semicolons between them") from None
    if not all(0 <= number < 2**48 for number in found) or len(set(found)) < len(found):
        raise ValueError("expected different numbers from 0 to 2^48 - 1")
    return found


class Spead(InputFormat):
    kind = "spead"
    summary = "heaps of digitisers from a network (SPEAD), until they end or Ctrl-C"
    names = "ADDRESS:PORT[,ADDRESS:PORT...]"
    live = True
    packages = "network"
    options = {
        "rate": Option(RATE, "samples a second of each input; must be given", "HZ"),
        "freq": Option(CENTER, "sky frequency of the middle of the band; must be given", "HZ"),
        "sync": Option(
            read_time, "UTC or seconds since 1970 at timestamp 0; must be given", "TIME"
        ),
        "inputs": Option(
            whole_reader(1, 1024), "number of inputs; default: those of --array, or of ids", "N"
        ),
        "ids": Option(ids, "digitiser_id of each input, in order; default: 0;1;...", "N;N..."),
        "type": Option(one_of(*SAMPLE_BITS), "type of the samples; default: s10", "TYPE"),
        "samples": Option(whole_reader(1, 1 << 24), "samples in a heap; default: 4096", "N"),
        "heaps": Option(
            whole_reader(1, 1 << 20),
            "heaps of an input that are handled at once; default: those of 20 ms",
            "N",
        ),
        "window": Option(
            whole_reader(1, 65536), "number of such times that a heap may be late; default: 4", "N"
        ),
        "interface": Option(
            str, "address of the network interface for multicast, or of the ibverbs card", "ADDRESS"
        ),
        "transport": Option(
            one_of("socket", "ibverbs"),
            "way in which heaps come: socket, or past the system by ibverbs; default: socket",
            "socket|ibverbs",
        ),
    }

    def parse(self, text, array=None, seed=None):
        request = super().parse(text, array, seed)
        for key, example in (("rate", "1712e6"), ("freq", "1284e6"), ("sync", "1700000000")):
            if key not in request.values:
                raise request.error(f"{key} is missing: add ,{key}={example}")
        return request

    def open(self, request):
        values = request.values
        try:
            parse_addresses("address", list(request.names))
        except ParameterError as error:
            raise request.error(str(error)) from None
        numbers = values.get("ids")
        array = request.array
        rate, frequency = float(values["rate"]), float(values["freq"])
        count = values.get("inputs") or (len(numbers) if numbers else None)
        if count is None:
            if array is None:
                raise request.error("inputs is missing: neither --array nor ids= says how many")
            from ...arrays.array_description import ArrayDescription, load_array

            loaded = array if isinstance(array, ArrayDescription) else load_array(array)
            count = len(loaded.inputs)
        numbers = numbers or list(range(count))
        if len(numbers) != count:
            raise request.error(f"ids has {len(numbers)} numbers for {count} inputs")
        description, warnings = describe_with(
            request,
            "digitisers",
            lambda: array_of_receivers(count, rate, frequency),
            count,
            rate,
            frequency,
        )
        samples = values.get("samples", 4096)
        heaps = values.get("heaps") or max(1, round(rate * 0.02 / samples))
        parameters = dict(
            address=list(request.names),
            sample_rate=values["rate"],
            sync_time=values["sync"],
            center_frequency=frequency,
            sample_type=values.get("type", "s10"),
            samples_per_heap=samples,
            heaps_per_chunk=heaps,
            window=values.get("window", 4),
            interface=values.get("interface", ""),
            transport=values.get("transport", "socket"),
        )
        return signals_of(description, parameters, numbers, warnings)


def signals_of(description, parameters, numbers, warnings):
    """Signals of digitisers with these numbers."""

    def part(first, count):
        return signals_of(
            dataclasses.replace(description, inputs=description.inputs[first : first + count]),
            parameters,
            numbers[first : first + count],
            warnings,
        )

    now = time.time()
    return Signals(
        description,
        parameters["sample_type"],
        float(parameters["sample_rate"]),
        parameters["center_frequency"],
        None,
        lambda samples: SpeadInput(samples, inputs=len(numbers), senders=numbers, **parameters),
        whole_and_fraction(Fraction(now)),
        warnings=list(warnings),
        ports=len(numbers),
        endless=True,
        sync_time=parameters["sync_time"],
        part=part,
    )


FORMAT = Spead()

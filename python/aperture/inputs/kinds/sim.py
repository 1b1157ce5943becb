#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""`sim:`, a simulated array."""

from ...array_source import DEFAULT_START_TIME, array_source
from ...arrays.array_description import find_array, load_array
from ...parameters.times import read_time, whole_and_fraction
from ..input_format import InputFormat, Option
from ..signals import Signals

DEFAULT_SEED = 1


class Simulation(InputFormat):
    kind = "sim"
    summary = "a simulated array: a description in YAML, or the name of one that is shipped"
    names = "ARRAY.yaml"
    options = {
        "start": Option(
            lambda text: whole_and_fraction(read_time(text)),
            "time of the first sample in UTC, such as "
            "2024-06-21T11:00:00, for sources that move with the sky (default: "
            "2024-01-01T00:00:00)",
            "TIME",
        )
    }
    simulates = True

    def open(self, request):
        if len(request.names) > 1:
            raise request.error("one array can be simulated at a time")
        (name,) = request.names
        description = load_array(name)
        seed = DEFAULT_SEED if request.seed is None else request.seed
        start = request.values.get("start", (DEFAULT_START_TIME, 0.0))

        def source(samples):
            return array_source(
                description,
                type="fc32",
                samples=samples,
                seed=seed,
                start_time=start,
                inputs_per_port=len(description.inputs),
            )

        return Signals(
            description,
            "fc32",
            description.sample_rate,
            description.center_frequency,
            None,
            source,
            start,
            files=[str(find_array(name))],
        )


FORMAT = Simulation()

#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""`sim:`, a simulated array."""

from ...array_source import DEFAULT_START_TIME, array_source
from ...arrays.array_description import find_array, load_array
from ..input_format import InputFormat
from ..signals import Signals

DEFAULT_SEED = 1


class Simulation(InputFormat):
    kind = "sim"
    summary = "a simulated array: a description in YAML, or the name of one that is shipped"
    names = "ARRAY.yaml"
    simulates = True

    def open(self, request):
        if len(request.names) > 1:
            raise request.error("one array can be simulated at a time")
        (name,) = request.names
        description = load_array(name)
        seed = DEFAULT_SEED if request.seed is None else request.seed

        def source(samples):
            return array_source(description, type="fc32", samples=samples, seed=seed,
                                inputs_per_port=len(description.inputs))

        return Signals(description, "fc32", description.sample_rate, description.center_frequency,
                       None, source, (DEFAULT_START_TIME, 0.0), files=[str(find_array(name))])


FORMAT = Simulation()

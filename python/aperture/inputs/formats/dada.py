#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""`dada:`, recordings of PSRDADA."""

import os

from ... import aperture_python
from ...streams.silent_block import silent
from ..input_format import InputFormat
from ..recordings import check_recording, describe
from ..signals import Signals


class Dada(InputFormat):
    kind = "dada"
    summary = "a PSRDADA recording"

    def open(self, request):
        if len(request.names) > 1:
            raise request.error("one file can be read at a time")
        (name,) = request.names
        check_recording(name)
        # a name need not be UTF-8, which text would become on its way to C++
        filename = os.fsencode(name)
        first = silent(aperture_python.dada_source, filename=filename)
        description, more = describe(request, name, first.header().get("TELESCOPE", ""),
                                     first.inputs(), first.sample_rate(),
                                     first.center_frequency())

        def source(samples):
            return silent(aperture_python.dada_source, filename=filename, samples=samples)

        return Signals(description, first.type(), first.sample_rate(), first.center_frequency(),
                       first.samples(), source, first.start_time(), first.inverted(),
                       files=[name], warnings=[text for text in [first.warning()] if text] + more)


FORMAT = Dada()

#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""`gsb:`, recordings of the software backend of GMRT."""

from dataclasses import replace

from ...formats.baseband_files import open_gsb
from ...formats.recordings import Piece, Recording, check_recording
from ...parameters.rules import whole_reader
from ..baseband_input import OPTIONS
from ..channels import chosen_channels, signals_of_spectra
from ..input_format import InputFormat, Option, one_of
from ..packaged_recordings import signals_of_packages
from ..packaged_source import packaged_source
from ..recordings import center_of


class Gsb(InputFormat):
    kind = "gsb"
    summary = "GMRT's software backend: raw samples, or channels of a phased array"
    names = "TIMESTAMPS,DATA[,DATA...]"
    packages = "formats"
    modules = ("baseband",)
    options = {
        "frame": Option(
            whole_reader(1, 1 << 31),
            "samples, or spectra, from a timestamp to the next; default: those of 4 MiB of each "
            "file of data",
            "N",
        ),
        "nchan": Option(
            whole_reader(1, 1 << 16),
            "channels; default: 1 of raw samples, 512 of a phased array",
            "N",
        ),
        "npol": Option(
            whole_reader(1, 2),
            "polarisations of a phased array, whose files are those of the first and then of the "
            "second; default: 2 of four files, otherwise 1",
            "1|2",
        ),
        "bps": Option(
            whole_reader(4, 8),
            "bits of a component, 4 or 8; default: 4 of raw samples, 8 of a phased array",
            "4|8",
        ),
        **OPTIONS,
        "band": Option(
            one_of("rising", "falling"),
            "whether the sky frequency rises or falls with the number of a channel; default: "
            "rising",
            "rising|falling",
        ),
    }

    def open(self, request):
        values = request.values
        if len(request.names) < 2:
            raise request.error(f"expected {self.kind}:{self.names}: the file of timestamps first")
        if values.get("bps", 4) not in (4, 8):
            raise request.error(f"bps={values['bps']}: expected 4 or 8")
        for name in request.names:
            check_recording(name)
        name, *data = request.names
        of_format = (values.get(key) for key in ("rate", "frame", "nchan", "npol", "bps"))
        found = open_gsb(name, data, *of_format)
        if found.channels:
            return self._of_channels(request, found)
        if "band" in values:
            raise request.error("band= is not allowed: the files have raw samples, no channels")
        center, told = center_of(request, name, "GSB", 1, float(found.rate))
        recording = Recording(
            name,
            1,
            "f32",
            False,
            found.rate,
            center,
            [Piece(name, 0, found.samples, found.start)],
            values.get("inverted") == "yes",
            telescope="GMRT",
            warnings=found.warnings,
        )
        return signals_of_packages(request, [recording], {name: found.file}, found.files, told)

    @staticmethod
    def _of_channels(request, found):
        """The Signals of a phased array: its channels, as they are."""
        values, channels = request.values, found.channels
        width = float(found.rate)
        low, high = chosen_channels(request, channels)
        middle, told = center_of(request, found.name, "GSB", found.inputs, width * channels)
        count, falling = high - low + 1, values.get("band") == "falling"
        first = middle - width * (channels - 1) / 2
        places = [channels - 1 - n if falling else n for n in range(low, high + 1)]
        file = replace(found.file, channels=(slice(None), places))
        parameters = dict(
            rows=[[(file, 0, found.samples, 0)]],
            inputs=[found.inputs],
            coding="fc32",
            rate=found.rate,
            start_time=found.start,
            center_frequency=first + (low + count // 2) * width,
            inverted=values.get("inverted") == "yes",
            channels=count,
            width=width,
        )
        return signals_of_spectra(
            request,
            found.name,
            packaged_source,
            parameters,
            "fc32",
            rate=found.rate,
            files=found.files,
            warnings=[*found.warnings, *told],
            telescope="GMRT",
        )


FORMAT = Gsb()

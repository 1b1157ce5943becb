#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Arguments of blocks that belong together: each class here is an object of them.

A block takes such an object in the place of the single arguments that have the names of its fields,
whose descriptions both share.
"""

from dataclasses import dataclass

from .description import Anything, Integer, Number, Text
from .rules import INT32


@dataclass(frozen=True)
class HeapSizes:
    """The sizes of SPEAD heaps, and of the items that they make: for spead_source and spead_sink,
    which has no total_channels and heaps_per_chunk."""

    channels: Integer("Channels of a frame or an integration.", 1, INT32) = 1024
    first_channel: Integer("The first of them among all of the array.", 0, INT32) = 0
    polarizations: Integer("Inputs of each sender of voltages; of visibilities 1 or 2.", 1, 16) = 2
    spectra_per_frame: Integer("Spectra of a frame, a multiple of those of a heap.", 1, INT32) = 256
    spectra_per_heap: Integer(
        "Spectra of a heap; of visibilities those of an integration.", 1, INT32
    ) = 256
    channels_per_heap: Integer(
        "A divisor of the channels (spead_sink: of those of an address); 0: all of them.", 0, INT32
    ) = 0
    samples_per_spectrum: Integer(
        "Samples from one spectrum to the next; 0: twice all channels, as of real samples.",
        0,
        INT32,
    ) = 0
    taps: Integer(
        "Taps of the F-engine: timestamps are those of the first sample that a spectrum was made "
        "of, rx_time is that of the middle. (katgpucbf has 16 unless told otherwise.)",
        0,
        1024,
    ) = 8
    sample_type: Text("The type of samples.", "s10", "s12", "s8") = "s10"
    samples_per_heap: Integer("Samples of a heap of samples.", 1, INT32) = 4096


@dataclass(frozen=True)
class FileCalibration:
    """A calibration of visibilities, and what a file of them is to have of it."""

    calibration: Text(
        'What makes the inputs equal, or the name of its file; "" or None: nothing. The '
        "file's history and extra keywords (CALIB, CALSTATE) name it."
    ) = ""
    calibrate: Text(
        '"apply": the visibilities are corrected here; "applied": the F-engine has done '
        'so; "note": they are as they were received.',
        "apply",
        "applied",
        "note",
    ) = "apply"
    scale: Text(
        '"model": corrected visibilities are those of the source that the calibration was '
        "measured with (in Jy where its fluxes are: the file's vis_units says so); "
        '"kelvin": they are in kelvin, as hot and cold loads say (extra keyword '
        "VISUNITS).",
        "model",
        "kelvin",
    ) = "model"
    gains: Anything(
        "Factor of the voltages of each input that is to be known for no more than 8 "
        "bits, as `aperture_fx` measures it. Of calibrated visibilities it is taken out, "
        "of others it is noted (extra keyword GAINS, which aperture_calibrate heeds). "
        "None: 1."
    ) = None


@dataclass(frozen=True)
class RingSize:
    """The size of a ring: bytes, or the seconds of an edge with so many items a second."""

    size: Anything("Bytes of the ring.") = 1 << 27
    seconds: Number(
        "Instead of `size`, if above 0: the seconds that it holds, at `rate`.", 0, unit="s"
    ) = 0.0
    rate: Number("Items a second, frames or samples, for `seconds`.", 0, unit="Hz") = 0.0

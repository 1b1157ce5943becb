#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Channelise, correlate and beamform many antennas: blocks for GNU Radio and Python tools."""

# before extensions, which would fail with pages of text
from .arguments import numpy_version

numpy_version.check()

# the blocks in C++
from . import aperture_python
from .parameters.constructors import clear_errors, clear_errors_of

clear_errors_of(aperture_python)
from .aperture_python import *

# pure Python
from . import transients
from .arguments.version import __version__
from .arrays import geometry
from .arrays.array_description import (
    Antenna,
    ArrayDescription,
    ArrayDescriptionError,
    Input,
    Source,
    find_array,
    load_array,
    save_array,
    shipped_arrays,
)
from .arrays.products import products
from .arrays.pulses import Pulsar, Pulse
from .beams.beams import Beam, load_beams
from .calibration.calibration import Calibration, CalibrationError
from .calibration.calibration_file import load_calibration, save_calibration
from .parameters.description import Parameter, parameters_of
from .parameters.errors import ParameterError
from .parameters.groups import FileCalibration, HeapSizes, RingSize
from .tracking.directions import Direction, parse_direction
from .array_source import array_source
from .bandpass_display import bandpass_display
from .calibrator import calibrator
from .candidate_sink import candidate_sink
from .delay_tracker import delay_tracker
from .device_block import device_block
from .direction_finder import direction_finder
from .filterbank_sink import filterbank_sink
from .folder import folder
from .fringe_display import fringe_display
from .fx_correlator import fx_correlator
from .heimdall_source import heimdall_source
from .hydrogen_source import hydrogen_source
from .inputs.input_source import input_source
from .join_averages import join_averages
from .join_channels import join_channels
from .noise_switch import noise_switch
from .pointing import pointing
from .power_source import power_source
from .psrfits_search_sink import psrfits_search_sink
from .psrfits_sink import psrfits_sink
from .rtl_tcp_source import rtl_tcp_source
from .sky_display import sky_display
from .spead_sink import spead_sink
from .spead_source import spead_source
from .spectrometer import spectrometer
from .spectrum_display import spectrum_display
from .tap import tap
from .uvh5_sink import uvh5_sink
from .vdif_sink import vdif_sink
from .voltage_ring import voltage_ring
from .voltage_sink import voltage_sink
from .waterfall_display import waterfall_display

array_source = clear_errors(array_source)
folder = clear_errors(folder)
tap = clear_errors(tap)
for _block in (
    bandpass_display,
    calibrator,
    candidate_sink,
    delay_tracker,
    device_block,
    direction_finder,
    filterbank_sink,
    fringe_display,
    fx_correlator,
    heimdall_source,
    hydrogen_source,
    input_source,
    join_averages,
    join_channels,
    noise_switch,
    pointing,
    power_source,
    psrfits_search_sink,
    psrfits_sink,
    rtl_tcp_source,
    sky_display,
    spead_sink,
    spead_source,
    spectrometer,
    spectrum_display,
    uvh5_sink,
    vdif_sink,
    voltage_ring,
    voltage_sink,
    waterfall_display,
):
    clear_errors(_block)
del _block, clear_errors, clear_errors_of, numpy_version

/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "error_texts.h"

#include <gnuradio/basic_block.h>
#include <pybind11/pybind11.h>

namespace py = pybind11;

// Headers for binding functions
/**************************************/
// The following comment block is used for
// gr_modtool to insert function prototypes
// Please do not delete
/**************************************/
// BINDING_FUNCTION_PROTOTYPES(
void bind_array_source(py::module& m);
void bind_baseline_order(py::module& m);
void bind_beam_power(py::module& m);
void bind_beamformer(py::module& m);
void bind_block_on_device(py::module& m);
void bind_channel_source(py::module& m);
void bind_copy(py::module& m);
void bind_corner_turn(py::module& m);
void bind_dada_source(py::module& m);
void bind_dedisperser(py::module& m);
void bind_device(py::module& m);
void bind_device_block(py::module& m);
void bind_discard(py::module& m);
void bind_exchange(py::module& m);
void bind_f_engine(py::module& m);
void bind_folder(py::module& m);
void bind_item_ring(py::module& m);
void bind_file_order(py::module& m);
void bind_stored_powers(py::module& m);
void bind_flagger(py::module& m);
void bind_logged(py::module& m);
void bind_measure_offsets(py::module& m);
void bind_packet_layouts(py::module& m);
void bind_packet_sink(py::module& m);
void bind_packet_source(py::module& m);
void bind_pfb_channelizer(py::module& m);
void bind_power_detector(py::module& m);
void bind_power_normalizer(py::module& m);
void bind_pulse_search(py::module& m);
void bind_receiver_tags(py::module& m);
void bind_recording_source(py::module& m);
void bind_replay(py::module& m);
void bind_select(py::module& m);
void bind_select_inputs(py::module& m);
void bind_snapshot(py::module& m);
void bind_spead(py::module& m);
void bind_stream_align(py::module& m);
void bind_synthesizer(py::module& m);
void bind_stream_states(py::module& m);
void bind_tags(py::module& m);
void bind_references(py::module& m);
void bind_tap(py::module& m);
void bind_upchanneliser(py::module& m);
void bind_vdif(py::module& m);
void bind_vdif_source(py::module& m);
void bind_visibility_averager(py::module& m);
void bind_xengine(py::module& m);
void bind_zoom(py::module& m);
// ) END BINDING_FUNCTION_PROTOTYPES

PYBIND11_MODULE(aperture_python, m)
{
    // Allow access to base block methods
    py::module::import("gnuradio.gr");

    keep_error_texts();

    /**************************************/
    // The following comment block is used for
    // gr_modtool to insert binding function calls
    // Please do not delete
    /**************************************/
    // BINDING_FUNCTION_CALLS(
    bind_block_on_device(m);  // before the blocks that derive from it
    bind_recording_source(m); // before the sources that derive from it
    bind_array_source(m);
    bind_baseline_order(m);
    bind_beam_power(m);
    bind_beamformer(m);
    bind_copy(m);
    bind_corner_turn(m);
    bind_channel_source(m);
    bind_dada_source(m);
    bind_dedisperser(m);
    bind_device(m);
    bind_device_block(m);
    bind_discard(m);
    bind_exchange(m);
    bind_f_engine(m);
    bind_folder(m);
    bind_item_ring(m);
    bind_file_order(m);
    bind_stored_powers(m);
    bind_flagger(m);
    bind_logged(m);
    bind_measure_offsets(m);
    bind_packet_layouts(m);
    bind_packet_sink(m);
    bind_packet_source(m);
    bind_pfb_channelizer(m);
    bind_power_detector(m);
    bind_power_normalizer(m);
    bind_pulse_search(m);
    bind_receiver_tags(m);
    bind_replay(m);
    bind_select(m);
    bind_select_inputs(m);
    bind_snapshot(m);
    bind_spead(m);
    bind_stream_align(m);
    bind_synthesizer(m);
    bind_stream_states(m);
    bind_tags(m);
    bind_references(m);
    bind_tap(m);
    bind_upchanneliser(m);
    bind_vdif(m);
    bind_vdif_source(m);
    bind_visibility_averager(m);
    bind_xengine(m);
    bind_zoom(m);
    // ) END BINDING_FUNCTION_CALLS
}

/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(beam_power.h) */
/* BINDTOOL_HEADER_FILE_HASH(cfdfe6ac82bb6e56c87ed97d3f4550ff) */
/***********************************************************************************/

#include "flat.h"
#include "weight_methods.h"
#include <gnuradio/aperture/beam_power.h>
#include <pybind11/complex.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

void bind_beam_power(py::module& m)
{
    using block = gr::aperture::beam_power;
    const block::parameters d;

    py::class_<block,
               gr::aperture::block_on_device,
               gr::block,
               gr::basic_block,
               std::shared_ptr<block>>
        c(m,
          "beam_power",
          R"doc(beamformer and power_detector in one: the beams' voltages never reach memory.

The same as beamformer (with fc32) and power_detector, and incoherent beams beside the coherent
ones, numbered behind them: the sum of the powers of the inputs in its mask. Of a pair, the k-th
input of one mask and the k-th of the other are an antenna.

Products: `power` of each beam; of the pairs 2m, 2m+1 `I`, `IQUV`, or `coherency`: XX, YY,
Re XY*, Im XY*. I = XX + YY, Q = XX - YY, U = 2 Re XY*, V = 2 Im XY*; circular: I = RR + LL,
Q = 2 Re RL*, U = 2 Im RL*, V = RR - LL.

In: blocks `[channel][input][time]` from corner_turn. Out: one f32 item
`[beam or pair][product][channel]` for each integration, with the tags `rx_time` (of its first
spectrum), `spectra` (its length), `counted` (without missing spectra: one number, or one for each
beam or pair and product), and `partial` if the input ended within it. It is the last one: no
integration is made of the zeros alone that fill the last block.

Message port `weights`: dictionary of `weights` (c32vector, shapes as of set_weights()), `gain`
(number, or f32vector of one per beam) or `mask` (u8vector), or several of them, and if wanted
`beam` (long; all without it) and `time` (tuple of uint64 and double: holds from the first block
that starts at or after it). What one message says takes effect at once, and never within a
block. Message port `status`: dictionaries with `event`.

Args:
    channels: of a block
    inputs: of a block
    beams: coherent ones, 0 to 4096
    incoherent_beams: 0 to 4096
    spectra_per_frame: spectra in a frame
    type: of the voltages, fc32, sc8 or sc4
    weights: first weights of all beams, as of set_weights(); zeros if empty
    gains: what voltages are multiplied with, one for each beam; ones if empty
    masks: [beam][input], 0 for inputs that a beam leaves out, the incoherent beams behind the
        coherent ones; ones if empty, which incoherent pairs may not be
    products: power, I, IQUV or coherency
    basis: of the pairs, linear (x, y) or circular (r, l)
    spectra: in an integration: a divisor of spectra_per_frame, or a multiple
    summed_channels: neighbouring channels that become one; a divisor of channels
    mean: divide by what was counted and by summed_channels; or else sums
    device: auto, cpu, cuda or cuda:N
    latency: the longest wait of a call for more input, in seconds; see set_latency()

Raises:
    ValueError: names the parameter, its value and what is allowed
)doc");
    c.def(py::init([](int channels,
                      int inputs,
                      int beams,
                      int incoherent_beams,
                      int spectra_per_frame,
                      const std::string& type,
                      const numbers<std::complex<float>>& weights,
                      const numbers<float>& gains,
                      const numbers<int>& masks,
                      const std::string& products,
                      const std::string& basis,
                      int64_t spectra,
                      int summed_channels,
                      bool mean,
                      const std::string& device,
                      double latency) {
              block::parameters p;
              p.channels = channels;
              p.inputs = inputs;
              p.beams = beams;
              p.incoherent_beams = incoherent_beams;
              p.spectra_per_frame = spectra_per_frame;
              p.type = type;
              p.weights = rows_of_inputs("weights", weights, inputs);
              p.gains = flat(gains);
              p.masks = rows_of_inputs("mask", masks, inputs);
              p.products = products;
              p.basis = basis;
              p.spectra = spectra;
              p.summed_channels = summed_channels;
              p.mean = mean;
              p.device = device;
              p.latency = latency;
              return block::make(p);
          }),
          py::arg("channels") = d.channels,
          py::arg("inputs") = d.inputs,
          py::arg("beams") = d.beams,
          py::arg("incoherent_beams") = d.incoherent_beams,
          py::arg("spectra_per_frame") = d.spectra_per_frame,
          py::arg("type") = d.type,
          py::arg("weights") = numbers<std::complex<float>>(),
          py::arg("gains") = numbers<float>(),
          py::arg("masks") = numbers<int>(),
          py::arg("products") = d.products,
          py::arg("basis") = d.basis,
          py::arg("spectra") = d.spectra,
          py::arg("summed_channels") = d.summed_channels,
          py::arg("mean") = d.mean,
          py::arg("device") = d.device,
          py::arg("latency") = d.latency,
          "Makes the block; see the class for the arguments.")
        .def("implementation", &block::implementation, "What computes, a string.");
    bind_weight_methods<block>(c);
}

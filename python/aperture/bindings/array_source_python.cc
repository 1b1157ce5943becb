/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(array_source.h) */
/* BINDTOOL_HEADER_FILE_HASH(fa7b84a1559d51428f3461f010343142) */
/***********************************************************************************/

#include "block_binding.h"
#include <gnuradio/aperture/array_source.h>
#include <gnuradio/sync_block.h>

namespace py = pybind11;

void bind_array_source(py::module& m)
{
    using block = gr::aperture::array_source;
    auto c = bind_block<block, gr::sync_block>(
        m,
        "array_source",
        R"doc(Simulates an array: the samples of all of its inputs.

Input i, at r_i = (east, north, up) of the array's origin, puts out

    x_i(t) = gain_i (n_i(t) + sum_s sqrt(flux_s) s(t - tau_is) exp(-2 pi i f0 tau_is)),
    tau_is = -r_i.d_s/c + cable delay_i,

d_s the direction of source s and f0 the centre frequency. A cable lies in front of the mixer:
its delay acts as one on the way to the antenna. The receiver noise n_i and the signals s are
white complex Gaussian noise of power E|n|^2 = E|s|^2 = 1, all independent. Flux is thus the
power of a source in an input in units of that of the receiver noise, and the correlation
coefficient of two inputs that see one source is S/(1 + S). Sources are unpolarised: x and y of
an antenna see independent signals of that flux each, and so do r = (x + iy)/sqrt(2) and
l = (x - iy)/sqrt(2).

The delays are exact, whole samples and fractions, over the band of the sources: their spectrum
is flat within 1e-4 for |f| < 0.495 of the sample rate (99 % of the band) and falls to zero at
half the rate. Sources stand still, or move with the sky, from azimuth and elevation at the
first sample on, and drift among the stars on a great circle as the Sun does: delay and phase
follow at every sample. A source with a path is at p(t) near the Earth, between its waypoints on
a smooth curve and after them on a straight line, and tau_is = (|p - r_i| - |p|)/c + cable
delay_i. A source below the horizon is not seen (checked once every few thousand
samples).

A source may also have pulses: flux_s is then a function of time, the steady flux and

    sum_k fluence g((phase(t) - k) P),  phase(t) = phase + dt/P - P' dt^2 / (2 P^2)

of each of its pulsars (dt = t - epoch, fluence = mean_flux P, P' the derivative of the period
P), and fluence g(t - time) of each of its single pulses. g is a Gaussian of integral 1 and the
width given, so that a pulse peaks at mean_flux P / (1.0645 width). These times are the true
ones: at the array's origin and at infinite frequency. At the sky frequency f the signal comes
K dm / f^2 later, K = 1/2.41e-4 s MHz^2 cm^3/pc, applied to the voltages as a filter
exp(2 pi i K dm / f). With a scattering time the power of a pulse is convolved with exp(-t/tau)/tau, tau =
scattering_time (f/scattering_frequency)^scattering_index; over the band tau is exact within
1e-3.

Ports out: inputs/inputs_per_port, an item is one sample of each input of the port. Item 0
carries rx_time, rx_freq and rx_rate. The samples depend on the seed, the names of inputs and
sources and the parameters, not on the order of inputs or sources (but for the rounding of
their sum) or on how the scheduler cuts them. Each start of the flowgraph, also by unlock(),
begins at the first sample.

The block computes on the CPU, whatever the other blocks run on.
)doc",
        "",
        [](py::object& scope) {
            bind_struct<block::input>(scope, "input", "One signal path of the array.\n");
            bind_struct<block::pulsar>(
                scope,
                "pulsar",
                "A train of pulses of a source, or one component of such a train.\n");
            bind_struct<block::pulse>(scope, "pulse", "A single pulse of a source.\n");
            bind_struct<block::waypoint>(
                scope, "waypoint", "The place of a source near the Earth at a time.\n");
            bind_struct<block::source>(scope, "source", "A point source in the sky.\n");
            bind_struct<block::transmitter>(
                scope,
                "transmitter",
                "Interference: a transmitter nearby. It sends a carrier, which may be "
                "pulsed and drift in frequency.\n");
        });
    c.def("clamped",
          &block::clamped,
          "Returns, for each input, the complex samples since the start that were "
          "clamped as they did not fit into the type. The block may be a few thousand "
          "samples ahead of its output.")
        .def("finish",
             &block::finish,
             "Ends the stream: blocks downstream get all that was sent, and then end as "
             "well. If the source is not running, its next start ends at once.");
}

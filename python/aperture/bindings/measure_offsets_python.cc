/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(measure_offsets.h) */
/* BINDTOOL_HEADER_FILE_HASH(da7844950bb982ff2ae269c5f5553fb6) */
/***********************************************************************************/

#include <gnuradio/aperture/measure_offsets.h>
#include <pybind11/complex.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

namespace {

using gr::aperture::offset_search;
using gr::aperture::receiver_offset;
using gr::aperture::receiver_offsets;
using one_input =
    py::array_t<std::complex<float>, py::array::c_style | py::array::forcecast>;

std::string text_of(const receiver_offset& offset)
{
    if (!offset.found)
        return "<receiver_offset: " + offset.reason + ">";
    return py::str("<receiver_offset: delay {:.4f}({:.4f}) samples, phase {:.4f}({:.4f}) "
                   "rad, gain {:.4g}, signal-to-noise {:.1f}>")
        .format(double(offset.lag) + offset.fraction,
                offset.sigma_delay,
                offset.phase,
                offset.sigma_phase,
                offset.gain,
                offset.signal_to_noise);
}

receiver_offsets measure(const py::object& samples,
                         int64_t most_lag,
                         double false_alarms,
                         int reference,
                         double most_delay_rate,
                         double most_phase_rate)
{
    std::vector<one_input> inputs;
    std::vector<const std::complex<float>*> pointers;
    if (!py::isinstance<py::sequence>(samples) && !py::isinstance<py::array>(samples))
        throw py::value_error("samples: " + std::string(py::str(py::type::of(samples))) +
                              " is not allowed: must be [input][sample]");
    for (const auto& given : samples) {
        const auto name = "samples of input " + std::to_string(inputs.size());
        const auto input = one_input::ensure(given);
        if (!input) {
            PyErr_Clear();
            throw py::value_error(name + ": not an array of numbers");
        }
        if (input.ndim() != 1)
            throw py::value_error(name + ": " + std::to_string(input.ndim()) +
                                  " axes are not allowed: must have one, of samples");
        if (!inputs.empty() && input.size() != inputs[0].size())
            throw py::value_error(name + ": a length of " + std::to_string(input.size()) +
                                  " is not allowed: must be that of input 0, " +
                                  std::to_string(inputs[0].size()));
        inputs.push_back(input);
        pointers.push_back(input.data());
    }
    const offset_search search{
        most_lag, false_alarms, reference, most_delay_rate, most_phase_rate
    };
    const int64_t count = inputs.empty() ? 0 : int64_t(inputs[0].size());
    const py::gil_scoped_release release;
    return gr::aperture::measure_offsets(pointers, count, search);
}

} // namespace

void bind_measure_offsets(py::module& m)
{
    const offset_search defaults;

    py::class_<receiver_offset>(
        m,
        "receiver_offset",
        R"doc(The correction that aligns an input with the reference.

With r the samples of the reference, x those of the input, n the index of a sample of the
reference, and m = n - time:

    r[n] ~ gain exp(i (phase + phase_rate m)) x[n - lag - fraction - delay_rate m]

The phase is that of the middle of the band (frequency 0 at baseband).
)doc")
        .def_readonly("found",
                      &receiver_offset::found,
                      "bool: True if the offset was found; all else holds only then")
        .def_readonly("reason", &receiver_offset::reason, "str: why it was not found")
        .def_readonly("lag", &receiver_offset::lag, "int: whole samples of the delay")
        .def_readonly("fraction",
                      &receiver_offset::fraction,
                      "samples, -0.5 to 0.5: the rest of the delay")
        .def_readonly("phase", &receiver_offset::phase, "radians, -pi to pi")
        .def_readonly("gain",
                      &receiver_offset::gain,
                      "factor of the amplitude, without unit; two inputs are taken to "
                      "have the same fraction of noise of their own")
        .def_readonly("delay_rate",
                      &receiver_offset::delay_rate,
                      "samples per sample; 0 on a common clock")
        .def_readonly("phase_rate",
                      &receiver_offset::phase_rate,
                      "radians per sample; 0 on a common clock")
        .def_readonly("time",
                      &receiver_offset::time,
                      "index of the reference's sample at which delay and phase hold: "
                      "the middle of the samples that were compared")
        .def_readonly(
            "coherence",
            &receiver_offset::coherence,
            "fraction of the amplitude that it has in common with the reference")
        .def_readonly("signal_to_noise",
                      &receiver_offset::signal_to_noise,
                      "coherence sqrt(N / (1 - coherence^2)) for two inputs with N "
                      "samples; 1/(sqrt(2) sigma_phase) for more")
        .def_readonly("sigma_delay",
                      &receiver_offset::sigma_delay,
                      "standard deviation of the delay in samples (Cramer-Rao bound)")
        .def_readonly("sigma_phase",
                      &receiver_offset::sigma_phase,
                      "standard deviation of the phase in radians (Cramer-Rao bound)")
        .def_readonly("sigma_delay_rate",
                      &receiver_offset::sigma_delay_rate,
                      "standard deviation of the delay rate in samples per sample")
        .def_readonly("sigma_phase_rate",
                      &receiver_offset::sigma_phase_rate,
                      "standard deviation of the phase rate in radians per sample")
        .def_readonly("phase_wander",
                      &receiver_offset::phase_wander,
                      "radians: rms deviation of the phase from a straight line in time, "
                      "without noise; not contained in the bounds")
        .def_readonly("delay_wander",
                      &receiver_offset::delay_wander,
                      "samples: the same of the delay")
        .def("__repr__", &text_of);

    py::class_<receiver_offsets>(
        m,
        "receiver_offsets",
        "The offsets that measure_offsets() found for some inputs.")
        .def_readonly("reference",
                      &receiver_offsets::reference,
                      "index of the input that all others were compared with; -1: "
                      "nothing was found")
        .def_readonly("inputs",
                      &receiver_offsets::inputs,
                      "[input] receiver_offset; that of the reference is zero")
        .def_readonly("threshold",
                      &receiver_offsets::threshold,
                      "coherence sqrt(N) from which on an input is found")
        .def_readonly(
            "lags",
            &receiver_offsets::lags,
            "number of independent lags of noise that were searched on each baseline")
        .def_readonly("closure_delay",
                      &receiver_offsets::closure_delay,
                      "samples: rms difference of baselines from the differences of "
                      "their inputs; 0 for two inputs")
        .def_readonly(
            "closure_phase", &receiver_offsets::closure_phase, "the same in radians");

    m.def("measure_offsets",
          &measure,
          py::arg("samples"),
          py::arg("most_lag") = defaults.most_lag,
          py::arg("false_alarms") = defaults.false_alarms,
          py::arg("reference") = defaults.reference,
          py::arg("most_delay_rate") = defaults.most_delay_rate,
          py::arg("most_phase_rate") = defaults.most_phase_rate,
          R"doc(Measures the offsets of receivers from a signal that they have in common.

All receivers must have received the same noise source, or the same sky, while the samples were
taken. The lag is searched for by correlation; the threshold comes from the extreme values of
the noise of so many lags. Then delays and phases are fitted to the cross-spectra of all pairs
of inputs, with least squares over all baselines, and gains to their amplitudes.

Memory: the samples, and up to a gigabyte (64 bytes per sample of most_lag).

Args:
    samples: [input][sample] of complex numbers, at least 2 inputs and 256 samples, as one
        array or a list of arrays of the same length
    most_lag: lags from -most_lag to most_lag samples are searched; 0: half the samples
    false_alarms: the probability that an input that has nothing in common with the others is
        found nevertheless
    reference: input that the others are compared with; -1: the one that correlates best. If
        a given one correlates with none, another one is taken (see
        receiver_offsets.reference).
    most_delay_rate: the largest difference of the sample clocks of receivers on separate
        crystals, in samples per sample (1 ppm is 1e-6)
    most_phase_rate: the same of their oscillators, in radians per sample
        (2 pi 1e-6 ppm rx_freq / rx_rate). Both 0: they are on a common clock. On separate
        ones a coherence of about 0.5 is needed, since only a thousand samples can be
        compared before delay and phase are known.

Returns:
    receiver_offsets

Raises:
    ValueError: names the parameter, its value and what is allowed; samples that are not
        finite; lengths that differ
)doc");
}

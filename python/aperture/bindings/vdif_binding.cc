/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

//! \file The parts in C++ of vdif_sink.

#include "formats/vdif/vdif_encoder.h"
#include "network/udp_sender.h"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <cstring>
#include <optional>

namespace py = pybind11;

namespace {

using gr::aperture::formats::vdif_encoder;
using gr::aperture::network::udp_sender;
using bytes_of = py::array_t<uint8_t, py::array::c_style>;

vdif_encoder encoder_of(const std::string& type,
                        int inputs,
                        int channels,
                        const std::vector<int>& threads,
                        int files,
                        int bits,
                        int data_bytes,
                        double step,
                        double level,
                        double level_frames,
                        int64_t frames_per_second,
                        int station,
                        const std::array<uint32_t, 4>& extended)
{
    using gr::aperture::sample_type;
    vdif_encoder::parameters p;
    p.type = gr::aperture::parse_sample_type("type",
                                             type,
                                             { sample_type::f32,
                                               sample_type::s16,
                                               sample_type::s8,
                                               sample_type::fc32,
                                               sample_type::sc16,
                                               sample_type::sc8 });
    p.inputs = inputs;
    p.channels = channels;
    p.threads = threads;
    p.files = files;
    p.bits = bits;
    p.data_bytes = data_bytes;
    p.step = step;
    p.level = level;
    p.level_frames = level_frames;
    p.frames_per_second = frames_per_second;
    p.station = station;
    p.extended = extended;
    return vdif_encoder(p);
}

bytes_of encode(vdif_encoder& encoder,
                const std::optional<py::array>& samples,
                int64_t frames,
                int64_t first,
                py::array_t<bool, py::array::c_style>& missing)
{
    const auto threads = encoder.threads(), files = encoder.files();
    if (missing.ndim() != 2 || missing.shape(0) != frames || missing.shape(1) != threads)
        throw py::value_error("missing: must be [frame][thread]");
    const void* from = nullptr;
    if (samples) {
        if (!(samples->flags() & py::array::c_style) ||
            samples->nbytes() < frames * encoder.bytes_of_samples())
            throw py::value_error("samples: must be those of all frames, contiguous");
        from = samples->data();
    }
    bytes_of out(std::vector<py::ssize_t>{
        files, frames, threads / files, py::ssize_t(encoder.frame_bytes()) });
    auto* lost = reinterpret_cast<uint8_t*>(missing.mutable_data());
    auto* to = out.mutable_data();
    {
        const py::gil_scoped_release released;
        encoder.encode(from, frames, first, lost, to);
    }
    return out;
}

void send_frames(udp_sender& sender,
                 const bytes_of& frames,
                 int to,
                 std::optional<uint64_t> number)
{
    if (frames.ndim() != 2)
        throw py::value_error("frames: must be [frame][byte]");
    const auto count = frames.shape(0), size = frames.shape(1);
    const auto* from = frames.data();
    const py::gil_scoped_release released;
    for (py::ssize_t i = 0; i < count; i++, from += size) {
        std::vector<uint8_t> packet;
        packet.reserve(size_t(size) + sizeof(uint64_t));
        if (number) {
            const uint64_t here = *number + uint64_t(i);
            const auto* bytes = reinterpret_cast<const uint8_t*>(&here); // little-endian
            packet.insert(packet.end(), bytes, bytes + sizeof here);
        }
        packet.insert(packet.end(), from, from + size);
        sender.send(to, std::move(packet));
    }
    sender.flush();
}

} // namespace

void bind_vdif(py::module& m)
{
    auto vdif = m.def_submodule("vdif", "Frames of VDIF, and their way to a network.");
    py::class_<vdif_encoder>(vdif, "encoder", R"doc(Makes VDIF frames of samples.

Codes and levels are those of lib/formats/vdif/vdif_encoder.h.
)doc")
        .def(py::init(&encoder_of),
             py::kw_only(),
             py::arg("type"),
             py::arg("inputs"),
             py::arg("channels"),
             py::arg("threads"),
             py::arg("files"),
             py::arg("bits"),
             py::arg("data_bytes"),
             py::arg("step"),
             py::arg("level"),
             py::arg("level_frames"),
             py::arg("frames_per_second"),
             py::arg("station"),
             py::arg("extended"))
        .def("reset", &vdif_encoder::reset, "Forgets the levels.")
        .def(
            "set_epoch",
            &vdif_encoder::set_epoch,
            py::arg("epoch"),
            "Sets the reference epoch of the headers that follow, half years since 2000.")
        .def("levels",
             &vdif_encoder::levels,
             "Returns the rms of a component of each input by which the next frame is "
             "quantised; 0 where nothing has come yet.")
        .def("encode",
             &encode,
             py::arg("samples").none(true),
             py::arg("frames"),
             py::arg("first"),
             py::arg("missing").noconvert(),
             R"doc(Makes the frames of some times.

Args:
    samples: [time][input], contiguous, of so many frames; None: all of them are missing
    frames: how many of each thread
    first: number of the first one, counted from the reference epoch
    missing: bool [frame][thread]: whether a frame is invalid; those of which a sample is not a
        number are set, too

Returns:
    uint8 [file][frame][thread][byte]
)doc");
    py::class_<udp_sender>(vdif, "sender", "Sends frames in packets of UDP.")
        .def(py::init<const std::vector<std::string>&, const std::string&>(),
             py::arg("addresses"),
             py::arg("interface"))
        .def("send",
             &send_frames,
             py::arg("frames").noconvert(),
             py::arg("to"),
             py::arg("number") = py::none(),
             R"doc(Sends frames, a packet each.

Args:
    frames: uint8 [frame][byte]
    to: number of the address
    number: sequence number of the first packet, 8 bytes in front of each frame, little-endian; None:
        there is none

Raises:
    RuntimeError: naming address and port
)doc");
}

/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "network/spead_frames.h"
#include "network/spead_place.h"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

namespace {

using namespace gr::aperture::network;

// The signature that spead2 expects.
constexpr char signature[] = "void (void *, size_t, void *)";

void free_stream(PyObject* capsule)
{
    delete static_cast<spead_stream*>(PyCapsule_GetContext(capsule));
}

py::object capsule_of(const std::shared_ptr<spead_placement>& placement,
                      int64_t statistics_base,
                      int64_t fixed_sender)
{
    if (statistics_base < 0)
        throw py::value_error("statistics_base: must not be negative");
    if (fixed_sender < -1 || fixed_sender >= int64_t(placement->layout().senders.size()))
        throw py::value_error("fixed_sender: must be -1 or the place of a sender");
    auto stream = std::make_unique<spead_stream>();
    *stream = { placement, statistics_base, fixed_sender };
    auto capsule = py::reinterpret_steal<py::object>(PyCapsule_New(
        reinterpret_cast<void*>(&gr_aperture_spead_place), signature, free_stream));
    if (!capsule || PyCapsule_SetContext(capsule.ptr(), stream.get()) != 0)
        throw py::error_already_set();
    stream.release();
    return capsule;
}

using bytes = py::array_t<uint8_t, py::array::c_style>;

voltage_heaps layout_of(int64_t slots,
                        int64_t senders,
                        int64_t ranges,
                        int64_t channels,
                        int64_t spectra,
                        int64_t polarizations)
{
    return { slots, senders, ranges, channels, spectra, polarizations };
}

void need(const py::buffer_info& info, int64_t size, const char* name)
{
    if (info.size * info.itemsize < size)
        throw py::value_error(std::string(name) + ": has " +
                              std::to_string(info.size * info.itemsize) + " bytes, " +
                              std::to_string(size) + " are needed");
}

int64_t to_frame(const bytes& heaps,
                 const bytes& present,
                 const voltage_heaps& layout,
                 bytes& frame)
{
    const auto from = heaps.request(), there = present.request(),
               to = frame.request(true);
    need(from, layout.frame_bytes(), "heaps");
    need(there, layout.heaps(), "present");
    need(to, layout.frame_bytes(), "frame");
    const py::gil_scoped_release release;
    return heaps_to_frame(static_cast<const int8_t*>(from.ptr),
                          static_cast<const uint8_t*>(there.ptr),
                          layout,
                          static_cast<int8_t*>(to.ptr));
}

void to_heaps(const bytes& frame,
              int64_t times,
              int64_t inputs,
              int64_t first_input,
              int64_t first,
              int64_t place,
              int64_t count,
              const voltage_heaps& layout,
              bytes& heaps)
{
    const auto from = frame.request(), to = heaps.request(true);
    need(from, layout.ranges * layout.channels * inputs * times * 2, "frame");
    need(to, layout.frame_bytes() / layout.slots, "heaps");
    if (first < 0 || place < 0 || count < 0 || first + count > times ||
        place + count > layout.spectra || first_input < 0 ||
        first_input + layout.senders * layout.polarizations > inputs)
        throw py::value_error("these spectra or inputs are not in the frame or the heap");
    const py::gil_scoped_release release;
    frame_to_heaps(static_cast<const int8_t*>(from.ptr),
                   times,
                   inputs,
                   first_input,
                   first,
                   place,
                   count,
                   layout,
                   static_cast<int8_t*>(to.ptr));
}

} // namespace

void bind_spead(py::module& m)
{
    auto spead =
        m.def_submodule("spead", "The parts of spead_source and spead_sink in C++.");
    py::class_<spead_placement, std::shared_ptr<spead_placement>>(
        spead,
        "placement",
        R"doc(Finds the place of each heap, for spead2's chunk receiver.

The parameters are: bytes of a heap's payload; timestamps from a heap to the next; heaps of a
sender in a chunk, one after another; the values of the item that names the sender, in the order
of their places, and whether heaps have it; first channel, channels of a heap (0: they have
none), ranges of channels; chunks that are open at a time; heaps that make a jump a restart.

Raises
------
ValueError
    A parameter is not allowed.
)doc")
        .def(py::init([](int64_t heap_bytes,
                         int64_t heap_ticks,
                         int64_t slots_per_chunk,
                         const std::vector<int64_t>& senders,
                         bool with_sender,
                         int64_t first_channel,
                         int64_t channels_per_heap,
                         int64_t ranges,
                         int64_t window,
                         int64_t restart) {
                 spead_layout layout;
                 layout.heap_bytes = heap_bytes;
                 layout.heap_ticks = heap_ticks;
                 layout.slots_per_chunk = slots_per_chunk;
                 layout.senders = senders;
                 layout.with_sender = with_sender;
                 layout.first_channel = first_channel;
                 layout.channels_per_heap = channels_per_heap;
                 layout.ranges = ranges;
                 layout.window = window;
                 layout.restart = restart;
                 return std::make_shared<spead_placement>(layout);
             }),
             py::kw_only(),
             py::arg("heap_bytes"),
             py::arg("heap_ticks"),
             py::arg("slots_per_chunk") = 1,
             py::arg("senders") = std::vector<int64_t>{ 0 },
             py::arg("with_sender") = false,
             py::arg("first_channel") = 0,
             py::arg("channels_per_heap") = 0,
             py::arg("ranges") = 1,
             py::arg("window") = 4,
             py::arg("restart") = 16)
        .def("capsule",
             &capsule_of,
             py::arg("statistics_base"),
             py::arg("fixed_sender") = -1,
             "Returns the place function of a stream, as spead2 takes it in a tuple. "
             "statistics_base: index of the stream's statistic that is the first of "
             "`names()`; fixed_sender: the place of the sender of all its heaps, -1: "
             "they have an item that tells.")
        .def("time_of",
             &spead_placement::time_of,
             py::arg("chunk"),
             "Returns the timestamp of the first heaps of a chunk, also beyond 48 bits.")
        .def("ended",
             &spead_placement::ended,
             py::arg("silence"),
             "Returns whether a stream was ended, and each sender ended or was silent "
             "for so many seconds.")
        .def("silences",
             &spead_placement::silences,
             "Returns the seconds since a heap of each sender was taken; negative: none "
             "was.")
        .def_static("names",
                    &spead_placement::names,
                    "Returns the names of the statistics, in their order.");
    py::class_<voltage_heaps>(
        spead,
        "voltage_heaps",
        "Heaps [channel][spectrum][polarization] of sc8 in a frame: slots, senders and "
        "ranges "
        "of channels in the frame, and channels, spectra and polarizations of a heap.")
        .def(py::init(&layout_of),
             py::arg("slots"),
             py::arg("senders"),
             py::arg("ranges"),
             py::arg("channels"),
             py::arg("spectra"),
             py::arg("polarizations"))
        .def_property_readonly("heap_bytes", &voltage_heaps::heap_bytes)
        .def_property_readonly("frame_bytes", &voltage_heaps::frame_bytes);
    spead.def("heaps_to_frame",
              &to_frame,
              py::arg("heaps"),
              py::arg("present"),
              py::arg("layout"),
              py::arg("frame").noconvert(),
              "Makes a frame [channel][input][time] of heaps [slot][sender][range]; "
              "returns how many samples had a -128 that became -127.");
    spead.def(
        "frame_to_heaps",
        &to_heaps,
        py::arg("frame"),
        py::arg("times"),
        py::arg("inputs"),
        py::arg("first_input"),
        py::arg("first"),
        py::arg("place"),
        py::arg("count"),
        py::arg("layout"),
        py::arg("heaps").noconvert(),
        "Puts `count` spectra of a frame, from `first` on, into heaps [sender][range], "
        "from `place` on.");
}

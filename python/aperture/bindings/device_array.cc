/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*!
 * \file
 * The Python module device_array: arrays in the memory of a GPU, as CuPy, PyTorch, JAX
 * and Numba take them without a copy, and the stream that they are in order with. It
 * knows neither GNU Radio nor NumPy nor CUDA: the maker of an array gives the functions
 * that order streams and copy memory. Arrays of the emulated device are the same but for
 * their memory, which is that of the host: libraries take them as arrays of the CPU.
 */

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace py = pybind11;

namespace {

// The interface of DLPack 0.8, as its specification lays it out in memory.
namespace dlpack {
struct device {
    int32_t type; // 1: the CPU, 2: CUDA
    int32_t id;
};
struct data_type {
    uint8_t code; // 0: int, 1: uint, 2: float, 5: complex
    uint8_t bits;
    uint16_t lanes;
};
struct tensor {
    void* data;
    dlpack::device device;
    int32_t dimensions;
    data_type type;
    int64_t* shape;
    int64_t* strides; // in elements; nullptr: compact, the last axis fastest
    uint64_t byte_offset;
};
struct managed_tensor {
    dlpack::tensor tensor;
    void* context;
    void (*deleter)(managed_tensor*);
};
constexpr int32_t cpu = 1, cuda = 2;
} // namespace dlpack

//! Returns the text for a type of elements, as "<c8".
std::string typestr_of(const dlpack::data_type& t)
{
    const char* const kinds[] = { "i", "u", "f", "", "", "c" };
    const std::string kind = t.code <= 5 && t.lanes == 1 ? kinds[t.code] : "";
    if (kind.empty())
        return "type " + std::to_string(t.code) + " of DLPack";
    return (t.bits == 8 ? "|" : "<") + kind + std::to_string(t.bits / 8);
}

dlpack::data_type type_of(const std::string& typestr)
{
    const char kind = typestr.size() > 2 ? typestr[1] : ' ';
    const int code = kind == 'i'   ? 0
                     : kind == 'u' ? 1
                     : kind == 'f' ? 2
                     : kind == 'c' ? 5
                                   : -1;
    if (code < 0)
        throw py::buffer_error("DLPack has no type for " + typestr);
    return { uint8_t(code), uint8_t(8 * std::stoi(typestr.substr(2))), 1 };
}

std::string shape_text(const std::vector<int64_t>& shape)
{
    std::string text = "(";
    for (const int64_t n : shape)
        text += std::to_string(n) + ", ";
    if (shape.size() > 1)
        text.resize(text.size() - 2);
    else if (shape.size() == 1)
        text.resize(text.size() - 1);
    return text + ")";
}

/*!
 * The stream of a block. Work on its arrays is given to it, or to other streams that are
 * brought in order with it.
 */
struct stream {
    stream(int64_t handle,
           int device,
           py::function order,
           py::function copy,
           std::string name)
        : handle(handle),
          device(device),
          emulated(!name.empty()),
          name(emulated ? std::move(name) : "cuda:" + std::to_string(device)),
          order(std::move(order)),
          copy(std::move(copy)),
          used(emulated)
    {
    }

    //! Returns the kind of device, as DLPack numbers it.
    int32_t kind() const { return emulated ? dlpack::cpu : dlpack::cuda; }
    int32_t index() const { return emulated ? 0 : device; }

    int64_t use()
    {
        if (emulated)
            throw py::attribute_error("the stream of " + name +
                                      " has no handle, which those of GPUs have: "
                                      "take arrays by from_dlpack() of a library");
        used = true;
        return handle;
    }

    //! Makes a consumer's stream begin after work so far; close() waits for it.
    void lend_to(int64_t consumer)
    {
        used = true;
        if (consumer == handle)
            return;
        order(handle, consumer);
        for (const int64_t other : lent)
            if (other == consumer)
                return;
        lent.push_back(consumer);
    }

    //! Ends a call: work from here on begins after the work that others were given.
    py::list close()
    {
        for (const int64_t other : lent)
            order(other, handle);
        lent.clear();
        py::list taken = std::move(kept);
        kept = py::list();
        return taken;
    }

    const int64_t handle;
    const int device;
    const bool emulated; // true where it is not of a GPU
    const std::string name;
    const py::function order; // (first, second): handles of streams
    const py::function copy;  // (to, from, bytes), in this stream
    bool used;                // the handle was asked for
    std::vector<int64_t> lent;
    py::list kept; // objects that work of this call reads
};

//! An array, valid until expire().
class device_array
{
public:
    device_array(uintptr_t pointer,
                 std::vector<int64_t> shape,
                 std::string typestr,
                 py::object owner,
                 bool read_only)
        : d_pointer(pointer),
          d_shape(std::move(shape)),
          d_typestr(std::move(typestr)),
          d_item(size_t(std::stoi(d_typestr.substr(2)))),
          d_owner(std::move(owner)),
          d_stream(d_owner.cast<stream*>()),
          d_read_only(read_only)
    {
    }

    void expire() { d_expired = true; }

    //! Gives the array another place and another number of items, for the next call.
    void renew(uintptr_t pointer, int64_t items)
    {
        d_pointer = pointer;
        d_shape[0] = items;
        d_expired = false;
        d_taken = false;
    }

    uintptr_t pointer() const
    {
        check();
        d_taken = true;
        return d_pointer;
    }
    const std::vector<int64_t>& shape() const { return d_shape; }
    const std::string& typestr() const { return d_typestr; }
    const py::object& owner() const { return d_owner; }
    size_t bytes() const
    {
        size_t n = d_item;
        for (const int64_t length : d_shape)
            n *= size_t(length);
        return n;
    }

    py::tuple shape_tuple() const
    {
        py::tuple t(d_shape.size());
        for (size_t i = 0; i < d_shape.size(); i++)
            t[i] = d_shape[i];
        return t;
    }

    py::dict cuda_array_interface() const
    {
        check();
        if (d_stream->emulated)
            throw py::attribute_error(
                "__cuda_array_interface__ of an array on " + d_stream->name +
                ", which is not on a GPU: take it by from_dlpack()");
        if (!d_stream->used)
            throw std::runtime_error("__cuda_array_interface__" + forgotten_stream());
        d_taken = true;
        py::dict d;
        d["version"] = 3;
        d["shape"] = shape_tuple();
        d["typestr"] = d_typestr;
        d["data"] = py::make_tuple(d_pointer, false);
        d["strides"] = py::none();
        d["stream"] = d_stream->handle;
        return d;
    }

    py::capsule dlpack(const py::object& stream_of_consumer)
    {
        check();
        d_taken = true;
        if (!d_stream->emulated)
            lend_to(stream_of_consumer);
        struct context {
            dlpack::managed_tensor managed;
            std::vector<int64_t> shape;
        };
        auto made = std::make_unique<context>();
        made->shape = d_shape;
        made->managed.tensor = { reinterpret_cast<void*>(d_pointer),
                                 { d_stream->kind(), d_stream->index() },
                                 int32_t(d_shape.size()),
                                 type_of(d_typestr),
                                 made->shape.data(),
                                 nullptr,
                                 0 };
        made->managed.context = made.get();
        made->managed.deleter = [](dlpack::managed_tensor* m) {
            delete static_cast<context*>(m->context);
        };
        // a consumer that takes it gives it another name
        auto* const managed = &made.release()->managed;
        return py::capsule(managed, "dltensor", [](PyObject* o) {
            if (!PyCapsule_IsValid(o, "dltensor"))
                return;
            auto* const m =
                static_cast<dlpack::managed_tensor*>(PyCapsule_GetPointer(o, "dltensor"));
            m->deleter(m);
        });
    }

    //! Copies an array of any library on this device, of the same shape and type.
    void copy_from(const py::object& source)
    {
        check();
        if (d_read_only)
            throw std::runtime_error(
                "this is an input of the block, and must not be written");
        if (py::isinstance<device_array>(source)) {
            const auto& other = source.cast<const device_array&>();
            other.check();
            copy(source, other.d_pointer, other.d_shape, other.d_typestr, false);
            return;
        }
        const std::string what = copied(source);
        if (!py::hasattr(source, "__dlpack__") ||
            !py::hasattr(source, "__dlpack_device__"))
            throw py::type_error(what +
                                 "it is no array with DLPack, such as those of CuPy, "
                                 "PyTorch and JAX");
        const auto where = source.attr("__dlpack_device__")().cast<py::tuple>();
        const int kind = where[0].cast<int>(), index = where[1].cast<int>();
        // an array of NumPy never is on a device
        if (kind != d_stream->kind() || index != d_stream->index() ||
            (d_stream->emulated && py::hasattr(source, "__array_interface__")))
            throw py::value_error(what +
                                  (kind == dlpack::cuda
                                       ? "the array is on cuda:" + std::to_string(index)
                                       : std::string("this is an array on the host")) +
                                  "; it must be on " + d_stream->name);
        py::object given =
            d_stream->emulated
                ? source.attr("__dlpack__")()
                : source.attr("__dlpack__")(py::arg("stream") = d_stream->handle);
        const auto* managed = static_cast<const dlpack::managed_tensor*>(
            PyCapsule_GetPointer(given.ptr(), "dltensor"));
        if (!managed)
            throw py::error_already_set();
        const auto& t = managed->tensor;
        const std::vector<int64_t> shape(t.shape, t.shape + t.dimensions);
        bool strided = false;
        int64_t expected = 1;
        for (int i = t.dimensions - 1; t.strides && i >= 0; i--) {
            strided = strided || (shape[i] != 1 && t.strides[i] != expected);
            expected *= shape[i];
        }
        copy(source,
             reinterpret_cast<uintptr_t>(t.data) + t.byte_offset,
             shape,
             typestr_of(t.type),
             strided);
        d_stream->kept.append(given); // until the copy is done
    }

    std::string no_host_array() const
    {
        return d_stream->used
                   ? " of an array on " + d_stream->name +
                         ": it does not become one of NumPy by itself: take it by "
                         "cupy.from_dlpack() and copy it with .get(), which waits for "
                         "the "
                         "GPU"
                   : forgotten_stream();
    }

    [[noreturn]] void no_arithmetic(const std::string& what) const
    {
        throw py::type_error(
            what + " of an array on " + d_stream->name +
            ": its elements are not to be had here. arrays=\"device\", the default, is "
            "for "
            "libraries that take arrays by from_dlpack(); to compute with inputs and "
            "outputs themselves say arrays=\"cupy\" (CuPy's on a GPU, otherwise NumPy's) "
            "or arrays=\"torch\"");
    }

    //! Returns whether anybody has asked for the memory since it was made or renewed.
    bool taken() const { return d_taken; }

private:
    //! Orders the consumer's stream, as DLPack numbers it, with ours.
    void lend_to(const py::object& stream_of_consumer)
    {
        const int64_t consumer =
            stream_of_consumer.is_none() ? 1 : stream_of_consumer.cast<int64_t>();
        if (consumer == 0)
            throw py::value_error(
                "stream: 0 is not allowed, as it is ambiguous: 1 is the "
                "legacy default stream, 2 that of the thread");
        if (consumer > 0)
            d_stream->lend_to(consumer);
        else if (!d_stream->used)
            throw std::runtime_error(
                "stream: -1 leaves the order of streams to you, but nobody has asked for "
                "array.stream.handle, the stream that work must be given to");
    }

    std::string forgotten_stream() const
    {
        return " of an array on " + d_stream->name +
               ": the stream was forgotten. Work on the array must be given to the "
               "block's stream, array.stream.handle (in CuPy, `with "
               "cupy.cuda.ExternalStream(handle):`), or the array be taken by "
               "from_dlpack(), which brings streams in order by itself";
    }

    void check() const
    {
        if (d_expired)
            throw std::runtime_error(
                "the array is used after work() has returned: its memory "
                "belongs to the next calls; copy what is to be kept");
    }

    //! Returns the beginning of messages about a copy.
    static std::string copied(const py::object& source)
    {
        return "copy_from(" + std::string(py::str(py::type::handle_of(source))) + "): ";
    }

    void copy(const py::object& source,
              uintptr_t from,
              const std::vector<int64_t>& shape,
              const std::string& typestr,
              bool strided)
    {
        if (shape != d_shape)
            throw py::value_error(copied(source) + "the shape is " + shape_text(shape) +
                                  ", the output's is " + shape_text(d_shape));
        if (typestr != d_typestr)
            throw py::value_error(copied(source) + "the elements are " + typestr +
                                  ", the output's are " + d_typestr);
        if (strided)
            throw py::value_error(copied(source) +
                                  "the array is not contiguous: copy it first");
        d_stream->used = true;
        d_taken = true;
        d_stream->copy(d_pointer, from, bytes());
    }

    uintptr_t d_pointer;
    std::vector<int64_t> d_shape;
    const std::string d_typestr;
    const size_t d_item;
    const py::object d_owner;
    stream* const d_stream;
    const bool d_read_only;
    bool d_expired = false;
    mutable bool d_taken = false;
};

//! Operators and functions of arrays in other libraries, by their names in Python.
constexpr const char* arithmetic[] = {
    "__getitem__", "__iter__",    "__add__",      "__radd__",       "__iadd__",
    "__sub__",     "__rsub__",    "__isub__",     "__mul__",        "__rmul__",
    "__imul__",    "__truediv__", "__rtruediv__", "__itruediv__",   "__pow__",
    "__rpow__",    "__matmul__",  "__rmatmul__",  "__neg__",        "__abs__",
    "__lt__",      "__le__",      "__gt__",       "__ge__",         "__float__",
    "__complex__", "__and__",     "__or__",       "__array_ufunc__"
};

} // namespace

PYBIND11_MODULE(device_array, m)
{
    m.doc() = "Arrays in the memory of a GPU, for CuPy, PyTorch, JAX and Numba.";

    py::class_<stream>(m, "Stream", R"doc(The stream of a block on a GPU, a cudaStream_t.

Work on the block's arrays is given to this stream, or to one that a library brings in order with
it (from_dlpack). `handle` is what cupy.cuda.ExternalStream, torch.cuda.ExternalStream and
numba.cuda.external_stream take.
)doc")
        .def(py::init<int64_t, int, py::function, py::function, std::string>(),
             py::arg("handle"),
             py::arg("device"),
             py::arg("order"),
             py::arg("copy"),
             py::arg("name") = "",
             "name: name of the emulated device; empty for a GPU.")
        .def_property_readonly("handle", &stream::use)
        .def_readonly("device", &stream::device, "Which GPU.")
        .def("__cuda_stream__", [](stream& s) { return py::make_tuple(0, s.use()); })
        .def("close", &stream::close, "Ends a call; for the maker of the stream.");

    py::class_<device_array> arrays(
        m, "DeviceArray", R"doc(An array on a GPU, during one call of work().

It is contiguous, the last axis fastest. Take it by from_dlpack() of CuPy, PyTorch or JAX, which
costs no copy and brings the library's current stream in order with the block's; or by
__cuda_array_interface__, with work given to `stream`. `array[...] = other` copies an array on the
same GPU, of the same shape and type. It has no elements in Python, and no arithmetic.
)doc");
    arrays
        .def(py::init<uintptr_t, std::vector<int64_t>, std::string, py::object, bool>(),
             py::arg("pointer"),
             py::arg("shape"),
             py::arg("typestr"),
             py::arg("stream"),
             py::arg("read_only") = false)
        .def_property_readonly("ptr", &device_array::pointer, "Address on the GPU.")
        .def_property_readonly("shape", &device_array::shape_tuple)
        .def_property_readonly("typestr", &device_array::typestr, "As NumPy has it: <c8.")
        .def_property_readonly("nbytes", &device_array::bytes)
        .def_property_readonly("stream", &device_array::owner)
        .def("__len__",
             [](const device_array& a) { return a.shape().empty() ? 0 : a.shape()[0]; })
        .def_property_readonly("__cuda_array_interface__",
                               &device_array::cuda_array_interface)
        .def(
            "__dlpack__",
            [](device_array& a, const py::object& stream, const py::kwargs&) {
                return a.dlpack(stream);
            },
            py::arg("stream") = py::none())
        .def("__dlpack_device__",
             [](const device_array& a) {
                 const auto* s = a.owner().cast<stream*>();
                 return py::make_tuple(s->kind(), s->index());
             })
        .def("__array__",
             [](const device_array& a, const py::args&, const py::kwargs&) -> py::object {
                 // CuPy comes here after an error of __cuda_array_interface__
                 throw py::type_error("__array__" + a.no_host_array());
             })
        .def("copy_from",
             &device_array::copy_from,
             py::arg("source"),
             "Copies an array on the same GPU, of the same shape and type.")
        .def("__setitem__",
             [](device_array& a, const py::object& key, const py::object& source) {
                 if (!key.equal(py::ellipsis()) &&
                     !key.equal(py::slice(py::none(), py::none(), py::none())))
                     throw py::index_error(
                         "only whole arrays are copied: array[...] = other");
                 a.copy_from(source);
             })
        .def_property_readonly(
            "taken",
            &device_array::taken,
            "Returns whether anybody has asked for its memory in this call.")
        .def("expire", &device_array::expire, "Ends its use: for who made it.")
        .def("renew",
             &device_array::renew,
             py::arg("pointer"),
             py::arg("items"),
             "For who made it, where nobody else holds it: the array of the next call.")
        .def("__repr__", [](const device_array& a) {
            return "<DeviceArray " + shape_text(a.shape()) + " of " + a.typestr() +
                   " on " + a.owner().cast<stream*>()->name + ">";
        });
    for (const char* name : arithmetic)
        arrays.def(name,
                   [what = std::string(name)](
                       const device_array& a, const py::args&, const py::kwargs&) {
                       a.no_arithmetic(what);
                   });
}

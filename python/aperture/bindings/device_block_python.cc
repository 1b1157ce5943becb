/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/***********************************************************************************/
/* This file is written by hand; tools/update-binding-hashes brings the sum up to date */
/* BINDTOOL_GEN_AUTOMATIC(0)                                                       */
/* BINDTOOL_USE_PYGCCXML(0)                                                        */
/* BINDTOOL_HEADER_FILE(device/device_block.h) */
/* BINDTOOL_HEADER_FILE_HASH(a2dbeaabf754a6527be5c172d1c70cf3) */
/***********************************************************************************/

/*!
 * \file
 * A block on a device whose work is a method of a Python object: the C++ part of
 * aperture.device_block.
 */

#include "runtime/host_wait.h"
#include <gnuradio/aperture/device/device_block.h>
#include <gnuradio/aperture/device/host_work.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <limits>
#include <optional>
#include <thread>

namespace py = pybind11;

namespace {

using namespace gr::aperture;

//! The form of a port's items in Python: an array of a shape and an element type.
struct item_format {
    std::string typestr;
    std::vector<int64_t> shape;
    py::dtype type;
    int bytes;
};

item_format format_of(const std::pair<std::string, std::vector<int64_t>>& item)
{
    item_format f{ item.first, item.second, py::dtype(item.first), 0 };
    int64_t bytes = f.type.itemsize();
    for (const int64_t n : f.shape)
        bytes *= n;
    if (bytes > std::numeric_limits<int>::max())
        throw py::value_error("an item of " + std::to_string(bytes) +
                              " bytes is not allowed: it must be below 2^31");
    f.bytes = int(bytes);
    return f;
}

std::vector<item_format>
formats_of(const std::vector<std::pair<std::string, std::vector<int64_t>>>& items)
{
    std::vector<item_format> formats;
    for (const auto& item : items)
        formats.push_back(format_of(item));
    return formats;
}

gr::io_signature::sptr signature_of(const device& d,
                                    const std::vector<item_format>& ports,
                                    const std::vector<item_format>& other_side)
{
    // GNU Radio looks for the buffers of a sink's inputs there
    if (ports.empty())
        return other_side.empty() ? gr::io_signature::make(0, 0, 0)
                                  : signature_on(d, 0, other_side.front().bytes);
    std::vector<int> sizes;
    for (const auto& port : ports)
        sizes.push_back(port.bytes);
    return signature_on(d, sizes);
}

//! True once Python ends: no thread may ask for its lock any more. Blocks in a call are
//! waited for, those that come later end their flowgraph.
std::atomic<bool> python_ends{ false };
std::atomic<int> calls_of_python{ 0 };

class call_of_python
{
public:
    call_of_python() { ++calls_of_python; }
    ~call_of_python() { --calls_of_python; }
    call_of_python(const call_of_python&) = delete;
    call_of_python& operator=(const call_of_python&) = delete;
    static bool allowed() { return !python_ends; }
};

void end_calls_of_python()
{
    python_ends = true;
    const py::gil_scoped_release released;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (calls_of_python > 0 && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

//! Lets other threads have Python while it lives, and adds up how long that was.
class unlocked_python
{
public:
    explicit unlocked_python(std::chrono::steady_clock::duration& sum)
        : d_sum(sum), d_begin(std::chrono::steady_clock::now())
    {
        d_released.emplace();
    }
    ~unlocked_python()
    {
        d_released.reset();
        d_sum += std::chrono::steady_clock::now() - d_begin;
    }
    unlocked_python(const unlocked_python&) = delete;
    unlocked_python& operator=(const unlocked_python&) = delete;

private:
    std::chrono::steady_clock::duration& d_sum;
    const std::chrono::steady_clock::time_point d_begin;
    std::optional<py::gil_scoped_release> d_released;
};

//! Bytes that no block writes by chance.
constexpr unsigned char pattern[] = { 0x9d, 0x41, 0xe7, 0x7b, 0x2c, 0xb3, 0x5e, 0x88,
                                      0x16, 0xf2, 0xc9, 0x35, 0xa4, 0x6f, 0xd0, 0x1b };

class python_block : public device_block
{
public:
    /*!
     * \param owner its methods _call(inputs, outputs), _begin() and _end() are called. It
     * must live as long as a flowgraph holds the block.
     * \param device_arrays also on the emulated device its arrays are those of a GPU
     */
    python_block(const std::string& name,
                 py::handle owner,
                 std::vector<item_format> inputs,
                 std::vector<item_format> outputs,
                 int decimation,
                 int interpolation,
                 const device& d,
                 bool device_arrays)
        : gr::block(name, signature_of(d, inputs, {}), signature_of(d, outputs, inputs)),
          device_block(d),
          d_owner(owner),
          d_in(std::move(inputs)),
          d_out(std::move(outputs)),
          d_decimation(decimation),
          d_interpolation(interpolation),
          d_device_arrays(d.type() == device::kind::cuda ||
                          (d.type() == device::kind::emulated && device_arrays)),
          d_arrays_in(d_in.size()),
          d_arrays_out(d_out.size())
    {
        set_most_idle(call_rules().most_idle);
        set_relative_rate(uint64_t(interpolation), uint64_t(decimation));
        if (interpolation > 1)
            set_output_multiple(interpolation);
    }

    ~python_block() override
    {
        if (d_kept.empty() && !d_stream_of_arrays)
            return;
        if (python_ends) { // the objects end with the process
            for (auto& k : d_kept)
                k.second.release();
            d_stream_of_arrays.release();
            d_array_type.release();
            for (auto* arrays : { &d_arrays_in, &d_arrays_out })
                for (auto& a : *arrays)
                    a.release();
            return;
        }
        const py::gil_scoped_acquire locked;
        d_kept.clear();
        d_arrays_in.clear();
        d_arrays_out.clear();
        d_stream_of_arrays = py::object();
        d_array_type = py::object();
    }

    bool reads_windows() const override
    {
        return d_decimation > 1 || device_block::reads_windows();
    }

    void forecast(int, gr_vector_int& required) override
    {
        // One call takes all that there is: where more is asked for than that, GNU Radio
        // halves the items of a call.
        const int least = std::max(1, output_multiple() / d_interpolation);
        for (auto& r : required)
            r = least * d_decimation + int(history()) - 1;
    }

    void before_first_call() override
    {
        const call_of_python calling;
        if (!call_of_python::allowed())
            return;
        enter_python();
        const py::gil_scoped_acquire locked;
        if (d_device_arrays && !d_stream_of_arrays)
            make_stream_of_arrays();
        d_calls = 0;
        d_seconds = 0;
        say(d_owner.attr("_begin")());
    }

    bool stop() override
    {
        const bool stopped = device_block::stop();
        const call_of_python calling;
        if (call_of_python::allowed()) {
            {
                const py::gil_scoped_acquire locked;
                d_kept.clear();
                say(d_owner.attr("_end")());
            }
            leave_python();
        }
        return stopped;
    }

    int process(int noutput_items,
                gr_vector_int& ninput_items,
                gr_vector_const_void_star& input_items,
                gr_vector_void_star& output_items) override
    {
        const int before = int(history()) - 1;
        int steps = std::numeric_limits<int>::max();
        for (const int n : ninput_items)
            steps = std::min(steps, (n - before) / d_decimation);
        const int multiple = std::max(1, output_multiple() / d_interpolation);
        if (!d_out.empty())
            steps = std::min(steps, noutput_items / d_interpolation);
        if (steps <= 0)
            return 0;
        steps = std::max(1, steps / multiple) * multiple;

        const call_of_python calling;
        if (!call_of_python::allowed())
            return WORK_DONE;
        const int in = steps * d_decimation + before, out = steps * d_interpolation;
        const bool emulated = runs_on().type() == device::kind::emulated;
        if (emulated)
            fetch(input_items, in, out);
        // calls of the driver are made before and after Python is held
        size_t done = 0;
        while (done < d_kept.size() &&
               (!d_kept[done].first || d_kept[done].first->done()))
            done++;
        const bool on_host = runs_on().type() != device::kind::cuda;
        if (on_host)
            mark(output_items, out);
        int made = 0;
        bool reads_objects = false; // true for objects of other libraries
        {
            const py::gil_scoped_acquire locked;
            d_unlocked = {};
            d_kept.erase(d_kept.begin(), d_kept.begin() + done);
            const auto begin = std::chrono::steady_clock::now();
            py::object result;
            {
                py::list inputs(d_in.size()), outputs(d_out.size());
                for (size_t i = 0; i < d_in.size(); i++)
                    inputs[i] = array(d_arrays_in[i],
                                      d_in[i],
                                      emulated ? d_host_in[i].data() : input_items[i],
                                      in,
                                      true);
                for (size_t i = 0; i < d_out.size(); i++)
                    outputs[i] = array(d_arrays_out[i],
                                       d_out[i],
                                       emulated ? d_host_out[i]->data() : output_items[i],
                                       out,
                                       false);
                result = d_owner.attr("_call")(inputs, outputs);
            }
            if (d_stream_of_arrays) {
                expire(d_arrays_in);
                expire(d_arrays_out);
                py::object objects = d_stream_of_arrays.attr("close")();
                reads_objects = PyList_GET_SIZE(objects.ptr()) > 0;
                if (reads_objects)
                    d_kept.emplace_back(nullptr, std::move(objects));
            }
            if (py::isinstance<py::str>(result)) {
                say(result);
                return WORK_DONE;
            }
            made = result.is_none() ? (d_out.empty() ? in - before : out)
                                    : result.cast<int>();
            d_seconds =
                d_seconds + std::chrono::duration<double>(
                                std::chrono::steady_clock::now() - begin - d_unlocked)
                                .count();
            ++d_calls;
        }
        // work of libraries was given to the stream behind its back
        if (d_stream_of_arrays)
            work_stream().native_handle();
        if (reads_objects)
            d_kept.back().first = work_stream().record();
        if (made < 0)
            return WORK_DONE;
        const int most = d_out.empty() ? in - before : out;
        const int unit = d_out.empty() ? d_decimation : d_interpolation;
        if (made > most || made % unit != 0) {
            fail("work() returned " + std::to_string(made) +
                 ": it must be a multiple of " + std::to_string(unit) + ", at most " +
                 std::to_string(most) + ", the items that it was asked for");
            return WORK_DONE;
        }
        if (const int port = on_host ? still_marked(output_items, made) : -1; port >= 0) {
            fail(forgotten(port, made));
            return WORK_DONE;
        }
        if (emulated)
            send(output_items, made);
        consume_each(made / unit * d_decimation);
        return d_out.empty() ? 0 : made;
    }

    void add_tag(unsigned port,
                 uint64_t offset,
                 const pmt::pmt_t& key,
                 const pmt::pmt_t& value,
                 const pmt::pmt_t& source)
    {
        add_item_tag(port, offset, key, value, source);
    }

    std::vector<gr::tag_t> tags_in_window(unsigned port, uint64_t first, uint64_t end)
    {
        std::vector<gr::tag_t> found;
        get_tags_in_window(found, port, first, end);
        return found;
    }

    void handle_messages(const pmt::pmt_t& port, const std::string& method)
    {
        set_msg_handler(port, [this, method](const pmt::pmt_t& message) {
            const call_of_python calling;
            if (!call_of_python::allowed())
                return;
            const py::gil_scoped_acquire locked;
            say(d_owner.attr("_handle")(method, message));
        });
    }

    void set_most_idle(double seconds)
    {
        set_call_rules(
            { "work()",
              "It must return how many items it has written, or -1 where there "
              "is no more; a block that needs many items at a time says so by "
              "set_output_multiple(), decimation or history",
              seconds });
    }

    void debug(const std::string& text) { d_logger->debug("{:s}", text); }

    int64_t calls() const { return d_calls; }
    double seconds() const { return d_seconds; }

private:
    //! Reports the text that a method of the owner returned as an error.
    void say(const py::object& result)
    {
        if (py::isinstance<py::str>(result))
            fail(result.cast<std::string>());
    }

    void make_stream_of_arrays()
    {
        const auto module = py::module::import("gnuradio.aperture.device_array");
        d_array_type = module.attr("DeviceArray");
        stream* const s = &work_stream();
        if (runs_on().type() == device::kind::emulated) {
            // Python has copies in the memory of the host there: see fetch()
            const auto order = [](intptr_t, intptr_t) {};
            const auto copy = [](uintptr_t to, uintptr_t from, size_t bytes) {
                std::memcpy(
                    reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
            };
            d_stream_of_arrays = module.attr("Stream")(0,
                                                       runs_on().index(),
                                                       py::cpp_function(order),
                                                       py::cpp_function(copy),
                                                       runs_on().name());
            return;
        }
        const auto handle = reinterpret_cast<intptr_t>(s->native_handle());
        // the driver lets one thread in at a time, and Python need not wait for it
        const auto order = [this, s, handle](intptr_t first, intptr_t second) {
            const unlocked_python others_may(d_unlocked);
            if (first == handle)
                s->lead_native(reinterpret_cast<void*>(second));
            else
                s->follow_native(reinterpret_cast<void*>(first));
        };
        const auto copy = [this, s](uintptr_t to, uintptr_t from, size_t bytes) {
            const unlocked_python others_may(d_unlocked);
            s->copy(reinterpret_cast<void*>(to),
                    reinterpret_cast<const void*>(from),
                    bytes,
                    direction::within_device);
        };
        d_stream_of_arrays = module.attr("Stream")(
            handle, runs_on().index(), py::cpp_function(order), py::cpp_function(copy));
    }

    /*!
     * Makes the array of a port for a call.
     * \param last array of the call before, on a GPU: it is used again where nobody else
     * has kept it
     */
    py::object array(py::object& last,
                     const item_format& f,
                     const void* items,
                     int count,
                     bool read_only) const
    {
        if (d_stream_of_arrays && last) {
            last.attr("renew")(reinterpret_cast<uintptr_t>(items), count);
            return last;
        }
        std::vector<int64_t> shape{ count };
        shape.insert(shape.end(), f.shape.begin(), f.shape.end());
        if (d_stream_of_arrays) {
            last = d_array_type(reinterpret_cast<uintptr_t>(items),
                                shape,
                                f.typestr,
                                d_stream_of_arrays,
                                read_only);
            return last;
        }
        py::array a(f.type, shape, items, py::none());
        if (read_only)
            py::detail::array_proxy(a.ptr())->flags &=
                ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
        return std::move(a);
    }

    //! Makes arrays that somebody has kept invalid after a call.
    static void expire(std::vector<py::object>& arrays)
    {
        for (auto& a : arrays)
            if (a && a.ref_count() > 1) {
                a.attr("expire")();
                a = py::object();
            }
    }

    //! Returns where the host can read what work() writes to an output.
    char* written(const gr_vector_void_star& output_items, size_t port) const
    {
        return runs_on().type() == device::kind::emulated
                   ? d_host_out[port]->data()
                   : static_cast<char*>(output_items[port]);
    }

    //! Returns the bytes of the pattern in so many items of an output.
    size_t marked(size_t port, int items) const
    {
        return std::min(sizeof(pattern), size_t(items) * d_out[port].bytes);
    }

    /*!
     * Writes a pattern over the beginning of each output before a call, so that an output
     * which work() has forgotten is seen. Nobody reads there before the call has produced
     * it.
     */
    void mark(const gr_vector_void_star& output_items, int room) const
    {
        for (size_t i = 0; i < d_out.size(); i++)
            std::memcpy(written(output_items, i), pattern, marked(i, room));
    }

    //! \returns the index of an output whose first items are as before the call; -1: none
    int still_marked(const gr_vector_void_star& output_items, int made) const
    {
        for (size_t i = 0; i < d_out.size(); i++) {
            const size_t bytes = marked(i, made);
            // fewer bytes may be the same by chance
            if (bytes >= sizeof(pattern) / 2 &&
                std::memcmp(written(output_items, i), pattern, bytes) == 0)
                return int(i);
        }
        return -1;
    }

    static std::string forgotten(int port, int made)
    {
        const std::string output = "outputs[" + std::to_string(port) + "]";
        return "work() has made " + std::to_string(made) + " items of " + output +
               " and written none: it must write them into the array, " + output +
               "[...] = result, or return how many there are, 0";
    }

    /*!
     * Registers the thread with Python until leave_python(): otherwise each call would do
     * it again.
     */
    void enter_python()
    {
        if (d_in_python)
            return;
        d_thread_state = PyGILState_Ensure();
        d_in_python = PyEval_SaveThread();
    }

    void leave_python()
    {
        if (!d_in_python)
            return;
        PyEval_RestoreThread(d_in_python);
        d_in_python = nullptr;
        PyGILState_Release(d_thread_state);
    }

    /*!
     * Copies the items of the emulated device for Python once the stream has come to this
     * call. Outputs go to the device later, in the order of the stream.
     */
    void fetch(const gr_vector_const_void_star& input_items, int in, int out)
    {
        d_host_in.resize(d_in.size());
        for (size_t i = 0; i < d_in.size(); i++) {
            d_host_in[i].resize(size_t(in) * d_in[i].bytes);
            work_stream().copy(d_host_in[i].data(),
                               input_items[i],
                               d_host_in[i].size(),
                               direction::device_to_host);
        }
        const working_thread::allowed_wait meant;
        work_stream().synchronize();
        d_host_out.clear();
        for (const auto& f : d_out)
            d_host_out.push_back(
                std::make_shared<std::vector<char>>(size_t(out) * f.bytes, 0x5a));
    }

    void send(const gr_vector_void_star& output_items, int made)
    {
        for (size_t i = 0; i < d_out.size(); i++) {
            const size_t bytes = size_t(made) * d_out[i].bytes;
            run_on_host(work_stream(),
                        {},
                        { { output_items[i], bytes } },
                        [data = d_host_out[i], bytes](const auto&, const auto& out) {
                            std::memcpy(out[0], data->data(), bytes);
                        });
        }
    }

    const py::handle d_owner; // borrowed: see the constructor
    const std::vector<item_format> d_in, d_out;
    const int d_decimation, d_interpolation;
    const bool d_device_arrays;                  // arrays are those of device_array
    py::object d_array_type, d_stream_of_arrays; // types of device_array
    std::vector<py::object> d_arrays_in,
        d_arrays_out; // arrays of the ports, from call to call
    //! Objects that work reads, until an event; nullptr: until the next call.
    std::deque<std::pair<event_sptr, py::object>> d_kept;
    std::chrono::steady_clock::duration
        d_unlocked{};                  // time without Python in the present call
    PyGILState_STATE d_thread_state{}; // between start and stop
    PyThreadState* d_in_python = nullptr;
    std::vector<std::vector<char>> d_host_in; // on the emulated device
    std::vector<std::shared_ptr<std::vector<char>>> d_host_out;
    std::atomic<int64_t> d_calls{ 0 };
    std::atomic<double> d_seconds{ 0 };
};

} // namespace

void bind_device_block(py::module& m)
{
    using formats = std::vector<std::pair<std::string, std::vector<int64_t>>>;

    py::module::import("atexit").attr("register")(py::cpp_function(end_calls_of_python));

    py::class_<python_block,
               block_on_device,
               gr::block,
               gr::basic_block,
               std::shared_ptr<python_block>>(
        m, "device_block_gateway", "The C++ part of aperture.device_block.")
        .def(py::init([](const std::string& name,
                         py::handle owner,
                         const formats& inputs,
                         const formats& outputs,
                         int decimation,
                         int interpolation,
                         const std::string& device_name,
                         bool device_arrays) {
                 return gnuradio::make_block_sptr<python_block>(
                     name,
                     owner,
                     formats_of(inputs),
                     formats_of(outputs),
                     decimation,
                     interpolation,
                     device::select(device_name),
                     device_arrays);
             }),
             py::arg("name"),
             py::arg("owner"),
             py::arg("inputs"),
             py::arg("outputs"),
             py::arg("decimation"),
             py::arg("interpolation"),
             py::arg("device"),
             py::arg("device_arrays"))
        .def("set_most_idle",
             &python_block::set_most_idle,
             py::arg("seconds"),
             "Seconds after which a work() that consumes and produces nothing is an "
             "error, if no more input can come.")
        .def("add_item_tag",
             &python_block::add_tag,
             py::arg("port"),
             py::arg("offset"),
             py::arg("key"),
             py::arg("value"),
             py::arg("srcid") = pmt::PMT_F,
             "Calls consume() of gr.block, for work().")
        .def("get_tags_in_window",
             &python_block::tags_in_window,
             py::arg("port"),
             py::arg("first"),
             py::arg("end"),
             "Calls gr.block's method, for work(): items count from the first one of the "
             "call.")
        .def("handle_messages",
             &python_block::handle_messages,
             py::arg("port"),
             py::arg("method"),
             "Lets a method of the owner, given by name, handle the messages of a port.")
        .def(
            "debug", &python_block::debug, py::arg("text"), "Logs a text at level debug.")
        .def(
            "calls", &python_block::calls, "Returns the calls of work() since the start.")
        .def(
            "seconds",
            &python_block::seconds,
            "Returns how long these calls held Python, in seconds, to enqueue the work.");
}

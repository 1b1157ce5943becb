/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*!
 * \file
 * Manages the lifetimes of blocks in Python, for streams/python_block.py. It is in C++
 * because it is called by Python's garbage collector: an interrupt (Ctrl-C) that is
 * handled in a function in Python there gets lost.
 */

#include <gnuradio/block.h>
#include <gnuradio/block_detail.h>
#include <pybind11/pybind11.h>
#include <algorithm>
#include <memory>
#include <vector>

namespace py = pybind11;

namespace {

using block_sptr = std::shared_ptr<gr::basic_block>;

//! Objects that live until no flowgraph holds their block. Python's lock guards it.
class held_blocks
{
public:
    held_blocks() { newest = this; }
    ~held_blocks() { newest = nullptr; }
    held_blocks(const held_blocks&) = delete;
    held_blocks& operator=(const held_blocks&) = delete;

    void keep(py::object owner, const block_sptr& block)
    {
        const bool known = std::any_of(d_held.begin(), d_held.end(), [&](const held& h) {
            return h.owner.is(owner);
        });
        if (!known)
            d_held.push_back({ std::move(owner), block });
    }

    void let_go()
    {
        const auto free =
            std::stable_partition(d_held.begin(), d_held.end(), [](const held& h) {
                // one pointer is that of the object in Python
                return h.block.use_count() > 1;
            });
        std::vector<held> gone(std::make_move_iterator(free),
                               std::make_move_iterator(d_held.end()));
        d_held.erase(free, d_held.end());
        // the last references go when nothing here is in the middle of a change
    }

    size_t size() const { return d_held.size(); }

    //! There is one in a process; the garbage collector outlives it.
    static held_blocks* newest;

private:
    struct held {
        py::object owner;
        std::weak_ptr<gr::basic_block> block;
    };
    std::vector<held> d_held;
};

held_blocks* held_blocks::newest = nullptr;

} // namespace

void bind_references(py::module& m)
{
    auto references = m.def_submodule("references", "Lifetimes of blocks.");
    // the reference is to the caster's own pointer, which does not count
    references.def(
        "holders",
        [](const block_sptr& block) { return block.use_count() - 1; },
        py::arg("block"),
        R"doc(Returns how many pointers to a block there are, in C++ and in Python.

1: only the Python object that is asked about; no flowgraph holds the block.
)doc");
    references.def(
        "ended",
        [](const py::object& block) {
            const auto b = std::dynamic_pointer_cast<gr::block>(
                block.attr("to_basic_block")().cast<block_sptr>());
            if (!b)
                throw py::type_error("a block of blocks has no end of its own");
            const auto detail = b->detail();
            return detail && detail->done();
        },
        py::arg("block"),
        R"doc(Returns whether a block has come to the end of its data: it is not called any more.

GNU Radio's own way, block.detail().done(), is gone from Python in its 3.11.
)doc");
    references.def(
        "after_collection",
        [](const py::str& phase, const py::object&) {
            if (held_blocks::newest && phase.equal(py::str("stop")))
                held_blocks::newest->let_go();
        },
        "Releases blocks that no flowgraph holds; for gc.callbacks.");
    py::class_<held_blocks>(references,
                            "HeldBlocks",
                            "Objects that live until no flowgraph holds their block.")
        .def(py::init<>())
        .def("keep",
             &held_blocks::keep,
             py::arg("owner"),
             py::arg("block"),
             "Keeps an object alive for as long as anybody else holds its block.")
        .def("let_go", &held_blocks::let_go, "Forgets those that nobody holds any more.")
        .def("__len__", &held_blocks::size);
}

/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_RUNTIME_RING_H
#define INCLUDED_APERTURE_RUNTIME_RING_H

#include "runtime/backend.h"
#include <vector>

namespace gr::aperture {

/*!
 * Memory in which a window of items may begin anywhere below size(), by its layout:
 *
 *  - twice_mapped: the same memory twice in a row. Any window reads right, and nothing is
 *    ever moved.
 *  - twin: two rings in a row, whose contents are kept equal. Any window reads right.
 *  - single: a window must end at size().
 */
class ring
{
public:
    enum class layout { twice_mapped, twin, single };

    //! \param size bytes of one ring
    ring(memory m, size_t size, layout l);

    size_t size() const { return d_size; }
    layout type() const { return d_layout; }
    char* at(size_t offset) const { return d_memory.get() + offset; }
    //! Returns the bytes of memory, without the second mapping.
    size_t footprint() const;

    //! Lets another device access the memory, as backend of its device does.
    bool share(const backend& on, const backend& other) const
    {
        const bool mapped = d_layout == layout::twice_mapped;
        return on.share(at(0), (mapped ? 2 : 1) * footprint(), mapped, other);
    }

    struct piece {
        size_t to, from, bytes;
    };
    //! Returns where bytes to be read at an offset go; `from` counts from their start.
    std::vector<piece> pieces(size_t offset, size_t bytes) const;
    //! Returns the copies within the ring that are due after bytes were written.
    std::vector<piece> twins(size_t offset, size_t bytes) const;

private:
    memory d_memory;
    size_t d_size;
    layout d_layout;
};

//! Allocates memory of a device for a ring.
//! \param size bytes of one ring
//! \throws std::runtime_error if there is not enough
ring allocate_ring(const backend& on, size_t size, ring::layout l);

/*!
 * Returns the items of a ring: at least `wanted`, and more where that lets it be mapped
 * twice or hold whole periods. A ring that is mapped twice holds at least one more: GNU
 * Radio leaves one item free, and two calls of half of `wanted` are to fit.
 * \param item bytes of an item
 * \param granularity bytes of which a mapping is a multiple
 * \param period items after which its contents repeat themselves
 * \returns the number of items, and whether the ring is mapped twice: neither that nor
 *   whole periods where it would be wastefully large, and being mapped twice first
 */
std::pair<size_t, bool>
ring_items(size_t wanted, size_t item, size_t granularity, size_t period = 1);

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_RUNTIME_RING_H */

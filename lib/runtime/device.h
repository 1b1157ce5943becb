/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_RUNTIME_DEVICE_H
#define INCLUDED_APERTURE_RUNTIME_DEVICE_H

#include "runtime/backend.h"
#include "runtime/stream.h"
#include <memory>
#include <string>

namespace gr::aperture {

//! Where kernels run.
class device
{
public:
    enum class kind { cpu, emulated, cuda };

    /*!
     * \param name auto, cpu, cuda or cuda:N; for tests, emulated
     * \throws std::invalid_argument naming what was asked for and what was found
     */
    static device select(const std::string& name);

    kind type() const { return d_kind; }
    int index() const { return d_index; }
    std::string name() const;
    std::unique_ptr<stream> make_stream() const;
    //! nullptr where the memory is the host's: on the CPU.
    const std::shared_ptr<const backend>& own_memory() const { return d_backend; }

    bool operator==(const device& other) const
    {
        return d_kind == other.d_kind && d_index == other.d_index;
    }

private:
    device(kind type, int index, std::shared_ptr<const backend> b = nullptr)
        : d_kind(type), d_index(index), d_backend(std::move(b))
    {
    }
    kind d_kind;
    int d_index;
    std::shared_ptr<const backend> d_backend;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_RUNTIME_DEVICE_H */

/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_RUNTIME_DEVICE_H
#define INCLUDED_APERTURE_RUNTIME_DEVICE_H

#include <memory>
#include <string>

namespace gr {
namespace aperture {

/*!
 * An order of work: what is given to a stream is done one after the other. A kernel gives
 * its work to a stream and returns; on the CPU it is done by then.
 */
class stream
{
public:
    virtual ~stream() = default;
    //! Waits until all that was given to the stream is done.
    virtual void synchronize() = 0;
};

//! Where kernels run.
class device
{
public:
    enum class kind { cpu, cuda };

    /*!
     * \param name auto, cpu, cuda or cuda:N
     * \throws std::invalid_argument naming what was asked for and what was found
     */
    static device select(const std::string& name);

    kind type() const { return d_kind; }
    int index() const { return d_index; }
    std::string name() const;
    std::unique_ptr<stream> make_stream() const;

private:
    device(kind type, int index) : d_kind(type), d_index(index) {}
    kind d_kind;
    int d_index;
};

} // namespace aperture
} // namespace gr

#endif /* INCLUDED_APERTURE_RUNTIME_DEVICE_H */

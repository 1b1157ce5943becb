/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_SIGNAL_ALIGNMENT_INTERRUPTION_H
#define INCLUDED_APERTURE_SIGNAL_ALIGNMENT_INTERRUPTION_H

#include <atomic>
#include <stdexcept>

namespace gr::aperture::kernels::alignment {

//! Thrown by interruption_point().
struct interrupted : std::runtime_error {
    interrupted() : std::runtime_error("the search was interrupted") {}
};

//! While there is one of these, another thread may end what this one calculates.
class interruptible
{
public:
    //! \param flag is set to true by the other thread
    explicit interruptible(const std::atomic<bool>& flag);
    ~interruptible();
    interruptible(const interruptible&) = delete;
    interruptible& operator=(const interruptible&) = delete;
};

/*!
 * A place, passed every tenth of a second or so, at which a long calculation may end.
 * \throws interrupted if another thread has asked for it
 */
void interruption_point();

} // namespace gr::aperture::kernels::alignment

#endif /* INCLUDED_APERTURE_SIGNAL_ALIGNMENT_INTERRUPTION_H */

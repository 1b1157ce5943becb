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

//! The exception of interruption_point().
struct interrupted : std::runtime_error {
    interrupted() : std::runtime_error("the search was interrupted") {}
};

//! Lets another thread end the calculations of this one while it lives.
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
 * Ends a long calculation if asked to; it is called about every tenth of a second.
 * \throws interrupted if another thread has asked for it
 */
void interruption_point();

} // namespace gr::aperture::kernels::alignment

#endif /* INCLUDED_APERTURE_SIGNAL_ALIGNMENT_INTERRUPTION_H */

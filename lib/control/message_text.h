/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_CONTROL_MESSAGE_TEXT_H
#define INCLUDED_APERTURE_CONTROL_MESSAGE_TEXT_H

#include <pmt/pmt.h>
#include <string>

namespace gr::aperture {

/*!
 * What a message says, for people: some 200 characters of it, and of vectors of numbers
 * how many there are. Takes microseconds also where weights of a million beams would fill
 * pages, as pmt::write_string() has them.
 */
std::string text_of(const pmt::pmt_t& message);

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_CONTROL_MESSAGE_TEXT_H */

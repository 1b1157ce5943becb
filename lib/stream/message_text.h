/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_STREAM_MESSAGE_TEXT_H
#define INCLUDED_APERTURE_STREAM_MESSAGE_TEXT_H

#include <pmt/pmt.h>
#include <optional>
#include <string>

namespace gr::aperture {

//! The key of a tag, or of an entry of a message.
inline pmt::pmt_t key(const char* name) { return pmt::intern(name); }

//! The finite real number that a tag or an entry of a message is, or nothing.
std::optional<double> number_of(const pmt::pmt_t& value);

//! The whole number from 0 on that a tag or an entry of a message is, or nothing. Of
//! whatever kind: pmt.to_pmt() of Python makes signed ones.
std::optional<uint64_t> count_of(const pmt::pmt_t& value);

/*!
 * What a message says, for people: some 200 characters of it, and of vectors of numbers
 * how many there are. Takes microseconds also where weights of a million beams would fill
 * pages, as pmt::write_string() has them.
 */
std::string text_of(const pmt::pmt_t& message);

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_MESSAGE_TEXT_H */

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

//! Returns the key of a tag, or of an entry of a message.
inline pmt::pmt_t key(const char* name) { return pmt::intern(name); }

//! Returns the finite real number in a tag, or in an entry of a message, if it is one.
std::optional<double> number_of(const pmt::pmt_t& value);

//! Returns the value of a tag, or of an entry of a message, if it is a whole number from
//! 0 on, of any type: pmt.to_pmt() of Python makes signed ones.
std::optional<uint64_t> count_of(const pmt::pmt_t& value);

/*!
 * Returns a message as text, for people: some 200 characters of it, and only the lengths
 * of its vectors. It takes microseconds where pmt::write_string() would fill pages with
 * the weights of a million beams.
 */
std::string text_of(const pmt::pmt_t& message);

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_MESSAGE_TEXT_H */

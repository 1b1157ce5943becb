/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "stream/message_text.h"
#include <cmath>

namespace gr::aperture {

std::optional<double> number_of(const pmt::pmt_t& value)
{
    if (!pmt::is_number(value) || pmt::is_complex(value))
        return std::nullopt;
    const double number =
        pmt::is_uint64(value) ? double(pmt::to_uint64(value)) : pmt::to_double(value);
    return std::isfinite(number) ? std::optional<double>(number) : std::nullopt;
}

std::optional<uint64_t> count_of(const pmt::pmt_t& value)
{
    if (pmt::is_uint64(value))
        return pmt::to_uint64(value);
    if (pmt::is_integer(value) && pmt::to_long(value) >= 0)
        return uint64_t(pmt::to_long(value));
    return std::nullopt;
}

namespace {

constexpr size_t most = 200; // characters

void append(std::string& text, const pmt::pmt_t& value);

//! Returns the elements, between brackets, as many as there is room for.
template <class Element>
void append_all(std::string& text, const char* brackets, size_t count, Element element)
{
    text += brackets[0];
    for (size_t i = 0; i < count && text.size() < most; i++) {
        text += i ? ", " : "";
        append(text, element(i));
    }
    text += brackets[1];
}

void append(std::string& text, const pmt::pmt_t& value)
{
    if (text.size() >= most)
        return;
    if (pmt::is_null(value)) {
        text += "nothing";
    } else if (pmt::is_uniform_vector(value)) {
        text += std::to_string(pmt::length(value)) + " numbers";
    } else if (pmt::is_tuple(value)) {
        append_all(text, "()", pmt::length(value), [&](size_t i) {
            return pmt::tuple_ref(value, i);
        });
    } else if (pmt::is_vector(value)) {
        append_all(text, "[]", pmt::length(value), [&](size_t i) {
            return pmt::vector_ref(value, i);
        });
    } else if (pmt::is_dict(value)) {
        text += '{';
        pmt::pmt_t rest = pmt::dict_items(value);
        for (bool first = true; pmt::is_pair(rest) && text.size() < most; first = false) {
            text += first ? "" : ", ";
            append(text, pmt::caar(rest));
            text += ": ";
            append(text, pmt::cdar(rest));
            rest = pmt::cdr(rest);
        }
        text += '}';
    } else if (pmt::is_pair(value)) {
        text += '(';
        append(text, pmt::car(value));
        text += " . ";
        append(text, pmt::cdr(value));
        text += ')';
    } else {
        text += pmt::write_string(value);
    }
}

} // namespace

std::string text_of(const pmt::pmt_t& message)
{
    std::string text;
    append(text, message);
    if (text.size() > most)
        text.replace(most, std::string::npos, "...");
    return text;
}

} // namespace gr::aperture

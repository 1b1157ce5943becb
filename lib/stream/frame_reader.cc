/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "stream/frame_reader.h"
#include <gnuradio/aperture/tags.h>
#include <algorithm>

namespace gr::aperture {

frame_reader::frame_reader(const device& d, int sources, int times, bool masks)
    : clocked_block(d, 1, 1, 1), d_times(times), d_lost(sources)
{
    begin_anew_where_restated();
    if (masks)
        take_companion("the masks");
}

bool frame_reader::start()
{
    d_input_end = -1;
    std::fill(d_lost.begin(), d_lost.end(), intervals());
    return clocked_block::start();
}

void frame_reader::forecast(int, gr_vector_int& required) { require_window(required); }

void frame_reader::on_begin()
{
    d_begins = true;
    d_input_end = -1;
}

void frame_reader::on_tag(int port, const gr::tag_t& tag)
{
    const int64_t frame = tick_of(port, tag.offset);
    if (tag.key == pmt::intern(tags::partial) && pmt::is_true(tag.value))
        d_input_end = frame;
    if (const auto lost = read_missing(tag, port, int(d_lost.size()))) {
        const int64_t first = frame * d_times + lost->first % d_times;
        d_lost[lost->input].add(first, first + lost->count);
    }
}

int64_t frame_reader::end_of_input() const
{
    const int64_t first = d_input_end * d_times, end = first + d_times;
    int64_t last = first;
    for (const auto& gaps : d_lost) {
        const auto within = gaps.within(first, end);
        last = std::max(last,
                        !within.empty() && within.back().end == end ? within.back().first
                                                                    : end);
    }
    return last;
}

void frame_reader::lose(int64_t frames)
{
    for (auto& lost : d_lost)
        lost.add(position() * d_times, (position() + frames) * d_times);
}

bool frame_reader::any_lost(int64_t first, int64_t end) const
{
    return std::any_of(d_lost.begin(), d_lost.end(), [=](const intervals& lost) {
        return !lost.within(first, end).empty();
    });
}

kernels::missing_spectra frame_reader::missing_of(int64_t frames) const
{
    const int64_t first = position() * d_times, end = first + frames * d_times;
    if (!any_lost(first, end))
        return {};
    kernels::missing_spectra missing(int(frames), int(d_lost.size()), int(d_times));
    for (size_t source = 0; source < d_lost.size(); source++)
        for (const auto& gap : d_lost[source].within(first, end))
            missing.set(int(source), gap.first - first, gap.end - first);
    return missing;
}

void frame_reader::forget_before(int64_t spectrum)
{
    for (auto& lost : d_lost)
        lost.drop_before(spectrum);
}

} // namespace gr::aperture

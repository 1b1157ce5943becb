/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "formats/vdif/vdif_stations.h"
#include <algorithm>

namespace gr::aperture::formats {

vdif_stations::vdif_stations(const std::vector<vdif_stream>& streams,
                             const std::shared_ptr<recorded_files>& files)
{
    for (const auto& stream : streams) {
        d_stations.push_back(std::make_unique<vdif_frames>(stream, files));
        for (size_t set = 0; set < stream.threads.size(); set++)
            d_sets.emplace_back(d_stations.back().get(), int(set));
    }
}

void vdif_stations::restart()
{
    for (auto& station : d_stations)
        station->restart();
}

void vdif_stations::look_ahead(thread_pool& pool, int64_t wanted)
{
    for (auto& station : d_stations)
        station->look_ahead(pool, wanted);
}

int64_t vdif_stations::end(int64_t wanted)
{
    int64_t end = 0;
    for (auto& station : d_stations)
        if (end < wanted)
            end = std::max(end, station->end(wanted));
    return end;
}

pieces::answer vdif_stations::find(int set, int64_t sample)
{
    const auto& [station, own] = d_sets[size_t(set)];
    return station->find(own, sample);
}

void vdif_stations::release(int64_t sample)
{
    for (auto& station : d_stations)
        station->release(sample);
}

std::string vdif_stations::error() const
{
    for (const auto& station : d_stations)
        if (auto text = station->error(); !text.empty())
            return text;
    return {};
}

} // namespace gr::aperture::formats

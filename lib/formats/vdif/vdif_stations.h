/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FORMATS_VDIF_STATIONS_H
#define INCLUDED_APERTURE_FORMATS_VDIF_STATIONS_H

#include "formats/vdif/vdif_frames.h"
#include <memory>
#include <utility>
#include <vector>

namespace gr::aperture::formats {

//! The frames of stations that have files of their own, on one clock. The sets are those
//! of the first station, and then those of the next.
class vdif_stations : public pieces
{
public:
    vdif_stations(const std::vector<vdif_stream>& streams,
                  const std::shared_ptr<recorded_files>& files);

    void restart() override;
    void look_ahead(thread_pool& pool, int64_t wanted) override;
    int64_t end(int64_t wanted) override;
    answer find(int set, int64_t sample) override;
    void release(int64_t sample) override;
    std::string error() const override;

    const std::vector<std::unique_ptr<vdif_frames>>& stations() const
    {
        return d_stations;
    }

private:
    std::vector<std::unique_ptr<vdif_frames>> d_stations;
    std::vector<std::pair<vdif_frames*, int>>
        d_sets; // station of each set, and its number there
};

} // namespace gr::aperture::formats

#endif /* INCLUDED_APERTURE_FORMATS_VDIF_STATIONS_H */
